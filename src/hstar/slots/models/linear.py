"""A linear model on features that are plain vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hstar.slots.features.feature import Config
from hstar.slots.models.model import Model, draw_linear_layers

if TYPE_CHECKING:
    import torch


class LinearModel(Model):
    """It has no options."""

    name = "linear"
    features = ("relaxed-plans", "wl")
    training = {"weight_decay": 0.0}  # noqa: RUF012

    def configure(self, features: Config, outputs: int, options: Config) -> Config:
        return {"inputs": features["width"], "outputs": outputs}

    def build(self, config: Config, generator: torch.Generator) -> torch.nn.Module:
        import torch

        inputs, outputs = int(config["inputs"]), int(config["outputs"])
        network = torch.nn.Linear(inputs, outputs, device="meta").to_empty(device="cpu")
        draw_linear_layers(network, generator)
        return network

    def native(self, config: Config, tensors: dict[str, Any]) -> Config:
        """A dense network of one layer."""
        layer = (tensors["weight"], tensors["bias"], "none", False)
        return {"model": "mlp", "layers": [layer]}


LINEAR_MODEL = LinearModel()

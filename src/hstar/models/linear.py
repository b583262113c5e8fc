"""A linear model on features that are plain vectors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hstar.models.model import Model

if TYPE_CHECKING:
    import torch


class LinearModel(Model):
    """It has no options."""

    name = "linear"
    features = ("relaxed-plans",)
    training = {"weight_decay": 0.0}  # noqa: RUF012

    def configure(
        self, features: dict[str, Any], outputs: int, options: dict[str, Any]
    ) -> dict[str, Any]:
        return {"inputs": features["width"], "outputs": outputs}

    def build(self, config: dict[str, Any], generator: torch.Generator) -> torch.nn.Module:
        import torch

        inputs, outputs = int(config["inputs"]), int(config["outputs"])
        network = torch.nn.utils.skip_init(torch.nn.Linear, inputs, outputs)
        bound = 1 / math.sqrt(inputs)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.uniform_(-bound, bound, generator=generator)
        return network

    def native(self, config: dict[str, Any], tensors: dict[str, Any]) -> dict[str, Any]:
        theta = np.concatenate([tensors["weight"].reshape(-1), tensors["bias"]])
        return {
            "model": self.name,
            "theta": np.ascontiguousarray(theta, dtype=np.float32),
            "outputs": len(tensors["bias"]),
        }


LINEAR_MODEL = LinearModel()

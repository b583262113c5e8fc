"""Residual networks on vectors as a model; in floating point, or rounded to integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hstar.models.model import Model, whole_number

if TYPE_CHECKING:
    import torch


class MLPModel(Model):
    """`hidden` channels after the input, `width` in each of the `blocks` residual blocks.

    On digits of a table it may be trained towards integers (`bits` of the training options).
    """

    name = "mlp"
    features = ("digits", "relaxed-plans")
    options = {"hidden": 200, "width": 100, "blocks": 2}  # noqa: RUF012
    can_round = True
    training = {"learning_rate": 3e-3, "weight_decay": 0.0, "clip": 0.0}  # noqa: RUF012

    def configure(
        self, features: dict[str, Any], outputs: int, options: dict[str, Any]
    ) -> dict[str, Any]:
        whole_number(options, "hidden", "width")
        whole_number(options, "blocks", least=0)
        return {"inputs": features["width"], **options, "outputs": outputs}

    def build(self, config: dict[str, Any], generator: torch.Generator) -> torch.nn.Module:
        import torch

        from hstar.models.residual import ResidualNet, Shape

        with torch.random.fork_rng(devices=[]):  # layers draw from the global generator
            torch.manual_seed(generator.initial_seed())
            return ResidualNet(Shape(**config))

    def native(self, config: dict[str, Any], tensors: dict[str, Any]) -> dict[str, Any]:
        """Layers with batch normalisation folded in; a block's second layer adds its input."""
        layers = []
        last = 2 + 2 * int(config["blocks"])
        for number in range(last):
            held = {
                name: tensors[f"layers.{number}.{name}"].astype(np.float64)
                for name in ("dense.weight", "norm.weight", "norm.bias")
            }
            mean = tensors[f"layers.{number}.norm.running_mean"].astype(np.float64)
            var = tensors[f"layers.{number}.norm.running_var"].astype(np.float64)
            factor = held["norm.weight"] / np.sqrt(var + EPSILON)
            weight = (held["dense.weight"] * factor[:, None]).astype(np.float32)
            bias = (held["norm.bias"] - mean * factor).astype(np.float32)
            layers.append(
                (np.ascontiguousarray(weight), bias, "relu", number >= 3 and number % 2 == 1)
            )
        layers.append((tensors["last.weight"], tensors["last.bias"], "none", False))
        return {"model": self.name, "layers": layers}


EPSILON = 1e-5  # of batch normalisation

MLP_MODEL = MLPModel()

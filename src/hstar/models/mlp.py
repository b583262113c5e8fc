"""Residual networks on vectors as a model; in floating point, or rounded to integers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from hstar.features.feature import Config
from hstar.models.model import Model, whole_number

if TYPE_CHECKING:
    import torch

EPSILON = 1e-5  # of batch normalisation
LAYER = ("dense.weight", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var")


def is_joined(layer: int) -> bool:
    """Whether a layer ends a residual block: it adds what the layer before it read."""
    return layer >= 3 and layer % 2 == 1


class MLPModel(Model):
    """`hidden` channels after the input, `width` in each of the `blocks` residual blocks. On digits
    of a table it may be trained towards integers (`bits` of the training options)."""

    name = "mlp"
    features = ("digits", "relaxed-plans")
    options = {"hidden": 200, "width": 100, "blocks": 2}  # noqa: RUF012
    can_round = True
    training = {"learning_rate": 3e-3, "weight_decay": 0.0, "clip": 0.0}  # noqa: RUF012

    def configure(self, features: Config, outputs: int, options: Config) -> Config:
        whole_number(options, "hidden", "width")
        whole_number(options, "blocks", least=0)
        return {"inputs": features["width"], **options, "outputs": outputs}

    def build(self, config: Config, generator: torch.Generator) -> torch.nn.Module:
        import torch

        from hstar.models.residual import ResidualNet, Shape

        with torch.random.fork_rng(devices=[]):  # layers draw from the global generator
            torch.manual_seed(generator.initial_seed())
            return ResidualNet(Shape(**config))

    def rounded(self, network: Any, bits: int, sample: torch.Tensor | None) -> torch.nn.Module:
        from hstar.models.rounding import RoundedNet

        return RoundedNet.from_float(network, bits, sample)

    def calibrate(self, network: Any, samples: Iterable[torch.Tensor]) -> None:
        network.calibrate(samples)

    def native(self, config: Config, tensors: dict[str, Any]) -> Config:
        """Layers with batch normalisation folded in; a block's second layer adds its input."""
        layers = []
        for number in range(2 + 2 * int(config["blocks"])):
            dense, scale, offset, mean, variance = (
                tensors[f"layers.{number}.{name}"].astype(np.float64) for name in LAYER
            )
            factor = scale / np.sqrt(variance + EPSILON)
            weight = np.ascontiguousarray(dense * factor[:, None], dtype=np.float32)
            bias = (offset - mean * factor).astype(np.float32)
            layers.append((weight, bias, "relu", is_joined(number)))
        layers.append((tensors["last.weight"], tensors["last.bias"], "none", False))
        return {"model": self.name, "layers": layers}


MLP_MODEL = MLPModel()

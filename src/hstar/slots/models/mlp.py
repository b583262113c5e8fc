"""Residual networks on vectors, in floating point or rounded to integers, and linear models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from hstar.slots.features.feature import Config, check_options
from hstar.slots.models.model import Model, defaults_of, draw_linear_layers

if TYPE_CHECKING:
    import torch

EPSILON = 1e-5  # of batch normalisation
OUTPUTS = ("none", "relu")
PRECISIONS = ("float32", "int16")
LAYER = ("dense.weight", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var")


def is_joined(layer: int) -> bool:
    """Whether a layer ends a residual block: it adds what the layer before it read."""
    return layer >= 3 and layer % 2 == 1


@dataclass(frozen=True, slots=True)
class Shape:
    """`hidden` channels after the `inputs`, `width` in each of the `blocks` residual blocks.

    `norm`: layers are batch normalised; if not, they have a bias. `output` is "none", or "relu" for
    a single output that is never negative. `precision` is that of products in search: "float32",
    or for facts "int16", which is faster. `pieces` are the variables of cube3 of whose maps a
    convolution is read (cube_maps.py); without any, inputs are read as they are. Raises ValueError
    for what makes no network.
    """

    inputs: int
    outputs: int
    hidden: int = 200
    width: int = 100
    blocks: int = 2
    norm: bool = True
    output: str = "none"
    precision: str = "float32"
    pieces: Sequence[int] = ()

    def __post_init__(self) -> None:
        names = {"output": OUTPUTS, "precision": PRECISIONS}
        own = {name: value for name, value in asdict(self).items() if name != "pieces"}
        check_options(own, SIZES, zero=("blocks",), **names)
        if self.output == "relu" and self.outputs != 1:
            raise ValueError(
                f"output 'relu' is for one output that is never negative, and this objective has "
                f"{self.outputs} outputs; take output none"
            )

    def to_config(self) -> Config:
        """As model files have it."""
        config = asdict(self)
        if not self.pieces:
            del config["pieces"]
        return config


SIZES = {name: value for name, value in defaults_of(Shape).items() if name != "pieces"}


class MLPModel(Model):
    """On digits of a table it may be trained towards integers (`bits` of the training options).
    With `convolution`, digits of pieces of cube3 become maps that a convolution reads first."""

    name = "mlp"
    features = ("digits", "relaxed-plans", "facts", "wl")
    options = SIZES | {"convolution": False}
    can_round = True
    training = {"learning_rate": 3e-3, "weight_decay": 0.0, "clip": 0.0}  # noqa: RUF012

    def configure(self, features: Config, outputs: int, options: Config) -> Config:
        sizes = {name: value for name, value in options.items() if name != "convolution"}
        pieces = ()
        if options["convolution"]:
            if features.get("fingerprint") != "cube3":
                raise ValueError("a convolution reads digits of pieces of cube3, nothing else")
            pieces = tuple(features["variables"])
        shape = Shape(features["width"], outputs, **sizes, pieces=pieces)
        if shape.precision != "float32" and "atoms" not in features:
            raise ValueError("precision int16 is for features facts; take precision float32")
        return shape.to_config()

    def build(self, config: Config, generator: torch.Generator) -> torch.nn.Module:
        import torch

        from hstar.slots.models.rounding import ResidualNet

        with torch.random.fork_rng(devices=[]):  # layers draw from the global generator
            torch.manual_seed(generator.initial_seed())
            return ResidualNet(Shape(**config))

    def rounded(self, network: Any, bits: int, sample: torch.Tensor | None) -> torch.nn.Module:
        from hstar.slots.models.rounding import RoundedNet

        return RoundedNet.from_float(network, bits, sample)

    def calibrate(self, network: Any, samples: Iterable[torch.Tensor]) -> None:
        network.calibrate(samples)

    def native(self, config: Config, tensors: dict[str, Any]) -> Config | None:
        """Layers with batch normalisation folded in; a block's second layer adds its input."""
        shape, layers = Shape(**config), []
        if shape.pieces:
            return None
        for number in range(2 + 2 * shape.blocks):
            names = LAYER if shape.norm else ("dense.weight", "dense.bias")
            weight, bias, *norm = (tensors[f"layers.{number}.{name}"] for name in names)
            if norm:
                weight, bias = folded(weight, bias, *norm)
            layers.append((weight, bias, "relu", is_joined(number)))
        layers.append((tensors["last.weight"], tensors["last.bias"], shape.output, False))
        return {"model": self.name, "layers": layers, "precision": shape.precision}


def folded(*tensors: Any) -> tuple[Any, Any]:
    """Weight and bias of a layer with its batch normalisation, from the tensors of LAYER."""
    import numpy as np

    dense, scale, offset, mean, variance = (np.asarray(tensor, np.float64) for tensor in tensors)
    factor = scale / np.sqrt(variance + EPSILON)
    weight = np.ascontiguousarray(dense * factor[:, None], dtype=np.float32)
    return weight, (offset - mean * factor).astype(np.float32)


class LinearModel(Model):
    """A linear model, which has no options."""

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


MLP_MODEL = MLPModel()
LINEAR_MODEL = LinearModel()

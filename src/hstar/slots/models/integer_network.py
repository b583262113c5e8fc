"""A network in integers as data: layers, their packed form in files, and the core's form.

What the numbers mean is said in cpp/networks/integer/network.hpp.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.slots.models import packing

LOGIT_UNITS = 64  # of a nat


@dataclass(frozen=True, eq=False)
class IntegerLayer:
    """`weights` int8 [outputs, inputs], of the first layer [sum of domain sizes, outputs], with
    absolute values below 2^(bits - 1); `bias` and `multiplier` int32 [outputs]. `written`
    are form and bytes in which a file held the weights (None: the shortest form): certificates are
    of these bytes, and older files have other forms, so a layer that was read keeps them. Whoever
    replaces weights sets it to None."""

    weights: NDArray[np.int8]
    bias: NDArray[np.int32]
    multiplier: NDArray[np.int32]
    shift: int
    skip: int = 0
    bits: int = packing.MOST_BITS
    written: tuple[str, NDArray[np.uint8]] | None = None


@dataclass(frozen=True)
class Network:
    """A network that reads digits, the i-th below domain_sizes[i], and returns logits."""

    domain_sizes: tuple[int, ...]
    layers: tuple[IntegerLayer, ...]

    @property
    def num_classes(self) -> int:
        return len(self.layers[-1].bias)

    @property
    def num_parameters(self) -> int:
        """Weights and biases."""
        return sum(layer.weights.size + layer.bias.size for layer in self.layers)

    @cached_property
    def core(self) -> _core.IntegerNetwork:
        return self.on_kernel("")

    def on_kernel(self, kernel: str) -> _core.IntegerNetwork:
        """The network in the core. Raises ValueError, saying what does not fit."""
        layers: list[Any] = []
        for layer in self.layers:
            vectors = layer.bias.tolist(), layer.multiplier.tolist()
            weights = np.ascontiguousarray(layer.weights)
            layers.append((weights, *vectors, layer.shift, layer.skip))
        return _core.IntegerNetwork(list(self.domain_sizes), layers, kernel)

    def forward(self, digits: NDArray[np.int32]) -> NDArray[np.int32]:
        """Logits int32[B, C], in 1/64 nat, from digits int32[B, P]."""
        return self.core.forward(np.ascontiguousarray(digits, dtype=np.int32))

    @cached_property
    def _written(self) -> list[tuple[str, NDArray[np.uint8]]]:
        """Form and bytes of each layer's weights."""
        return [one.written or packing.write(one.weights, one.bits) for one in self.layers]

    def to_tensors(self) -> dict[str, NDArray[Any]]:
        """What a file holds: weights as they were read, else as short as they get; biases in 16
        bits where they fit."""
        tensors: dict[str, NDArray[Any]] = {}
        for number, layer in enumerate(self.layers):
            tensors[f"{number}.weights"] = self._written[number][1]
            narrow = layer.bias.astype(np.int16)
            fits = np.array_equal(narrow, layer.bias)
            tensors[f"{number}.bias"] = narrow if fits else layer.bias.astype(np.int32)
            tensors[f"{number}.multiplier"] = layer.multiplier.astype(np.uint16)
        return tensors

    def to_metadata(self) -> dict[str, Any]:
        """The rest of a file: sizes, shifts, bits."""
        return {
            "domain_sizes": list(self.domain_sizes),
            "widths": [len(layer.bias) for layer in self.layers],
            "shifts": [layer.shift for layer in self.layers],
            "skips": [layer.skip for layer in self.layers],
            "bits": [layer.bits for layer in self.layers],
            "forms": [form for form, _ in self._written],
        }

    @classmethod
    def from_file(cls, metadata: dict[str, Any], tensors: Mapping[str, NDArray[Any]]) -> Network:
        """Raises KeyError, TypeError and ValueError for what no network was written as."""
        sizes = tuple(int(size) for size in metadata["domain_sizes"])
        widths = [int(width) for width in metadata["widths"]]
        layers = []
        for number, width in enumerate(widths):
            bits, form = int(metadata["bits"][number]), str(metadata["forms"][number])
            shape = (sum(sizes), width) if number == 0 else (width, widths[number - 1])
            written = tensors[f"{number}.weights"]
            weights = packing.read(form, written, bits, shape)
            bias, multiplier = tensors[f"{number}.bias"], tensors[f"{number}.multiplier"]
            vectors = bias.astype(np.int32), multiplier.astype(np.int32)
            shift, skip = int(metadata["shifts"][number]), int(metadata["skips"][number])
            layers.append(IntegerLayer(weights, *vectors, shift, skip, bits, (form, written)))
        return cls(sizes, tuple(layers))

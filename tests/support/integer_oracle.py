"""Integer networks in plain numpy, and random ones to compare on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar.slots.models.integer_network import IntegerLayer, Network


def random_layer(
    rng: np.random.Generator, inputs: int, outputs: int, *, first: bool = False, skip: int = 0
) -> IntegerLayer:
    bits = int(rng.integers(2, 9))
    largest = 2 ** (bits - 1) - 1
    shape = (inputs, outputs) if first else (outputs, inputs)
    # A shift that leaves results all over 0 .. 127, and some beyond.
    shift = int(rng.integers(13, 20 if first else 26))
    return IntegerLayer(
        rng.integers(-largest, largest + 1, shape).astype(np.int8),
        rng.integers(-3000, 3000, outputs).astype(np.int32),
        rng.integers(0, 65536, outputs).astype(np.int32),
        shift,
        skip and (1 << shift),
        bits,
    )


def random_network(rng: np.random.Generator) -> Network:
    sizes = tuple(int(size) for size in rng.integers(1, 30, rng.integers(1, 10)))
    hidden, width, classes = (int(number) for number in rng.integers(1, 90, 3))
    return Network(
        sizes,
        (
            random_layer(rng, sum(sizes), hidden, first=True),
            random_layer(rng, hidden, width),
            random_layer(rng, width, width + 3),
            random_layer(rng, width + 3, width, skip=1),
            random_layer(rng, width, classes),
        ),
    )


def random_digits(rng: np.random.Generator, network: Network, count: int) -> NDArray[np.int32]:
    columns = [rng.integers(0, size, count) for size in network.domain_sizes]
    return np.stack(columns, axis=1).astype(np.int32)


def forward(network: Network, digits: NDArray[np.int32]) -> list[list[int]]:
    """The definition, number by number, in Python's integers."""
    result = []
    for state in digits.tolist():
        outputs: list[list[int]] = []
        starts = np.cumsum([0, *network.domain_sizes[:-1]]).tolist()
        rows = [start + digit for start, digit in zip(starts, state, strict=True)]
        for number, layer in enumerate(network.layers):
            weights = layer.weights.tolist()
            values = []
            for j, bias in enumerate(layer.bias.tolist()):
                if number == 0:
                    total = bias + sum(weights[row][j] for row in rows)
                else:
                    products = zip(weights[j], outputs[-1], strict=True)
                    total = bias + sum(w * x for w, x in products)
                total *= int(layer.multiplier[j])
                if layer.skip:
                    total += outputs[-2][j] * layer.skip
                total = (total + (1 << (layer.shift - 1))) >> layer.shift
                is_last = number == len(network.layers) - 1
                values.append(total if is_last else min(max(total, 0), 127))
            outputs.append(values)
        result.append(outputs[-1])
    return result


def emulate(network: Network, digits: NDArray[np.int32]) -> NDArray[np.int64]:
    """The same by plain 64-bit matrix products, for larger networks."""
    sizes = np.array(network.domain_sizes)
    rows = digits + (np.cumsum(sizes) - sizes)
    outputs: list[Any] = []
    last = len(network.layers) - 1
    for number, layer in enumerate(network.layers):
        weights = layer.weights.astype(np.int64)
        sums = weights[rows].sum(axis=1) if number == 0 else outputs[-1] @ weights.T
        total = (sums + layer.bias) * layer.multiplier.astype(np.int64)
        if layer.skip:
            total += outputs[-2] * layer.skip
        total = (total + (1 << (layer.shift - 1))) >> layer.shift
        outputs.append(total if number == last else np.clip(total, 0, 127))
    result: NDArray[np.int64] = outputs[-1]
    return result

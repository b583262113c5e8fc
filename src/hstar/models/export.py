"""From a trained network with rounding to the integers that search computes with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hstar.models.integer_network import LOGIT_UNITS, IntegerLayer, Network
from hstar.models.mlp import is_joined
from hstar.models.rounding import RoundedLayer, RoundedNet

LARGEST_MULTIPLIER = 65535
LARGEST_SKIP = 2**31 - 1
LARGEST_SHIFT = 47
LARGEST_BIAS = 2**24

Doubles = NDArray[np.float64]


def export(net: RoundedNet, domain_sizes: tuple[int, ...]) -> Network:
    """The integer network, which reads digits below these sizes; equal parameters give equal
    integers."""
    steps = net.log_steps.detach().double().exp().tolist()
    layers = [layer for layer in net.layers if isinstance(layer, RoundedLayer)]
    exported = []
    for number, layer in enumerate(layers):
        input_step = 1.0 if number == 0 else steps[number - 1]
        is_last = number == len(layers) - 1
        output_step = 1 / LOGIT_UNITS if is_last else steps[number]
        joined = None if not is_joined(number) or is_last else steps[number - 2] / output_step
        factor, offset = (one.cpu().numpy() for one in net.affine(number))
        unit = layer.log_step.detach().double().exp().cpu().numpy() * input_step
        exported.append(_export(layer, unit, factor, offset, output_step, joined, number == 0))
    return Network(domain_sizes, tuple(exported))


def _export(
    layer: RoundedLayer,
    unit: Doubles,
    factor: Doubles,
    offset: Doubles,
    output_step: float,
    joined: float | None,
    first: bool,
) -> IntegerLayer:
    """Sums are in multiples of `unit`; their values are then multiplied by `factor`, and `offset`
    is added. Multipliers are not negative: weights take the sign of a factor."""
    with torch.no_grad():
        whole = layer.whole().cpu().numpy() * np.where(factor < 0, -1.0, 1.0)[:, None]
    # Not so small that the offset, in units of the sum, would be beyond all bounds.
    scale = np.maximum(np.abs(factor) * unit, np.abs(offset) / LARGEST_BIAS + 1e-30)
    bias = np.rint(offset / scale)
    factors = scale / output_step
    shift = math.floor(math.log2(LARGEST_MULTIPLIER / max(float(factors.max()), 1e-12)))
    if joined is not None:
        shift = min(shift, math.floor(math.log2(LARGEST_SKIP / joined)))
    shift = max(1, min(shift, LARGEST_SHIFT))
    multiplier = np.clip(np.rint(factors * 2.0**shift), 0, LARGEST_MULTIPLIER)
    return IntegerLayer(
        np.ascontiguousarray(whole.T if first else whole).astype(np.int8),
        bias.astype(np.int32),
        multiplier.astype(np.int32),
        shift,
        0 if joined is None else max(1, round(joined * 2.0**shift)),
        layer.bits,
    )


def emulate(network: Network, digits: NDArray[np.int32]) -> NDArray[np.int64]:
    """The same logits by plain 64-bit matrix products, to check the core against."""
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

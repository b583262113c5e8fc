"""From a trained network with rounding to the integers that search computes with."""

from __future__ import annotations

import math

import numpy as np
import torch

from hstar.slots.models.integer_network import LOGIT_UNITS, IntegerLayer, Network
from hstar.slots.models.mlp import is_joined
from hstar.slots.models.rounding import RoundedLayer, RoundedNet

LARGEST_MULTIPLIER = 65535
LARGEST_SKIP = 2**31 - 1
LARGEST_SHIFT = 47
LARGEST_BIAS = 2**24


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
        # Sums are in multiples of `unit`; their values are multiplied by `factor` and moved by
        # `offset`. Multipliers are not negative: weights take the sign of a factor.
        factor, offset = (one.cpu().numpy() for one in net.affine(number))
        with torch.no_grad():
            unit = layer.log_step.double().exp().cpu().numpy() * input_step
            whole = layer.whole().cpu().numpy() * np.where(factor < 0, -1.0, 1.0)[:, None]
        # Not so small that the offset, in units of the sum, would be beyond all bounds.
        scale = np.maximum(np.abs(factor) * unit, np.abs(offset) / LARGEST_BIAS + 1e-30)
        factors = scale / output_step
        shift = math.floor(math.log2(LARGEST_MULTIPLIER / max(float(factors.max()), 1e-12)))
        joined = steps[number - 2] / output_step if is_joined(number) and not is_last else None
        if joined is not None:
            shift = min(shift, math.floor(math.log2(LARGEST_SKIP / joined)))
        shift = max(1, min(shift, LARGEST_SHIFT))
        exported.append(
            IntegerLayer(
                np.ascontiguousarray(whole.T if number == 0 else whole).astype(np.int8),
                np.rint(offset / scale).astype(np.int32),
                np.clip(np.rint(factors * 2.0**shift), 0, LARGEST_MULTIPLIER).astype(np.int32),
                shift,
                0 if joined is None else max(1, round(joined * 2.0**shift)),
                layer.bits,
            )
        )
    return Network(domain_sizes, tuple(exported))

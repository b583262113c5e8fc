"""From a trained network with rounding to the integers that search computes with, and back.

On the way back, batch normalisation has become factors and offsets, which are parameters from then
on. Rounding removes the scale of real values, so weights and activations get scales that suit a
learning rate.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from hstar.slots.models.integer_network import LOGIT_UNITS, IntegerLayer, Network
from hstar.slots.models.mlp import Shape, is_joined
from hstar.slots.models.rounding import ResidualNet, RoundedNet

LARGEST_MULTIPLIER = 65535
LARGEST_SKIP = 2**31 - 1
LARGEST_SHIFT = 47
LARGEST_BIAS = 2**24
USUAL_WEIGHT = 0.05  # root of the mean square
USUAL_STEP = 0.02  # of activations, which are up to 127 of them


def export(net: RoundedNet, domain_sizes: tuple[int, ...]) -> Network:
    """The integer network, which reads digits below these sizes; equal parameters give equal
    integers."""
    steps = net.log_steps.detach().double().exp().tolist()
    exported = []
    for number, layer in enumerate(net.layers):
        input_step = 1.0 if number == 0 else steps[number - 1]
        is_last = number == len(net.layers) - 1
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


def shape_of(network: Network) -> Shape:
    """Raises ValueError for a network that was not exported from a residual one."""
    widths = [len(layer.bias) for layer in network.layers]
    blocks = (len(widths) - 3) // 2
    if len(widths) < 3 or len(widths) % 2 == 0 or len(set(widths[1:-1])) != 1:
        raise ValueError("the network does not have the layers of a residual one")
    return Shape(sum(network.domain_sizes), widths[-1], widths[0], widths[1], blocks)


def rounded_from(network: Network, coarser: float = 1.0) -> RoundedNet:
    """The trainable form; `export` of it is the same network up to the rounding of multipliers, but
    for weights in steps `coarser` times as large. Raises ValueError."""
    net = ResidualNet(shape_of(network))
    steps = _activation_steps(network)
    rounded = RoundedNet(net, max(layer.bits for layer in network.layers), steps)
    last = len(network.layers) - 1
    with torch.no_grad():
        for number, layer in enumerate(network.layers):
            whole = layer.weights.astype(np.float64)
            whole = whole.T if number == 0 else whole
            input_step = 1.0 if number == 0 else steps[number - 1]
            # What one unit of a channel's sum is worth.
            unit = layer.multiplier / 2.0**layer.shift * ([*steps, 1 / LOGIT_UNITS][number])
            if number == last:
                step = np.maximum(unit, 1e-12) / input_step
                rounded.bias.copy_(torch.from_numpy(layer.bias * unit))
            else:
                step = USUAL_WEIGHT / np.maximum(np.sqrt(np.mean(whole**2, axis=1)), 0.1)
                norm = rounded.norms[number]
                norm.running_mean.zero_()
                norm.running_var.fill_(1 - norm.eps)
                norm.weight.copy_(torch.from_numpy(unit / (step * input_step)))
                norm.bias.copy_(torch.from_numpy(layer.bias * unit))
            held = rounded.layers[number]
            held.weight.copy_(torch.from_numpy(whole * step[:, None]))
            held.log_step.copy_(torch.from_numpy(np.log(step * coarser)))
    rounded.settle()
    return rounded


def _activation_steps(network: Network) -> list[float]:
    """Those of all layers but the last: free, but joined layers share the scale they add."""
    steps: list[float] = []
    for number, layer in enumerate(network.layers[:-1]):
        if not is_joined(number):
            steps.append(USUAL_STEP)
        elif layer.skip < 1:
            raise ValueError("the network does not have the layers of a residual one")
        else:
            steps.append(steps[number - 2] * (2.0**layer.shift / layer.skip))
    return steps

"""From the integers of a network back to a form that can be trained: the inverse of export.

Batch normalisation has become factors and offsets, which are parameters from then on. Rounding
removes the scale of real values, so weights and activations get scales that suit a learning rate.
"""

from __future__ import annotations

import numpy as np
import torch

from hstar.slots.models.integer_network import LOGIT_UNITS, Network
from hstar.slots.models.mlp import Shape, is_joined
from hstar.slots.models.residual import ResidualNet
from hstar.slots.models.rounding import RoundedLayer, RoundedNet

USUAL_WEIGHT = 0.05  # root of the mean square
USUAL_STEP = 0.02  # of activations, which are up to 127 of them


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
                assert isinstance(norm, torch.nn.BatchNorm1d)
                assert norm.running_var is not None and norm.running_mean is not None
                norm.running_mean.zero_()
                norm.running_var.fill_(1 - norm.eps)
                norm.weight.copy_(torch.from_numpy(unit / (step * input_step)))
                norm.bias.copy_(torch.from_numpy(layer.bias * unit))
            held = rounded.layers[number]
            assert isinstance(held, RoundedLayer)
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

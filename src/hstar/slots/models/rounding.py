"""Residual networks on vectors: two dense layers, residual blocks, outputs; in floating point, and
with the rounding of the integer network in a form that can be trained.

x = relu(bn(W1 input));  x = relu(bn(W2 x));  blocks: x = relu(x + bn(W relu(bn(W' x))))

Without `norm` a bias is added where bn stands. A convolution may come before the first layer.

Weights are whole multiples of a step per output channel, activations of a step per layer. Rounding
passes gradients on as if it were not there, and the steps are learned with the rest (Esser et al.,
"Learned step size quantization", 2020). Sums are of whole numbers below 2^24, which float32 adds
exactly (and of factors up to 127, which bfloat16 holds exactly).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from hstar.slots.models.cube_maps import cube_maps
from hstar.slots.models.integer_network import LOGIT_UNITS
from hstar.slots.models.mlp import Shape, is_joined

LARGEST_ACTIVATION = 127
# Of the convolution: the paper's Table 5 comes out with them, Model 1 in MB and 2 to 5 in MiB.
CHANNELS, KERNEL = 64, 2


class DenseNorm(nn.Module):
    """A dense layer without bias, batch normalised; or one with a bias and nothing else."""

    def __init__(self, inputs: int, outputs: int, norm: bool = True) -> None:
        super().__init__()
        self.dense = nn.Linear(inputs, outputs, bias=not norm)
        self.norm = nn.BatchNorm1d(outputs) if norm else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.norm(self.dense(x))
        return result


class MapConvolution(nn.Module):
    """A convolution of maps of the cube, batch normalised by channel: [B, features] from one-hot
    rows. It is linear in them, so the maps are convolved once and not for each state."""

    def __init__(self, pieces: Sequence[int]) -> None:
        super().__init__()
        added, fixed = map(torch.from_numpy, cube_maps(pieces))
        self.register_buffer("added", added, persistent=False)
        self.register_buffer("fixed", fixed[None], persistent=False)
        self.convolution = nn.Conv2d(added.shape[1], CHANNELS, KERNEL, bias=False)
        self.norm = nn.BatchNorm1d(CHANNELS)
        self.features = int(self.convolution(self.fixed).numel())

    def forward(self, x: Tensor) -> Tensor:
        rows, fixed = (self.convolution(maps).flatten(1) for maps in (self.added, self.fixed))
        z = x @ rows.to(x.dtype) + fixed.to(x.dtype)
        return torch.relu(self.norm(z.unflatten(1, (CHANNELS, -1)))).flatten(1)


class ResidualNet(nn.Module):
    """[B, outputs] from vectors [B, inputs]."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.front = MapConvolution(shape.pieces) if shape.pieces else None
        inputs = self.front.features if self.front else shape.inputs
        widths = [inputs, shape.hidden, *[shape.width] * (1 + 2 * shape.blocks)]
        layers = (DenseNorm(*pair, shape.norm) for pair in pairwise(widths))
        self.layers: Any = nn.ModuleList(layers)
        self.last = nn.Linear(shape.width, shape.outputs)

    def forward(self, x: Tensor, activations: list[Tensor] | None = None) -> Tensor:
        """A list gets the activations of all layers but the last."""
        if self.front is not None:
            x = self.front(x)
        older = x
        for number, layer in enumerate(self.layers):
            z = layer(x)
            older, x = x, torch.relu(older + z if is_joined(number) else z)
            if activations is not None:
                activations.append(x)
        result: Tensor = self.last(x)
        return torch.relu(result) if self.shape.output == "relu" else result


class RoundedLayer(nn.Module):
    """Products with whole weights; `log_step` is that of each output channel."""

    def __init__(self, weight: Tensor, bits: int) -> None:
        super().__init__()
        self.bits = bits
        self.largest = 2 ** (bits - 1) - 1
        self.weight = nn.Parameter(weight.detach().clone().float())
        size = self.weight.detach().abs()
        usual = 2 * size.mean(dim=1) / self.largest**0.5
        step = torch.minimum(size.amax(dim=1) / self.largest, usual).clamp_min(1e-8)
        self.log_step = nn.Parameter(step.log())

    def step(self) -> Tensor:
        return self.log_step.exp()

    def whole(self) -> Tensor:
        """The weights as whole numbers."""
        scaled = self.weight / self.step()[:, None]
        return _round(torch.clamp(scaled, -self.largest, self.largest))

    def forward(self, x: Tensor, input_step: Tensor | float) -> Tensor:
        """Real values from inputs that are multiples of `input_step`."""
        return nn.functional.linear(x, self.whole()) * (self.step() * input_step)


class RoundedNet(nn.Module):
    """The integer network: logits [B, C], multiples of 1/64, from one-hot rows."""

    def __init__(self, net: ResidualNet, bits: int, steps: list[float]) -> None:
        """`steps` are those of the activations of all layers but the last."""
        super().__init__()
        self.shape: Shape = net.shape
        dense = [*(layer.dense for layer in net.layers), net.last]
        self.layers: Any = nn.ModuleList(RoundedLayer(one.weight, bits) for one in dense)
        self.norms: Any = nn.ModuleList(copy.deepcopy(layer.norm) for layer in net.layers)
        self.bias = nn.Parameter(net.last.bias.detach().clone().float())
        self.log_steps = nn.Parameter(torch.tensor(steps).log())
        self.is_settled = False

    def settle(self) -> None:
        """From now on the statistics of batch normalisation stay as they are."""
        self.is_settled = True
        self.norms.eval()

    def train(self, mode: bool = True) -> RoundedNet:
        super().train(mode)
        if self.is_settled:
            self.norms.eval()
        return self

    def calibrate(self, samples: Iterable[Tensor]) -> None:
        """Take the statistics of batch normalisation anew, of the weights as they are."""
        if self.is_settled:
            return
        for norm in self.norms:
            norm.reset_running_stats()
            norm.momentum = None  # a plain mean
        for sample in samples:
            self(sample)

    @classmethod
    def from_float(cls, net: ResidualNet, bits: int, sample: Tensor | None) -> RoundedNet:
        """Steps are such that nearly all activations of a sample fit; 1 without a sample."""
        if sample is None:
            return cls(net, bits, [1.0] * len(net.layers))
        seen: list[Tensor] = []
        with torch.no_grad():
            net(sample, seen)
            largest = [torch.quantile(x.reshape(-1)[: 2**22].float(), 0.9998) for x in seen]
        return cls(net, bits, [max(float(x), 1e-6) / LARGEST_ACTIVATION for x in largest])

    def forward(self, x: Tensor) -> Tensor:
        steps = self.log_steps.exp()
        last = len(self.layers) - 1
        older, older_step, step = x, 1.0, 1.0  # type: Tensor, Tensor | float, Tensor | float
        for number in range(last):
            z = self.norms[number](self.layers[number](x, step)) + self._rounding(number, step)
            if is_joined(number):
                z = z + older * older_step
            older, older_step = x, step
            step = steps[number]
            x = _activate(z, step)
        with torch.autocast(x.device.type, enabled=False):  # logits are read to 1/64
            logits = self.layers[last](x.float(), step) + self.bias
        return _round(logits * LOGIT_UNITS) / LOGIT_UNITS

    def _rounding(self, number: int, input_step: Tensor | float) -> Tensor:
        """What the offset of each channel changes by if it is a whole number of the sum's units, as
        biases are. Only in the first layer, whose sums are small, does it matter."""
        layer: RoundedLayer = self.layers[number]
        with torch.no_grad():
            factor, offset = self.affine(number)
            unit = factor.abs() * (layer.step() * input_step).double()
            held = offset / unit.clamp_min(1e-30)
            return ((torch.floor(held + 0.5) - held) * unit).float()

    def affine(self, number: int) -> tuple[Tensor, Tensor]:
        """What happens to the real values of a layer: factor and offset of each channel, double."""
        if number == len(self.norms):
            return torch.ones_like(self.bias).double(), self.bias.detach().double()
        norm = self.norms[number]
        factor = norm.weight.double() / torch.sqrt(norm.running_var.double() + norm.eps)
        return factor.detach(), (norm.bias - norm.running_mean * factor).detach()


def _round(x: Tensor) -> Tensor:
    return x + (torch.floor(x + 0.5) - x).detach()


class _Activation(torch.autograd.Function):
    """clamp(round(z / step), 0, 127); gradients pass where nothing is cut off. Written out because
    these tensors are the largest there are: fewer of them are kept."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, step: Tensor) -> Tensor:
        scaled = z / step
        ctx.save_for_backward(scaled, step)
        whole = (scaled + 0.5).floor_().clamp_(0, LARGEST_ACTIVATION)
        return whole.bfloat16() if torch.is_autocast_enabled(z.device.type) else whole

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        scaled, step = ctx.saved_tensors
        inside = (scaled >= 0) & (scaled <= LARGEST_ACTIVATION)
        to_z = (gradient / step).mul_(inside)
        return to_z, -(to_z * scaled).sum()


_activate: Callable[[Tensor, Tensor], Tensor] = _Activation.apply  # torch does not type it

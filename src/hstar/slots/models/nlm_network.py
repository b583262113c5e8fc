"""Neural Logic Machines (Dong et al. 2019) for states of any number of objects.

A layer keeps one tensor X[r] per arity r up to the breadth. For each arity

    X'[r] = activation(Linear(permute([expand(X[r-1]), X[r], min(X[r+1]), max(X[r+1])])))

where expand repeats along a new last index, min and max reduce the last index, and permute puts the
r! orders of the indices side by side. The concatenation is never formed: the linear map of each
order is applied first, and its results are gathered and added. Arities that cannot reach the output
are left out. With `exclude_self`, tuples with equal indices count as 0 for the maximum and as 1 for
the minimum (both neutral for sigmoids; a rectifier's minimum is thereby at most 1). `dense` appends
each layer's input to its output (the variant of Gehring et al. 2022). With `sums` the last layer
also reads the sums of X[1] over all objects.

On a CPU the core computes values and gradients; elsewhere the same network runs in torch.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hstar import _core
from hstar.slots.features.atoms import Batch
from hstar.slots.models.nlm import NLMConfig
from hstar.slots.models.ragged import (
    Ragged,
    reduce_max,
    reduce_sum,
    sum_over_orders,
    sum_over_parents,
)


class NLM(nn.Module):
    """float32[B, outputs] from a Batch; all parameters in one vector, as the core takes them."""

    def __init__(self, config: NLMConfig, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        self.shape = config.shape()
        self.theta = nn.Parameter(torch.empty(self.shape.num_parameters))
        start = 0
        with torch.no_grad():
            for layer, _, outputs, inputs in self.shape.weight_shapes:
                end = start + outputs * (inputs + 1)
                # A sigmoid's slope is at most 1/4: without wider weights signals fade with depth.
                hidden = config.activation == "sigmoid" and layer < config.depth - 1
                bound = (4 if hidden else 1) / math.sqrt(max(inputs, 1))
                self.theta[start:end].uniform_(-bound, bound, generator=generator)
                start = end

    def forward(self, batch: Batch) -> Tensor:
        if self.theta.device.type == "cpu":
            return _native(self.theta, self.shape, batch)
        fixed = FixedNLM(self, batch.sizes)
        return fixed.forward(fixed.tensors(batch))

    def forward_dense(self, inputs: list[Tensor], ragged: Ragged) -> Tensor:
        """The network in torch; inputs[r] is (T_r, C_r)."""
        config = self.config
        x = inputs
        start = 0
        for layer, shapes in itertools.groupby(self.shape.weight_shapes, lambda shape: shape[0]):
            y: list[Tensor] = []
            for _, arity, outputs, width in shapes:
                weight = self.theta[start : start + outputs * width].view(outputs, width)
                bias = self.theta[start + outputs * width : start + outputs * (width + 1)]
                start += outputs * (width + 1)
                sums = config.sums and layer == config.depth - 1
                out = self._permuted_linear(x, arity, weight, ragged, sums) + bias
                if layer < config.depth - 1:
                    out = torch.sigmoid(out) if config.activation == "sigmoid" else torch.relu(out)
                    if config.dense:
                        out = torch.cat([out, x[arity]], dim=1)
                y.append(out)
            x = y
        return x[0]

    def _permuted_linear(
        self, x: list[Tensor], arity: int, weight: Tensor, ragged: Ragged, sums: bool
    ) -> Tensor:
        """(T_r, outputs). `weight` is (outputs, r! * channels), order after order."""
        outputs = weight.shape[0]
        tables = ragged.arities[arity]
        orders = math.factorial(arity)
        own: list[Tensor] = [x[arity]] if x[arity].shape[1] else []
        if arity + 1 < len(x) and x[arity + 1].shape[1]:
            own += self._reductions(x[arity + 1], arity + 1, ragged)
        if sums and x[1].shape[1]:
            own.append(reduce_sum(x[1], ragged))
        expanded = x[arity - 1].shape[1] if arity else 0
        # (channels, r! * outputs): what each order makes of one tuple
        matrix = weight.view(outputs, orders, -1).permute(2, 1, 0).reshape(-1, orders * outputs)
        y = weight.new_zeros(tables.count, outputs)
        if own:
            y = sum_over_orders(torch.cat(own, dim=1) @ matrix[expanded:], tables)
        if expanded:
            y = y + sum_over_parents(x[arity - 1] @ matrix[:expanded], tables)
        return y

    def _reductions(self, x: Tensor, arity: int, ragged: Ragged) -> list[Tensor]:
        tables = ragged.arities[arity]
        if not self.config.exclude_self or arity < 2:
            least, greatest = -x, x
        else:
            greatest = x * tables.distinct
            least = -(greatest + (1 - tables.distinct))
        return [-reduce_max(least, tables), reduce_max(greatest, tables)]


class FixedNLM:
    """An NLM for batches whose states always have the same sizes, on a GPU."""

    def __init__(self, network: NLM, sizes: NDArray[Any]) -> None:
        self.network = network
        self.device = network.theta.device
        self.ragged = Ragged(sizes.astype(np.int32), network.config.breadth, self.device)

    def tensors(self, batch: Batch) -> list[Tensor]:
        """The inputs of one batch, always of the same shapes."""
        arrays = dense_inputs(batch, self.ragged, self.network.config.channels)
        return [torch.from_numpy(x).to(self.device) for x in arrays]

    def forward(self, tensors: list[Tensor]) -> Tensor:
        return self.network.forward_dense(tensors, self.ragged)


def dense_inputs(batch: Batch, ragged: Ragged, channels: list[int]) -> list[NDArray[np.float32]]:
    """The inputs written out, one float32 (T_r, C_r) per arity."""
    state = np.repeat(np.arange(len(batch)), np.diff(batch.starts))
    dense = []
    for arity, count in enumerate(channels):
        x = np.zeros((ragged.arities[arity].count, count), dtype=np.float32)
        chosen = batch.entries[:, 0] == arity
        rows = batch.entries[chosen, 1] + ragged.offsets(arity)[state[chosen]] * count
        np.add.at(x.reshape(-1), rows, batch.values[chosen])
        dense.append(x)
    return dense


class _NativeNLM(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, theta: Tensor, shape: _core.NlmShape, batch: Batch) -> Tensor:
        ctx.shape, ctx.batch = shape, batch
        ctx.save_for_backward(theta)
        arrays = batch.sizes, batch.starts, batch.entries, batch.values
        threads = torch.get_num_threads()
        return torch.from_numpy(_core.nlm_forward(shape, theta.detach().numpy(), *arrays, threads))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        (theta,) = ctx.saved_tensors
        batch = ctx.batch
        arrays = batch.sizes, batch.starts, batch.entries, batch.values
        rows, threads = gradient.contiguous().numpy(), torch.get_num_threads()
        found = _core.nlm_backward(ctx.shape, theta.detach().numpy(), *arrays, rows, threads)
        return torch.from_numpy(found), None, None


_native: Callable[..., Tensor] = _NativeNLM.apply  # torch does not type it

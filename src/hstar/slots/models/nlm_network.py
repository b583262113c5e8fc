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

Nothing is padded: the r-tuples of objects of all states of a batch lie one after the other, row by
row, so a tensor of arity r is (T_r, C) with T_r the sum of N^r. Fixing all but the last index gives
N consecutive rows: expanding repeats a row for them, reducing takes their least and greatest.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hstar import _core
from hstar.slots.features.atoms import Batch
from hstar.slots.models.nlm import NLMConfig


@dataclass(frozen=True, slots=True)
class Arity:
    """Index tables of the r-tuples of a batch."""

    count: int  # T_r
    parent: Tensor  # int64 (T_r,): the (r-1)-tuple without the last index
    children: Tensor  # int64 (T_r,): 0 .. T_r - 1, the children of all (r-1)-tuples
    starts: Tensor  # int64 (T_{r-1},): where the children of each (r-1)-tuple begin
    childless: Tensor  # bool (T_{r-1}, 1)
    sources: Tensor  # int64 (T_r, r!): the row permuted tuple * r! + p that p reads
    parent_sources: Tensor  # int64 (T_r, r!): the same for the parents of the permuted tuples
    inverse: Tensor  # int64 (T_r * r!,): tuple * r! + p -> the tuple that reads it through p
    readers: Tensor  # int64 (T_r * r!,): the tuples that read each (r-1)-tuple * r! + p
    reader_starts: Tensor  # int64 (T_{r-1} * r!,): where these begin
    distinct: Tensor  # float32 (T_r, 1): 0 where two indices coincide


class Ragged:
    """The index tables for states with these numbers of objects."""

    def __init__(self, sizes: NDArray[np.int32], breadth: int, device: torch.device) -> None:
        self.sizes = sizes.astype(np.int64)
        self.arities = [_tables(self.sizes, r, device) for r in range(breadth + 1)]

    def offsets(self, arity: int) -> NDArray[np.int64]:
        """int64 (B,): where each state's tuples begin."""
        counts = self.sizes**arity
        return np.cumsum(counts) - counts


def _tables(sizes: NDArray[np.int64], arity: int, device: torch.device) -> Arity:
    counts = sizes**arity
    starts = np.cumsum(counts) - counts
    state = np.repeat(np.arange(len(sizes)), counts)
    n = sizes[state]
    local = np.arange(counts.sum()) - starts[state]
    indices = [local // n ** (arity - 1 - a) % np.maximum(n, 1) for a in range(arity)]
    permutations = list(itertools.permutations(range(arity)))
    sources = np.empty((len(local), len(permutations)), dtype=np.int64)
    inverse = np.empty_like(sources)
    for p, permutation in enumerate(permutations):
        row = np.zeros_like(local)
        for position in permutation:
            row = row * n + indices[position]
        row += starts[state]
        inverse[row, p] = np.arange(len(local))
        sources[:, p] = row * len(permutations) + p
    distinct = np.ones(len(local), dtype=np.float32)
    for a, b in itertools.combinations(range(arity), 2):
        distinct[indices[a] == indices[b]] = 0
    parent = lengths = readers = np.zeros(0, dtype=np.int64)
    parent_sources = sources
    if arity:
        outer = sizes ** (arity - 1)
        orders = np.arange(len(permutations))
        parent = local // np.maximum(n, 1) + (np.cumsum(outer) - outer)[state]
        lengths = np.repeat(sizes, outer)
        # Stably by parent and order: each (parent, p) gets its children's readers, one after other.
        key = (parent[:, None] * len(permutations) + orders).reshape(-1)
        readers = inverse.reshape(-1)[np.argsort(key, kind="stable")]
        parent_sources = parent[sources // len(permutations)] * len(permutations) + orders
    reader_lengths = np.repeat(lengths, len(permutations))

    def on_device(array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    return Arity(
        count=len(local),
        parent=on_device(parent),
        children=on_device(np.arange(len(parent))),
        starts=on_device(np.cumsum(lengths) - lengths),
        childless=on_device((lengths == 0)[:, None]),
        sources=on_device(sources),
        parent_sources=on_device(parent_sources),
        inverse=on_device(inverse.reshape(-1)),
        readers=on_device(readers),
        reader_starts=on_device(np.cumsum(reader_lengths) - reader_lengths),
        distinct=on_device(distinct[:, None]),
    )


# Sums and maxima over rows that an index table names; the tables work both ways, so gradients never
# add into shared rows and are deterministic on GPUs too.


def _rows(x: Tensor, numbers: Tensor) -> Tensor:
    """x[numbers]; rows are moved 16 bytes at a time where they can be, which is much faster."""
    if x.shape[1] % 4 == 0 and x.dtype == torch.float32:
        return x.contiguous().view(torch.complex128)[numbers].view(torch.float32)
    return x[numbers]


def _bags(x: Tensor, rows: Tensor, starts: Tensor, mode: str) -> Tensor:
    return torch.nn.functional.embedding_bag(rows, x, starts, mode=mode)


class _ReduceMax(torch.autograd.Function):
    """(T_r, C) -> (T_{r-1}, C), 0 where there are no objects"""

    @staticmethod
    def forward(ctx: Any, x: Tensor, arity: Arity) -> Tensor:
        reduced = _bags(x, arity.children, arity.starts, "max")
        reduced = reduced.masked_fill(arity.childless, 0.0)
        ctx.arity = arity
        ctx.save_for_backward(x, reduced)
        return reduced

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        """Rows that tie share the gradient evenly."""
        x, reduced = ctx.saved_tensors
        arity = ctx.arity
        attains = (x == _rows(reduced, arity.parent)).to(x.dtype)
        ties = _bags(attains, arity.children, arity.starts, "sum").clamp(min=1)
        return attains * _rows(gradient / ties, arity.parent), None


class _SumOver(torch.autograd.Function):
    """(T, r! * W) -> (T_r, W): y[t] = sum over orders p of row sources[t, p] of z as (T * r!, W).
    Row i is read by the tuples from readers[starts[i]] on, without `starts` by readers[i] alone."""

    @staticmethod
    def forward(
        ctx: Any, z: Tensor, sources: Tensor, readers: Tensor, starts: Tensor | None
    ) -> Tensor:
        ctx.shape, ctx.readers, ctx.starts = z.shape, readers, starts
        rows = z.reshape(len(z) * sources.shape[1], -1)
        return torch.nn.functional.embedding_bag(sources, rows, mode="sum")

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        if ctx.starts is None:
            rows = _rows(gradient, ctx.readers)
        else:
            rows = _bags(gradient.contiguous(), ctx.readers, ctx.starts, "sum")
        return rows.view(ctx.shape), None, None, None


# torch does not type Function.apply.
reduce_max: Callable[[Tensor, Arity], Tensor] = _ReduceMax.apply
sum_over: Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor] = _SumOver.apply


def sum_over_orders(z: Tensor, arity: Arity) -> Tensor:
    """(T_r, r! * W) -> (T_r, W): y[t] = sum over orders p of z[t permuted by p, block p]"""
    if arity.sources.shape[1] == 1:
        return z
    return sum_over(z, arity.sources, arity.inverse, None)


def sum_over_parents(z: Tensor, arity: Arity) -> Tensor:
    """(T_{r-1}, r! * W) -> (T_r, W): the same for what all children of a tuple have in common"""
    return sum_over(z, arity.parent_sources, arity.readers, arity.reader_starts)


def reduce_sum(x: Tensor, ragged: Ragged) -> Tensor:
    """(B, C): the sums over the objects of each state, of x (T_1, C)."""
    lengths = torch.from_numpy(ragged.sizes).to(x.device)
    return torch.segment_reduce(x, "sum", lengths=lengths, axis=0)


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

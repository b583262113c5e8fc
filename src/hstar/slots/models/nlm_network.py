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
    """The index tables for states with these numbers of objects, and for `copies` of them one after
    the other."""

    def __init__(
        self, sizes: NDArray[np.int32], breadth: int, device: torch.device, copies: int = 1
    ) -> None:
        once = torch.from_numpy(sizes.astype(np.int64)).to(device)
        counts = [int((once**arity).sum()) for arity in range(breadth + 1)]
        self.arities = [_tables(once, arity) for arity in range(breadth + 1)]
        if copies > 1:
            self.arities = [_copied(one, r, counts, copies) for r, one in enumerate(self.arities)]
        self.sizes = once.repeat(copies)


def _tables(sizes: Tensor, arity: int) -> Arity:
    device, counts = sizes.device, sizes**arity
    total = int(counts.sum())
    starts = counts.cumsum(0) - counts
    state = torch.repeat_interleave(counts)
    n, numbers = sizes[state], torch.arange(total, device=device)
    local = numbers - starts[state]
    several = n.clamp(min=1)
    indices = [local // n ** (arity - 1 - a) % several for a in range(arity)]
    permutations = list(itertools.permutations(range(arity)))
    sources = local.new_empty(total, len(permutations))
    inverse = torch.empty_like(sources)
    for p, permutation in enumerate(permutations):
        row = torch.zeros_like(local)
        for position in permutation:
            row = row * n + indices[position]
        row += starts[state]
        inverse[row, p] = numbers
        sources[:, p] = row * len(permutations) + p
    distinct = torch.ones(total, 1, device=device)
    for a, b in itertools.combinations(range(arity), 2):
        distinct[indices[a] == indices[b]] = 0
    parent = lengths = readers = local.new_zeros(0)
    parent_sources = sources
    if arity:
        outer = sizes ** (arity - 1)
        orders = torch.arange(len(permutations), device=device)
        parent = local // several + (outer.cumsum(0) - outer)[state]
        lengths = torch.repeat_interleave(sizes, outer)
        # Stably by parent and order: each (parent, p) gets its children's readers, one after other.
        key = (parent[:, None] * len(permutations) + orders).flatten()
        readers = inverse.flatten()[torch.argsort(key, stable=True)]
        parent_sources = parent[sources // len(permutations)] * len(permutations) + orders
    reader_lengths = torch.repeat_interleave(lengths, len(permutations))
    return Arity(
        count=total,
        parent=parent,
        children=torch.arange(len(parent), device=device),
        starts=lengths.cumsum(0) - lengths,
        childless=(lengths == 0)[:, None],
        sources=sources,
        parent_sources=parent_sources,
        inverse=inverse.flatten(),
        readers=readers,
        reader_starts=reader_lengths.cumsum(0) - reader_lengths,
        distinct=distinct,
    )


def _copied(one: Arity, arity: int, counts: list[int], copies: int) -> Arity:
    """Rows of copy k follow those of copy k - 1, in every table and in what it points to."""
    rows, above = counts[arity], counts[max(arity - 1, 0)]
    orders = one.sources.shape[1]

    def moved(table: Tensor, step: int) -> Tensor:
        each = step * torch.arange(copies, device=table.device)
        return (table[None] + each.view(-1, *[1] * table.dim())).flatten(0, 1)

    return Arity(
        count=rows * copies,
        parent=moved(one.parent, above),
        children=moved(one.children, len(one.children)),
        starts=moved(one.starts, len(one.children)),
        childless=one.childless.repeat(copies, 1),
        sources=moved(one.sources, rows * orders),
        parent_sources=moved(one.parent_sources, above * orders),
        inverse=moved(one.inverse, rows),
        readers=moved(one.readers, rows),
        reader_starts=moved(one.reader_starts, len(one.readers)),
        distinct=one.distinct.repeat(copies, 1),
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
    return torch.segment_reduce(x, "sum", lengths=ragged.sizes, axis=0)


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
                hidden = config.activation == "sigmoid" and layer < config.depth - 1
                is_wide = hidden and config.init == "wide"
                bound = (4 if is_wide else 1) / math.sqrt(max(inputs, 1))
                self.theta[start:end].uniform_(-bound, bound, generator=generator)
                start = end

    def forward(self, batch: Batch) -> Tensor:
        if self.theta.device.type == "cpu":
            return _native(self.theta, self.shape, batch)
        ragged = Ragged(batch.sizes, self.config.breadth, self.theta.device)
        dense = dense_inputs(batch, self.config.channels)
        return self.forward_dense(
            [torch.from_numpy(x).to(self.theta.device) for x in dense], ragged
        )

    def forward_dense(self, inputs: list[Tensor], ragged: Ragged) -> Tensor:
        """The network in torch; inputs[r] is (T_r, C_r)."""
        return evaluate(self.config, self.theta[None], inputs, ragged)


def evaluate(config: NLMConfig, thetas: Tensor, inputs: list[Tensor], ragged: Ragged) -> Tensor:
    """(K * B, outputs) of K networks, whose parameters are the rows of `thetas`, each on a batch of
    its own: inputs[r] is (K * T_r, C_r), batch after batch."""
    x = inputs
    start = 0
    shapes = config.shape().weight_shapes
    for layer, of_layer in itertools.groupby(shapes, lambda shape: shape[0]):
        y: list[Tensor] = []
        for _, arity, outputs, width in of_layer:
            end = start + outputs * width
            weight = thetas[:, start:end].reshape(len(thetas), outputs, width)
            bias = thetas[:, end : end + outputs]
            start = end + outputs
            sums = config.sums and layer == config.depth - 1
            out = _permuted_linear(config, x, arity, weight, ragged, sums)
            out = (out.view(len(thetas), -1, outputs) + bias[:, None]).flatten(0, 1)
            if layer < config.depth - 1:
                out = torch.sigmoid(out) if config.activation == "sigmoid" else torch.relu(out)
                if config.dense:
                    out = torch.cat([out, x[arity]], dim=1)
            y.append(out)
        x = y
    return x[0]


def _permuted_linear(
    config: NLMConfig, x: list[Tensor], arity: int, weight: Tensor, ragged: Ragged, sums: bool
) -> Tensor:
    """(K * T_r, outputs). `weight` is (K, outputs, r! * channels), order after order."""
    networks, outputs, width = weight.shape
    tables = ragged.arities[arity]
    orders = math.factorial(arity)
    own: list[Tensor] = [x[arity]] if x[arity].shape[1] else []
    if arity + 1 < len(x) and x[arity + 1].shape[1]:
        own += _reductions(config, x[arity + 1], arity + 1, ragged)
    if sums and x[1].shape[1]:
        own.append(reduce_sum(x[1], ragged))
    expanded = x[arity - 1].shape[1] if arity else 0
    # (K, channels, r! * outputs): what each order makes of one tuple
    channels = width // orders
    blocks = weight.view(networks, outputs, orders, channels).permute(0, 3, 2, 1)
    matrix = blocks.reshape(networks, channels, orders * outputs)

    def product(rows: Tensor, matrix: Tensor) -> Tensor:
        of_each = rows.view(networks, len(rows) // networks, rows.shape[1])
        return (of_each @ matrix).flatten(0, 1)

    y = weight.new_zeros(tables.count, outputs)
    if own:
        y = sum_over_orders(product(torch.cat(own, dim=1), matrix[:, expanded:]), tables)
    if expanded:
        y = y + sum_over_parents(product(x[arity - 1], matrix[:, :expanded]), tables)
    return y


def _reductions(config: NLMConfig, x: Tensor, arity: int, ragged: Ragged) -> list[Tensor]:
    tables = ragged.arities[arity]
    if not config.exclude_self or arity < 2:
        least, greatest = -x, x
    else:
        greatest = x * tables.distinct
        least = -(greatest + (1 - tables.distinct))
    return [-reduce_max(least, tables), reduce_max(greatest, tables)]


class HeldInputs:
    """The inputs of many states, written out on a device once and for all."""

    def __init__(self, batch: Batch, channels: list[int], device: torch.device) -> None:
        sizes = batch.sizes.astype(np.int64)
        self.dense = [torch.from_numpy(x).to(device) for x in dense_inputs(batch, channels)]
        counts = [sizes**arity for arity in range(len(channels))]
        # int64 (S,): where the tuples of each state begin
        self.starts = [torch.from_numpy(np.cumsum(one) - one).to(device) for one in counts]


class FixedNLM:
    """NLMs of one configuration, as many as there are `copies`, on batches of held states whose
    sizes are always these. Nothing but the choice of states differs from step to step."""

    def __init__(
        self, config: NLMConfig, held: HeldInputs, sizes: NDArray[Any], copies: int = 1
    ) -> None:
        self.config, self.held = config, held
        device = held.starts[0].device
        self.ragged = Ragged(sizes, config.breadth, device, copies)
        self.places: list[tuple[Tensor, Tensor]] = []  # of each tuple: its state, its place there
        for arity in range(config.breadth + 1):
            counts = self.ragged.sizes**arity
            state = torch.repeat_interleave(counts)
            local = torch.arange(len(state), device=device) - (counts.cumsum(0) - counts)[state]
            self.places.append((state, local))

    def outputs(self, thetas: Tensor, rows: Tensor) -> Tensor:
        """(K * B, outputs) from the parameters (K, P) and the numbers of states int64 (K * B,)."""
        inputs = [
            dense[starts[rows][state] + local] if dense.shape[1] else dense.new_empty(len(local), 0)
            for dense, starts, (state, local) in zip(
                self.held.dense, self.held.starts, self.places, strict=True
            )
        ]
        return evaluate(self.config, thetas, inputs, self.ragged)


def dense_inputs(batch: Batch, channels: list[int]) -> list[NDArray[np.float32]]:
    """The inputs written out, one float32 (T_r, C_r) per arity."""
    sizes = batch.sizes.astype(np.int64)
    state = np.repeat(np.arange(len(batch)), np.diff(batch.starts))
    dense = []
    for arity, count in enumerate(channels):
        tuples = sizes**arity
        x = np.zeros((tuples.sum(), count), dtype=np.float32)
        chosen = batch.entries[:, 0] == arity
        first = (np.cumsum(tuples) - tuples)[state[chosen]]
        np.add.at(x.reshape(-1), batch.entries[chosen, 1] + first * count, batch.values[chosen])
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

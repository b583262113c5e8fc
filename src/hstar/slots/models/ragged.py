"""Tensors over tuples of objects for states of different sizes, without padding.

The r-tuples of all states of a batch lie one after the other, row by row, so a tensor of arity r is
(T_r, C) with T_r the sum of N^r. Fixing all but the last index gives N consecutive rows: expanding
repeats a row for them, reducing takes their least and greatest.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


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

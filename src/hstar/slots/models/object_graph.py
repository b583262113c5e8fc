"""States as graphs: a node per object, an edge per pair of objects that an atom or the goal names.

Nodes carry the unary channels of the atoms, and of binary channels what they say of a pair of the
same object twice. The edge (i, j) carries the binary channels of (i, j) and of (j, i), so messages
go both ways. Nullary channels are global.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from hstar.slots.features.atoms import Batch

WIDEST = 2  # arity


@dataclass(frozen=True, slots=True)
class ObjectGraphs:
    """B graphs with N nodes and E edges in all. Edges lie in the order of their receivers."""

    globals: Tensor  # float (B, C0)
    nodes: Tensor  # float (N, C1 + C2)
    edges: Tensor  # float (E, 2 C2)
    senders: Tensor  # int64 (E,)
    receivers: Tensor  # int64 (E,)
    incoming: Tensor  # int64 (N,): how many edges each node receives
    sizes: Tensor  # int64 (B,): how many nodes each graph has
    first_node: Tensor  # int64 (B,)
    graph_of_node: Tensor  # int64 (N,)

    def to(self, device: torch.device) -> ObjectGraphs:
        return ObjectGraphs(*(getattr(self, field.name).to(device) for field in fields(self)))


def object_graphs(batch: Batch, channels: list[int]) -> ObjectGraphs:
    """The graphs of B states, from atoms with so many channels of arity 0, 1 and 2."""
    c0, c1, c2 = channels
    sizes = batch.sizes.astype(np.int64)
    first = np.cumsum(sizes) - sizes
    total = int(sizes.sum())
    graph = np.repeat(np.arange(len(sizes)), np.diff(batch.starts))  # of each entry
    arity, number = batch.entries[:, 0], batch.entries[:, 1].astype(np.int64)

    of_globals = np.zeros((len(sizes), c0), dtype=np.float32)
    chosen = arity == 0
    of_globals[graph[chosen], number[chosen]] = batch.values[chosen]

    nodes = np.zeros((total, c1 + c2), dtype=np.float32)
    chosen = arity == 1
    index, channel = np.divmod(number[chosen], max(c1, 1))
    nodes[first[graph[chosen]] + index, channel] = batch.values[chosen]

    chosen = arity == 2
    graph, values = graph[chosen], batch.values[chosen]
    pair, channel = np.divmod(number[chosen], max(c2, 1))
    a, b = np.divmod(pair, np.maximum(sizes[graph], 1))
    a, b = a + first[graph], b + first[graph]
    is_loop = a == b
    nodes[a[is_loop], c1 + channel[is_loop]] = values[is_loop]
    a, b, channel, values = (one[~is_loop] for one in (a, b, channel, values))
    keys = np.concatenate([b * total + a, a * total + b])  # receiver, sender
    found, place = np.unique(keys, return_inverse=True)
    edges = np.zeros((len(found), 2 * c2), dtype=np.float32)
    edges[place, np.concatenate([channel, c2 + channel])] = np.concatenate([values, values])
    receivers, senders = np.divmod(found, max(total, 1))
    made = (
        of_globals,
        nodes,
        edges,
        senders,
        receivers,
        np.bincount(receivers, minlength=total),
        sizes,
        first,
        np.repeat(np.arange(len(sizes)), sizes),
    )
    return ObjectGraphs(*(torch.from_numpy(one) for one in made))

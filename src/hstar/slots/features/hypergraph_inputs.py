"""Features "hypergraph": a task's hypergraph with the nodes that are true in a state.

Rows of several graphs lie one after the other. When all states belong to one graph, each row holds
all of them instead (`lanes`), and the graph's indices serve them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hstar.planning.task import Task
from hstar.slots.features.feature import Config, Feature, Inputs, SpaceStates
from hstar.slots.features.hypergraph import (
    Hypergraph,
    Wiring,
    build_hypergraph,
    needed_slots,
    state_bits,
    wire,
)

Slots = tuple[int, int]  # receivers, senders
ROWS_AT_ONCE = 8192
MOST_SLOTS = 2**16


@dataclass(frozen=True, eq=False)
class HypergraphBatch:
    """States to compute on: `lanes` states for each graph of the wiring."""

    wiring: Wiring
    nodes: Tensor  # float32[nodes, lanes, 2]: in the state, in the goal
    edges: Tensor  # float32[edges, 3]
    globals: Tensor  # float32[graphs, 2]: number of nodes, number of edges


def _batch(graphs: Sequence[Hypergraph], bits: NDArray[Any], wiring: Wiring) -> HypergraphBatch:
    """`bits` [nodes of all graphs, lanes]"""
    nodes = np.empty((*bits.shape, 2), dtype=np.float32)
    nodes[:, :, 0] = bits
    nodes[:, :, 1] = np.concatenate([np.zeros(0), *(graph.goal for graph in graphs)])[:, None]
    edges = np.concatenate([np.zeros((0, 3), np.float32), *(graph.edges for graph in graphs)])
    sizes = [(graph.num_nodes, graph.num_edges) for graph in graphs]
    return HypergraphBatch(
        wiring,
        torch.from_numpy(nodes),
        torch.from_numpy(edges),
        torch.tensor(sizes, dtype=torch.float32).view(-1, 2),
    )


class HypergraphInputs(Inputs):
    """States of many problems to draw batches from: the graph of each, and which nodes are true."""

    def __init__(self, groups: Sequence[tuple[Hypergraph, NDArray[Any]]], slots: Slots) -> None:
        """A group is a graph and its states' bits [S, nodes]."""
        self.slots = slots
        self.graphs = [graph for graph, states in groups for _ in range(len(states))]
        self.bits = [row for _, states in groups for row in states.astype(bool)]
        self.sizes = np.array([graph.num_objects for graph in self.graphs], dtype=np.int64)

    def select(self, rows: NDArray[np.int64]) -> HypergraphBatch:
        """Raises ValueError if a graph needs more slots than the network has."""
        graphs, bits = [self.graphs[row] for row in rows], [self.bits[row] for row in rows]
        if len(set(graphs)) == 1:
            graphs, nodes = graphs[:1], np.stack(bits, axis=1)
        else:
            nodes = np.concatenate([np.zeros(0, dtype=bool), *bits])[:, None]
        return _batch(graphs, nodes, wire(graphs, *self.slots))


class HypergraphFeature(Feature):
    """The slots are those that the training problems need."""

    name = "hypergraph"

    def configure(self, tasks: Sequence[Task], options: Config, cost: str) -> Config:
        receivers, senders = needed_slots([build_hypergraph(task, cost) for task in tasks])
        return {"receiver_slots": receivers, "sender_slots": senders, "cost": cost}

    def inputs(self, config: Config, states: Sequence[SpaceStates]) -> HypergraphInputs:
        groups = []
        for group in states:
            graph = build_hypergraph(group.space, config["cost"])
            groups.append((graph, state_bits(graph, group.space, group.states)))
        return HypergraphInputs(groups, _slots(config))

    def encoder(self, config: Config, space: Task) -> Callable[[Any], HypergraphBatch]:
        graph = build_hypergraph(space, config["cost"])
        wiring = wire([graph], *_slots(config))
        return lambda states: _batch([graph], state_bits(graph, space, states).T, wiring)

    def rows_at_once(self, space: Task) -> int:
        """Edges times states that are computed at once stay in the caches."""
        return max(1, ROWS_AT_ONCE // max(space.num_operators, 1))


def _slots(config: Config) -> Slots:
    slots = int(config["receiver_slots"]), int(config["sender_slots"])
    if not all(0 <= count <= MOST_SLOTS for count in slots):
        raise ValueError(f"an operator has at most {MOST_SLOTS} slots, not {max(slots)}")
    return slots


HYPERGRAPH = HypergraphFeature()

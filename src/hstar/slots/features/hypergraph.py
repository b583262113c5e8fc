"""The hypergraph of a grounded task, as STRIPS-HGN sees it (Shen, Trevizan, Thiebaux, ICAPS 2020).

A node is an atom of the task, a hyperedge an operator without its deletes: its preconditions are
the senders, its adds the receivers. Where a task says more than that:

- A negative precondition or goal ("not on(a, b)") is left out: there is no node it could name.
- A conditional effect is a hyperedge of its own. Its senders are the operator's preconditions and
  the effect's condition, its receivers what is added under just that condition. What is added
  unconditionally is one more hyperedge. An operator that adds nothing is one without receivers.

The network has one weight matrix per *slot* of a hyperedge, so who stands in which slot must not
depend on what objects are called or in which order a file lists them. The senders of an edge, and
likewise its receivers, are sorted by predicate name and then by where their arguments stand among
the action's parameters. An argument that is no parameter counts by name if it is a constant of the
domain, since all problems share those; any other (bound by a quantifier) counts as unknown. Atoms
that are still equal share a slot, and the network adds them up; so actions that quantify over
objects need no more slots in larger problems.

Between nodes and edges stand the *pairs*: every slot and node that meet in some edge. A slot's
matrix is applied once per pair, however many edges share it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import embedding_bag

from hstar.pddl.errors import check_known
from hstar.planning.space import state_rows
from hstar.planning.task import Task, parse_atom

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]

COSTS = ("normal", "one")
RECEIVER, SENDER = 0, 1
UNKNOWN = np.iinfo(np.int32).max  # the place of an argument that is no parameter and no constant


@dataclass(frozen=True, eq=False)
class Incidence:
    """Which items belong to which row: row r has the next `counts[r]` of `items`."""

    items: Ints  # int32[M]
    counts: Ints  # int32[rows]

    def transposed(self, num_items: int) -> Incidence:
        """The rows that each item belongs to."""
        rows = np.repeat(np.arange(len(self.counts), dtype=np.int32), self.counts)
        order = np.argsort(self.items, kind="stable")
        return Incidence(rows[order], _counts(self.items, num_items))

    def with_rows_moved(self, places: Ints) -> Incidence:
        """Row r becomes row places[r]."""
        counts = np.empty_like(self.counts)
        counts[places] = self.counts
        shift = starts(counts)[places] - starts(self.counts)[:-1]
        items = np.empty_like(self.items)
        items[np.arange(len(items)) + np.repeat(shift, self.counts)] = self.items
        return Incidence(items, counts)


def starts(counts: Sequence[int] | NDArray[Any]) -> Ints:
    """int32[n + 1]: where each of n consecutive ranges begins, and the end of the last."""
    result = np.zeros(len(counts) + 1, dtype=np.int32)
    np.cumsum(counts, out=result[1:])
    return result


def _counts(items: NDArray[Any], num_items: int = 0) -> Ints:
    return np.bincount(items, minlength=num_items).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Hypergraph:
    """What the network needs to know of a task; a state adds which nodes are true. Pairs are
    sorted: receivers before senders, then by slot and node. `widest` names an action that needs all
    receiver slots, and one that needs all sender slots."""

    atoms: tuple[str, ...]  # the nodes, such as "on(a, b)"
    num_objects: int  # that the atoms mention
    fact_nodes: Ints  # int32[facts]: the node of each fact of the task, -1 for those without
    goal: Floats  # float32[nodes]: 1 where an atom is in the goal
    edges: Floats  # float32[edges, 3]: cost, number of senders, number of receivers
    widest: tuple[str, str]
    receiver_pairs: Ints  # int32[receiver slots]: how many pairs each slot has
    sender_pairs: Ints  # int32[sender slots]
    node_pairs: Incidence  # to each node its pairs, and so on
    edge_pairs: Incidence
    pair_edges: Incidence
    edge_receivers: Incidence
    receiver_edges: Incidence

    @property
    def num_nodes(self) -> int:
        return len(self.atoms)

    @property
    def num_edges(self) -> int:
        return len(self.edges)

    @property
    def slots(self) -> tuple[int, int]:
        """How many receiver slots and sender slots its edges need."""
        return len(self.receiver_pairs), len(self.sender_pairs)


def needed_slots(hypergraphs: Iterable[Hypergraph]) -> tuple[int, int]:
    """How many receiver slots and sender slots a network needs for all of these."""
    receivers, senders = zip((0, 0), *(graph.slots for graph in hypergraphs), strict=True)
    return max(receivers), max(senders)


def build_hypergraph(task: Task, cost: str = "normal") -> Hypergraph:
    """The hypergraph of a task; with cost "one" every edge costs 1. Raises ValueError."""
    check_known("cost type", cost, COSTS)
    atoms: dict[str, int] = {}
    fact_nodes = np.full(task.num_facts, -1, dtype=np.int32)
    for fact in range(task.num_facts):
        name = task.core.atom_name(fact)
        if not name.startswith(("<", "not ")):
            fact_nodes[fact] = atoms.setdefault(name, len(atoms))
    first_fact = starts(task.domain_sizes)
    goal = np.zeros(len(atoms) + 1, dtype=np.float32)  # the last for facts without a node
    goal[[fact_nodes[first_fact[variable] + value] for variable, value in task.goal]] = 1

    actions, costs, sizes, flat = [], [], [], []
    for action, edge_cost, receivers, senders in _edges(task, fact_nodes, first_fact):
        actions.append(action)
        costs.append(edge_cost if cost == "normal" else 1)
        sizes.append((len(receivers), len(senders)))
        flat += [*receivers, *senders]
    counts = np.array(sizes, dtype=np.int32).reshape(-1, 2)
    # Entries: one per edge, side and node.
    nodes = np.array(flat, dtype=np.int32)
    edges = np.repeat(np.arange(len(actions), dtype=np.int32), counts.sum(axis=1))
    sides = np.repeat(np.tile([RECEIVER, SENDER], len(actions)), counts.ravel())
    receives = sides == RECEIVER
    names = _Names(task, list(atoms), actions)
    slots = _assign_slots(edges, sides, names.places(edges, nodes))

    # A pair is one number here, so that sorting the numbers sorts the pairs.
    num_nodes, num_slots = max(len(atoms), 1), int(slots.max(initial=0)) + 1
    pairs, items = np.unique((sides * num_slots + slots) * num_nodes + nodes, return_inverse=True)
    pair_nodes, pair_columns = (pairs % num_nodes).astype(np.int32), pairs // num_nodes
    edge_pairs = Incidence(items.astype(np.int32), counts.sum(axis=1, dtype=np.int32))
    edge_receivers = Incidence(nodes[receives], counts[:, RECEIVER].copy())
    return Hypergraph(
        atoms=tuple(atoms),
        num_objects=names.num_objects,
        fact_nodes=fact_nodes,
        goal=goal[:-1],
        edges=np.column_stack([costs, counts[:, SENDER], counts[:, RECEIVER]]).astype(np.float32),
        widest=(
            _widest(actions, edges[receives], slots[receives]),
            _widest(actions, edges[~receives], slots[~receives]),
        ),
        receiver_pairs=_counts(pair_columns[pair_columns < num_slots]),
        sender_pairs=_counts(pair_columns[pair_columns >= num_slots] - num_slots),
        node_pairs=Incidence(pair_nodes, np.ones_like(pair_nodes)).transposed(len(atoms)),
        edge_pairs=edge_pairs,
        pair_edges=edge_pairs.transposed(len(pairs)),
        edge_receivers=edge_receivers,
        receiver_edges=edge_receivers.transposed(len(atoms)),
    )


def _edges(
    task: Task, fact_nodes: Ints, first_fact: Ints
) -> Iterator[tuple[str, float, set[int], set[int]]]:
    """Per hyperedge: the operator's name and cost, which nodes receive, and which send."""
    ranges = itertools.pairwise(first_fact.tolist())
    node_of = [fact_nodes[first:last].tolist() for first, last in ranges]

    def nodes(facts: Iterable[tuple[int, int]]) -> set[int]:
        return {node_of[variable][value] for variable, value in facts} - {-1}

    for index in range(task.num_operators):
        name, cost, preconditions, effects = task.core.operator_parts(index)
        added: dict[frozenset[tuple[int, int]], set[int]] = {}
        for condition, variable, value in effects:
            if node_of[variable][value] >= 0:
                added.setdefault(frozenset(condition), set()).add(node_of[variable][value])
        required = nodes(preconditions)
        for conditions, receivers in (added or {frozenset(): set()}).items():
            yield name, task.unscaled(cost), receivers, required | nodes(conditions)


class _Names:
    """The names of atoms and actions as tables of numbers, which numpy can compare."""

    def __init__(self, task: Task, atoms: list[str], actions: list[str]) -> None:
        domain = task.problem.domain
        numbers = {name: i for i, name in enumerate(task.problem.objects)}
        split = [parse_atom(atom) or () for atom in atoms]
        # Not those of the domain: the grounder adds one for a disjunctive goal.
        ranks = {name: i for i, name in enumerate(sorted({name for name, *_ in split}))}
        self.predicates = np.array([ranks[name] for name, *_ in split], dtype=np.int32)
        self.arguments = _table([[numbers[name] for name in names] for _, *names in split])
        self.parameters = _table(
            [[numbers[name] for name in action[1:-1].split()[1:]] for action in actions]
        )
        self.num_objects = len(np.unique(self.arguments[self.arguments >= 0]))
        # Where an argument stands that is no parameter. Tables are filled up with -1.
        self.elsewhere = np.full(len(numbers) + 1, UNKNOWN, dtype=np.int32)
        self.elsewhere[-1] = -1
        for rank, name in enumerate(sorted(domain.constants)):
            self.elsewhere[numbers[name]] = self.parameters.shape[1] + rank

    def places(self, edges: Ints, nodes: Ints) -> Ints:
        """int32[M, 1 + arity]: by what an edge sorts a node: predicate, places of arguments."""
        arguments = self.arguments[nodes]  # (M, arity)
        places = self.elsewhere[arguments]
        for position in reversed(range(self.parameters.shape[1])):  # the first place decides
            same = arguments == self.parameters[edges, position, None]
            places[same & (arguments >= 0)] = position
        return np.column_stack([self.predicates[nodes], places])


def _table(rows: list[list[int]]) -> Ints:
    table = np.full((len(rows), max(map(len, rows), default=0)), -1, dtype=np.int32)
    for filled, row in zip(table, rows, strict=True):
        filled[: len(row)] = row
    return table


def _assign_slots(edges: Ints, sides: NDArray[Any], places: Ints) -> NDArray[np.int64]:
    """int64[M]: the slot of each entry, counted from 0 within its edge and side."""
    keys = np.column_stack([edges, sides, places])
    order = np.lexsort(keys.T[::-1])
    changes = np.ones(keys.shape, dtype=bool)
    changes[1:] = keys[order[1:]] != keys[order[:-1]]
    another_side, another_slot = changes[:, :2].any(axis=1), changes.any(axis=1)
    count = np.cumsum(another_slot)
    slots = np.empty(len(keys), dtype=np.int64)
    slots[order] = count - count[another_side][np.cumsum(another_side) - 1]
    return slots


def _widest(actions: list[str], edges: Ints, slots: NDArray[np.int64]) -> str:
    return actions[edges[np.argmax(slots)]] if len(slots) else ""


def state_bits(hypergraph: Hypergraph, task: Task, states: NDArray[Any]) -> Floats:
    """float32[S, nodes]: which nodes are true in states int32[S, V]. Raises ValueError for states
    of another task."""
    rows = state_rows(states)
    if task.num_facts != len(hypergraph.fact_nodes):
        raise ValueError("the hypergraph belongs to another task")
    if rows.shape[1] != task.num_variables or (rows < 0).any() or (rows >= task.domain_sizes).any():
        raise ValueError("these are no states of the task")
    bits = np.zeros((len(rows), hypergraph.num_nodes + 1), dtype=np.float32)
    nodes = hypergraph.fact_nodes[rows + starts(task.domain_sizes)[:-1]]
    np.put_along_axis(bits, nodes, 1, axis=1)
    return bits[:, :-1]  # facts without a node, -1, went to the last column


@dataclass(frozen=True, eq=False)
class Bags:
    """Sums of rows. Result r adds the rows items[offsets[r] : offsets[r + 1]]; without offsets it
    is the one row items[r]. Sums are made in this order, so they are the same on every run."""

    items: Tensor  # int32[M]
    offsets: Tensor | None  # int32[results + 1]

    @staticmethod
    def of(incidence: Incidence) -> Bags:
        offsets = torch.from_numpy(starts(incidence.counts))
        return Bags(torch.from_numpy(incidence.items), offsets)

    @staticmethod
    def of_ranges(first: Ints) -> tuple[Bags, Bags]:
        """To each range all that is in it, and to all its range."""
        ranges = np.repeat(np.arange(len(first) - 1, dtype=np.int32), np.diff(first))
        everything = torch.arange(len(ranges), dtype=torch.int32)
        return Bags(everything, torch.from_numpy(first)), Bags(torch.from_numpy(ranges), None)

    def sum(self, rows: Tensor) -> Tensor:
        """(rows, W) -> (results, W); no gradient."""
        rows = rows.detach()
        if self.offsets is None:
            return rows.index_select(0, self.items)
        return embedding_bag(self.items, rows, self.offsets, mode="sum", include_last_offset=True)


@dataclass(frozen=True, eq=False)
class Wiring:
    """What the network sums, for the nodes, edges and pairs of some graphs one after the other.
    Pairs are sorted by column (receiver slots, then sender slots); `columns` says how many each
    has. Every sum stands beside its transpose, which gradients need."""

    columns: tuple[int, ...]
    pair_nodes: Bags
    node_pairs: Bags
    edge_pairs: Bags
    pair_edges: Bags
    receiver_edges: Bags
    edge_receivers: Bags
    graph_edges: Bags
    edge_graph: Bags
    graph_nodes: Bags
    node_graph: Bags


def wire(graphs: Sequence[Hypergraph], receiver_slots: int, sender_slots: int) -> Wiring:
    """Raises ValueError, naming an action, if a graph needs more slots than these."""
    columns = np.zeros((len(graphs), receiver_slots + sender_slots), dtype=np.int32)
    for row, graph in zip(columns, graphs, strict=True):
        _check_slots(graph, receiver_slots, sender_slots)
        row[: len(graph.receiver_pairs)] = graph.receiver_pairs
        row[receiver_slots:][: len(graph.sender_pairs)] = graph.sender_pairs
    # Pairs lie graph by graph, and move to where their column comes before their graph.
    before = starts(columns.ravel())[:-1].reshape(columns.shape)
    after = starts(columns.T.ravel())[:-1].reshape(columns.T.shape).T
    shift = np.repeat((after - before).ravel(), columns.ravel())
    places = np.arange(len(shift), dtype=np.int32) + shift

    first_node = starts([graph.num_nodes for graph in graphs])
    first_edge = starts([graph.num_edges for graph in graphs])
    first_pair = starts(columns.sum(axis=1))

    def joined(name: str, first: Ints) -> Incidence:
        parts: list[Incidence] = [getattr(graph, name) for graph in graphs]
        none = np.zeros(0, dtype=np.int32)
        items = np.concatenate([none, *(part.items for part in parts)])
        items += np.repeat(first[:-1], [len(part.items) for part in parts])
        return Incidence(items, np.concatenate([none, *(part.counts for part in parts)]))

    node_pairs = joined("node_pairs", first_pair)
    edge_pairs = joined("edge_pairs", first_pair)
    pair_nodes = np.empty_like(places)
    nodes = np.repeat(np.arange(first_node[-1], dtype=np.int32), node_pairs.counts)
    pair_nodes[places[node_pairs.items]] = nodes
    graph_edges, edge_graph = Bags.of_ranges(first_edge)
    graph_nodes, node_graph = Bags.of_ranges(first_node)
    return Wiring(
        columns=tuple(columns.sum(axis=0).tolist()),
        pair_nodes=Bags(torch.from_numpy(pair_nodes), None),
        node_pairs=Bags.of(Incidence(places[node_pairs.items], node_pairs.counts)),
        edge_pairs=Bags.of(Incidence(places[edge_pairs.items], edge_pairs.counts)),
        pair_edges=Bags.of(joined("pair_edges", first_edge).with_rows_moved(places)),
        receiver_edges=Bags.of(joined("receiver_edges", first_edge)),
        edge_receivers=Bags.of(joined("edge_receivers", first_node)),
        graph_edges=graph_edges,
        edge_graph=edge_graph,
        graph_nodes=graph_nodes,
        node_graph=node_graph,
    )


def _check_slots(graph: Hypergraph, *slots: int) -> None:
    whats = ("adds", "preconditions")
    for needed, given, action, what in zip(graph.slots, slots, graph.widest, whats, strict=True):
        if needed > given:
            raise ValueError(
                f"action {action} has {needed} {what}, but the network was made for at most "
                f"{given}; train it on problems that have such actions"
            )

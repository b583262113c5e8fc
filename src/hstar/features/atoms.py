"""Features "atoms": which tuples of objects each predicate of the domain holds for.

Inputs are mostly zero, so they are kept as entries (arity, tuple index * channels + channel);
tuples are numbered row by row. The channels are those of vocabulary.py.

A state is what the grounded task tracks. An atom that it does not track keeps its initial truth: it
is static, or it cannot matter for the goal. Objects that no such atom mentions are left out, so
unused ones change nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar.features.feature import Feature, Inputs, SpaceStates
from hstar.features.goals import goal_literals
from hstar.features.vocabulary import Vocabulary
from hstar.pddl.model import Problem
from hstar.spaces.task import Task


@dataclass(frozen=True, slots=True)
class Batch:
    """The inputs of B states, sparse: state i has `sizes[i]` objects and the entries
    `starts[i] : starts[i + 1]`, each (arity, tuple index * channels + channel) with its value."""

    sizes: NDArray[np.int32]  # (B,)
    starts: NDArray[np.int64]  # (B + 1,)
    entries: NDArray[np.int32]  # (E, 2)
    values: NDArray[np.float32]  # (E,)

    def __len__(self) -> int:
        return len(self.sizes)

    def select(self, rows: NDArray[np.int64]) -> Batch:
        """The states with these numbers, in this order."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        starts = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(lengths, out=starts[1:])
        gather = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], lengths)
        return Batch(self.sizes[rows], starts, self.entries[gather], self.values[gather])

    @staticmethod
    def concatenate(batches: Sequence[Batch]) -> Batch:
        if not batches:
            empty = np.zeros((0, 2), dtype=np.int32)
            none = np.zeros(0, dtype=np.float32)
            return Batch(np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64), empty, none)
        offsets = np.cumsum([0, *(len(b.entries) for b in batches)])
        starts = [b.starts[:-1] + offset for b, offset in zip(batches, offsets, strict=False)]
        return Batch(
            np.concatenate([b.sizes for b in batches]),
            np.concatenate([*starts, offsets[-1:]]).astype(np.int64),
            np.concatenate([b.entries for b in batches]),
            np.concatenate([b.values for b in batches]),
        )


class Encoder:
    """The inputs of the states of one task.

    `base_entries` int32[E, 2] with `base_values` are the same in all states; `fact_entries`
    int32[F, 2] holds the entry of each fact of the task, -1 where a fact adds none.
    """

    def __init__(self, task: Task, vocabulary: Vocabulary) -> None:
        vocabulary.check(task.problem.domain)
        self.task = task
        self.vocabulary = vocabulary
        self.channels = vocabulary.channels
        problem = task.problem
        facts = [_parse_atom(task.core.atom_name(f)) for f in range(task.num_facts)]
        tracked = {atom for atom in facts if atom is not None}
        untracked = [atom for atom in problem.init if atom not in tracked]
        goal = list(dict.fromkeys(goal_literals(problem)))
        mentioned = {
            name
            for atom in itertools.chain(tracked, untracked, (atom for atom, _ in goal))
            for name in atom[1:]
        }
        mentioned.update(problem.domain.constants)
        self.objects = [name for name in problem.objects if name in mentioned]
        self._number = {name: i for i, name in enumerate(self.objects)}

        base: list[tuple[tuple[int, int] | None, float]] = []
        base += [(self._entry(vocabulary.state_channel(a[0]), a[1:]), 1.0) for a in untracked]
        base += [
            (self._entry(vocabulary.goal_channel(a[0]), a[1:]), 1.0 if positive else -1.0)
            for a, positive in goal
        ]
        base += [(entry, 1.0) for entry in self._unary_entries(problem)]
        kept = [(entry, value) for entry, value in base if entry is not None]
        self.base_entries = np.array([e for e, _ in kept], dtype=np.int32).reshape(-1, 2)
        self.base_values = np.array([value for _, value in kept], dtype=np.float32)
        nothing = (-1, -1)
        self.fact_entries = np.array(
            [
                nothing
                if atom is None
                else self._entry(vocabulary.state_channel(atom[0]), atom[1:]) or nothing
                for atom in facts
            ],
            dtype=np.int32,
        ).reshape(-1, 2)

    def encode(self, states: NDArray[np.int32]) -> Batch:
        """The inputs of states int32[S, V]."""
        first_fact = np.cumsum([0, *self.task.domain_sizes[:-1]])
        return self.encode_facts(states + first_fact)

    def encode_facts(self, facts: NDArray[np.int64]) -> Batch:
        """The inputs of states given as facts int64[S, k]."""
        count = len(facts)
        entries = self.fact_entries[facts]  # (S, k, 2)
        present = entries[:, :, 0] >= 0  # (S, k)
        lengths = present.sum(axis=1) + len(self.base_entries)
        starts = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(lengths, out=starts[1:])
        is_base = np.ones((count, len(self.base_entries)), dtype=bool)
        chosen = np.concatenate([is_base, present], axis=1)
        base = np.broadcast_to(self.base_entries, (count, *self.base_entries.shape))
        values = np.ones(chosen.shape, dtype=np.float32)
        values[:, : len(self.base_entries)] = self.base_values
        return Batch(
            np.full(count, len(self.objects), dtype=np.int32),
            starts,
            np.concatenate([base, entries], axis=1)[chosen],
            values[chosen],
        )

    def _entry(
        self, channel: tuple[int, int] | None, names: tuple[str, ...]
    ) -> tuple[int, int] | None:
        if channel is None:
            return None
        arity, number = channel
        index = 0
        for name in names:
            index = index * len(self.objects) + self._number[name]
        return arity, index * self.channels[arity] + number

    def _unary_entries(self, problem: Problem) -> Iterable[tuple[int, int]]:
        vocabulary = self.vocabulary
        if vocabulary.breadth < 1:
            return
        for kind in vocabulary.types:
            members = set(problem.objects_of((kind,)))
            for number, name in enumerate(self.objects):
                if name in members:
                    channel = vocabulary.unary_channel(kind, "type")
                    yield 1, number * self.channels[1] + channel
        for name in vocabulary.constants:
            channel = vocabulary.unary_channel(name, "constant")
            yield 1, self._number[name] * self.channels[1] + channel


def _parse_atom(name: str) -> tuple[str, ...] | None:
    """("on", "a", "b") from "on(a, b)"; None for a negated atom or "none of those"."""
    if name.startswith(("not ", "<")):
        return None
    predicate, _, rest = name.partition("(")
    inside = rest.rstrip(")")
    return (predicate, *(inside.split(", ") if inside else ()))


class AtomInputs(Inputs):
    """Encoded states; `sizes` are numbers of objects."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.sizes = batch.sizes.astype(np.int64)

    def select(self, rows: NDArray[np.int64]) -> Batch:
        return self.batch.select(rows)


class AtomFeature(Feature):
    """Options: `breadth`, the largest arity that is seen, and `types`, whether types are."""

    name = "atoms"
    needs = "domain"
    options = {"breadth": 3, "types": True}  # noqa: RUF012

    def configure(
        self, tasks: Sequence[Task], options: dict[str, Any], cost: str
    ) -> dict[str, Any]:
        breadth, types = options["breadth"], options["types"]
        if not isinstance(types, bool) or not isinstance(breadth, int):
            raise ValueError("the option types is true or false, breadth a whole number")
        return Vocabulary.of(tasks[0].problem.domain, breadth, types).to_dict()

    def warnings(self, config: dict[str, Any]) -> list[str]:
        return [
            f"predicate {name} has more than {config['breadth']} arguments: the network ignores it"
            for name in config["omitted"]
        ]

    def check(self, config: dict[str, Any], space: Task) -> None:
        Vocabulary.from_dict(config).check(space.problem.domain)

    def inputs(self, config: dict[str, Any], states: Sequence[SpaceStates]) -> AtomInputs:
        vocabulary = Vocabulary.from_dict(config)
        parts = [Encoder(group.space, vocabulary).encode(group.states) for group in states]
        return AtomInputs(Batch.concatenate(parts))

    def encoder(self, config: dict[str, Any], space: Task) -> Callable[[Any], Batch]:
        return Encoder(space, Vocabulary.from_dict(config)).encode

    def native(self, config: dict[str, Any], space: Task) -> dict[str, Any]:
        encoder = Encoder(space, Vocabulary.from_dict(config))
        return {
            "num_objects": len(encoder.objects),
            "base_entries": encoder.base_entries,
            "base_values": encoder.base_values,
            "fact_entries": encoder.fact_entries,
        }


ATOMS = AtomFeature()

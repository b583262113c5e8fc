"""Features "atoms": which tuples of objects each predicate of the domain holds for.

Inputs are mostly zero, so they are kept as entries (arity, tuple index * channels + channel).
Tuples are numbered row by row; the channels are those of vocabulary.py. An atom that the grounded
task does not track keeps its initial truth. Objects that no atom mentions are left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar.pddl import model
from hstar.pddl.errors import UnsupportedPddlError, quote
from hstar.planning.task import Task, parse_atom
from hstar.slots.features.feature import (
    Config,
    Feature,
    Inputs,
    SpaceStates,
    check_options,
    gathered,
    starts_of,
)
from hstar.slots.features.vocabulary import Vocabulary

NOTHING = (-1, -1)  # in place of an entry
Literal = tuple[tuple[str, ...], bool]  # ("on", "a", "b"), wanted true


@dataclass(frozen=True, slots=True)
class Batch(Inputs):
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
        starts, places = gathered(self.starts, rows)
        return Batch(self.sizes[rows], starts, self.entries[places], self.values[places])

    @staticmethod
    def concatenate(batches: Sequence[Batch]) -> Batch:
        lengths = [np.diff(batch.starts) for batch in batches]
        return Batch(
            np.concatenate([np.zeros(0, np.int32), *(batch.sizes for batch in batches)]),
            starts_of(np.concatenate([np.zeros(0, np.int64), *lengths])),
            np.concatenate([np.zeros((0, 2), np.int32), *(batch.entries for batch in batches)]),
            np.concatenate([np.zeros(0, np.float32), *(batch.values for batch in batches)]),
        )


class Encoder:
    """The inputs of the states of one task. `base_entries` int32[E, 2] with `base_values` are the
    same in all states; `fact_entries` int32[F, 2] holds the entry of each fact of the task, -1
    where a fact adds none."""

    def __init__(self, task: Task, vocabulary: Vocabulary) -> None:
        vocabulary.check(task.problem.domain)
        self.vocabulary = vocabulary
        self.channels = vocabulary.channels
        self.first_facts = np.cumsum([0, *task.domain_sizes[:-1]])
        problem = task.problem
        facts = [parse_atom(task.core.atom_name(f)) for f in range(task.num_facts)]
        tracked = {atom for atom in facts if atom is not None}
        untracked = [atom for atom in problem.init if atom not in tracked]
        goal = list(dict.fromkeys(goal_literals(problem)))
        mentioned = set(problem.domain.constants)
        for atom in (*tracked, *untracked, *(atom for atom, _ in goal)):
            mentioned.update(atom[1:])
        self.objects = [name for name in problem.objects if name in mentioned]
        self._number = {name: i for i, name in enumerate(self.objects)}

        members = {kind: set(problem.objects_of((kind,))) for kind in vocabulary.types}
        of_types = [(t, o) for t in vocabulary.types for o in self.objects if o in members[t]]
        base = [(self._entry("state", *atom), 1.0) for atom in untracked]
        base += [(self._entry("goal", *atom), 1.0 if wanted else -1.0) for atom, wanted in goal]
        base += [(self._entry("type", kind, name), 1.0) for kind, name in of_types]
        base += [(self._entry("constant", name, name), 1.0) for name in vocabulary.constants]
        kept = [(entry, value) for entry, value in base if entry != NOTHING]
        self.base_entries = np.array([e for e, _ in kept], dtype=np.int32).reshape(-1, 2)
        self.base_values = np.array([value for _, value in kept], dtype=np.float32)
        entries = [NOTHING if atom is None else self._entry("state", *atom) for atom in facts]
        self.fact_entries = np.array(entries, dtype=np.int32).reshape(-1, 2)

    def encode(self, states: NDArray[np.int32]) -> Batch:
        """The inputs of states int32[S, V]."""
        count = len(states)
        entries = self.fact_entries[states + self.first_facts]  # (S, V, 2)
        present = entries[:, :, 0] >= 0  # (S, V)
        is_base = np.ones((count, len(self.base_entries)), dtype=bool)
        chosen = np.concatenate([is_base, present], axis=1)
        base = np.broadcast_to(self.base_entries, (count, *self.base_entries.shape))
        values = np.ones(chosen.shape, dtype=np.float32)
        values[:, : len(self.base_entries)] = self.base_values
        return Batch(
            np.full(count, len(self.objects), dtype=np.int32),
            starts_of(chosen.sum(axis=1)),
            np.concatenate([base, entries], axis=1)[chosen],
            values[chosen],
        )

    def _entry(self, kind: str, channel: str, *names: str) -> tuple[int, int]:
        found = self.vocabulary.channel(kind, channel)
        if found is None:
            return NOTHING
        arity, number = found
        index = 0
        for name in names:
            index = index * len(self.objects) + self._number[name]
        return arity, index * self.channels[arity] + number


def goal_literals(problem: model.Problem) -> Iterator[Literal]:
    """The goal as literals. Raises UnsupportedPddlError if it is no conjunction of literals. What
    holds or fails in all states alike is left out: it tells a network nothing."""
    goal = _settled(problem.goal, True, problem)
    for part in goal.parts if isinstance(goal, model.And) else (goal,):
        match part:
            case model.Atom(predicate, args):
                yield (predicate, *args), True
            case model.Not(model.Atom(predicate, args)):
                yield (predicate, *args), False
            case model.Or():
                raise UnsupportedPddlError(
                    "networks read goals that are conjunctions of literals, but this goal "
                    f"contains a choice: {quote(str(part))}; use a built-in heuristic",
                    problem.path,
                )


def _settled(formula: model.Formula, wanted: bool, problem: model.Problem) -> model.Formula:
    """What holds where a formula is as wanted: with negation at atoms only, without quantifiers,
    and with all worked out that is the same in all states at a glance."""
    joins = model.disjunction, model.conjunction
    match formula:
        case model.Constant(value):
            return model.TRUTH if value == wanted else model.FALSITY
        case model.Equal(left, right):
            return model.TRUTH if (left == right) == wanted else model.FALSITY
        case model.Not(inner):
            return _settled(inner, not wanted, problem)
        case model.Junction(parts):
            join = joins[isinstance(formula, model.And) == wanted]
            return join([_settled(part, wanted, problem) for part in parts])
        case model.Quantified(variables, body):
            join = joins[isinstance(formula, model.Forall) == wanted]
            names = [variable.name for variable in variables]
            domains = [problem.objects_of(variable.types) for variable in variables]
            bodies = (
                model.substitute(body, dict(zip(names, one, strict=True)))
                for one in itertools.product(*domains)
            )
            return join([_settled(one, wanted, problem) for one in bodies])
        case _:
            return formula if wanted else model.Not(formula)


class AtomFeature(Feature):
    """Options: `breadth`, the largest arity that is seen, and `types`, whether types are."""

    name = "atoms"
    options = {"breadth": 3, "types": True}  # noqa: RUF012

    def configure(self, tasks: Sequence[Task], options: Config, cost: str) -> Config:
        breadth, types = options["breadth"], options["types"]
        check_options(options, self.options, zero=("breadth",))
        return Vocabulary.of(tasks[0].problem.domain, breadth, types).to_dict()

    def warnings(self, config: Config) -> list[str]:
        return [
            f"predicate {name} has more than {config['breadth']} arguments: the network ignores it"
            for name in config["omitted"]
        ]

    def check(self, config: Config, space: Task) -> None:
        Vocabulary.from_dict(config).check(space.problem.domain)

    def inputs(self, config: Config, states: Sequence[SpaceStates]) -> Batch:
        parts = [self.encoder(config, group.space)(group.states) for group in states]
        return Batch.concatenate(parts)

    def encoder(self, config: Config, space: Task) -> Callable[[Any], Batch]:
        return Encoder(space, Vocabulary.from_dict(config)).encode

    def native(self, config: Config, space: Task) -> Config:
        encoder = Encoder(space, Vocabulary.from_dict(config))
        return {
            "num_objects": len(encoder.objects),
            "base_entries": encoder.base_entries,
            "base_values": encoder.base_values,
            "fact_entries": encoder.fact_entries,
        }


ATOMS = AtomFeature()

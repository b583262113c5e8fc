"""What a network sees of a state: which tuples of objects each predicate holds for.

Every predicate of arity r gives two channels over r-tuples of objects, "true in the state" and
"wanted by the goal" (-1 where the goal wants it false). Unary channels for the types and one for
each constant of the domain follow, because actions can tell those apart. Inputs are mostly zero, so
they are kept as entries (arity, tuple index * channels + channel); tuples are numbered row by row.

A state is what the grounded task tracks. An atom that it does not track keeps its initial truth: it
is static, or it cannot matter for the goal. Objects that no such atom mentions are left out, so
unused ones change nothing.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar.pddl.errors import UnsupportedPddlError, quote
from hstar.pddl.model import (
    And,
    Atom,
    Domain,
    Equal,
    Exists,
    Falsity,
    Forall,
    Formula,
    Not,
    Or,
    Problem,
    Truth,
    substitute,
)
from hstar.spaces.task import Task

Literal = tuple[tuple[str, ...], bool]  # ("on", "a", "b"), wanted true


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The channels of a domain. Predicates are sorted by name; those wider than `breadth` are
    left out (`omitted`)."""

    breadth: int
    predicates: tuple[tuple[str, int], ...]
    omitted: tuple[str, ...]
    types: tuple[str, ...]
    constants: tuple[str, ...]

    @staticmethod
    def of(domain: Domain, breadth: int = 3, types: bool = True) -> Vocabulary:
        arities = sorted((name, len(p.parameters)) for name, p in domain.predicates.items())
        return Vocabulary(
            breadth=breadth,
            predicates=tuple((name, arity) for name, arity in arities if arity <= breadth),
            omitted=tuple(name for name, arity in arities if arity > breadth),
            types=tuple(sorted(set(domain.types) - {"object"})) if types else (),
            constants=tuple(sorted(domain.constants)),
        )

    @staticmethod
    def from_dict(fields: dict[str, Any]) -> Vocabulary:
        return Vocabulary(
            breadth=int(fields["breadth"]),
            predicates=tuple((str(name), int(arity)) for name, arity in fields["predicates"]),
            omitted=tuple(fields["omitted"]),
            types=tuple(fields["types"]),
            constants=tuple(fields["constants"]),
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def channels(self) -> list[int]:
        """How many channels each arity 0..breadth has."""
        counts = [0] * (self.breadth + 1)
        for _, arity in self.predicates:
            counts[arity] += 2
        if self.breadth >= 1:
            counts[1] += len(self.types) + len(self.constants)
        return counts

    def state_channel(self, predicate: str) -> tuple[int, int] | None:
        """(arity, channel) of "true in the state"; None for a predicate left out."""
        arity = dict(self.predicates).get(predicate)
        if arity is None:
            return None
        same = [name for name, other in self.predicates if other == arity]
        return arity, same.index(predicate)

    def goal_channel(self, predicate: str) -> tuple[int, int] | None:
        """(arity, channel) of "wanted by the goal"; None for a predicate left out."""
        found = self.state_channel(predicate)
        if found is None:
            return None
        arity, channel = found
        return arity, channel + sum(other == arity for _, other in self.predicates)

    def unary_channel(self, name: str, kind: str) -> int:
        """The channel of a type (kind "type") or of a constant (kind "constant")."""
        first = 2 * sum(arity == 1 for _, arity in self.predicates)
        if kind == "type":
            return first + self.types.index(name)
        return first + len(self.types) + self.constants.index(name)

    def check(self, domain: Domain) -> None:
        """Raises ValueError if problems of this domain do not have these channels."""
        known = {**dict(self.predicates), **dict.fromkeys(self.omitted, -1)}
        for name, predicate in domain.predicates.items():
            if name not in known:
                raise ValueError(
                    f"domain {quote(domain.name)} has the predicate {quote(name)}, which the model "
                    "was not trained with"
                )
            if known[name] not in (-1, len(predicate.parameters)):
                raise ValueError(
                    f"predicate {quote(name)} has {len(predicate.parameters)} parameters in domain "
                    f"{quote(domain.name)}, {known[name]} where the model was trained"
                )
        for kind, ours, theirs in (
            ("predicate", known, domain.predicates),
            ("type", self.types, domain.types),
            ("constant", self.constants, domain.constants),
        ):
            for name in ours:
                if name not in theirs:
                    raise ValueError(
                        f"domain {quote(domain.name)} lacks the {kind} {quote(name)}, which the "
                        "model was trained with"
                    )


def domain_hash(domain: Domain) -> str:
    """Identifies what heuristics depend on: predicates, types, constants and actions."""
    parts = {
        "predicates": sorted(map(str, domain.predicates.values())),
        "types": sorted((name, sorted(parents)) for name, parents in domain.types.items()),
        "constants": sorted((name, sorted(types)) for name, types in domain.constants.items()),
        "actions": sorted(map(str, domain.actions)),
    }
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


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


def goal_literals(problem: Problem) -> Iterable[Literal]:
    """The goal as literals. Raises UnsupportedPddlError if it is no conjunction of literals.

    What holds or fails in all states alike is left out: it tells a network nothing.
    """

    def walk(formula: Formula, wanted: bool) -> Iterable[Literal]:
        match formula:
            case _ if _constant(formula) is not None:
                return
            case Atom(predicate, args):
                yield (predicate, *args), wanted
            case Not(inner):
                yield from walk(inner, not wanted)
            case And(parts) | Or(parts):
                # A wanted disjunction is a choice, and so is an unwanted conjunction, unless all
                # parts but one are settled.
                open_parts = [part for part in parts if _constant(part) is None]
                if isinstance(formula, And) != wanted and len(open_parts) > 1:
                    raise choice(formula)
                for part in open_parts:
                    yield from walk(part, wanted)
            case Forall(variables, body) | Exists(variables, body):
                domains = [problem.objects_of(variable.types) for variable in variables]
                parts = tuple(
                    substitute(body, {v.name: n for v, n in zip(variables, names, strict=True)})
                    for names in itertools.product(*domains)
                )
                yield from walk(And(parts) if isinstance(formula, Forall) else Or(parts), wanted)

    def choice(formula: Formula) -> UnsupportedPddlError:
        return UnsupportedPddlError(
            "networks read goals that are conjunctions of literals, but this goal contains a "
            f"choice: {quote(str(formula))}; use a built-in heuristic",
            problem.path,
        )

    return walk(problem.goal, True)


def _constant(formula: Formula) -> bool | None:
    """The truth of a formula without variables, if it is the same in all states at a glance."""
    match formula:
        case Truth() | Falsity():
            return isinstance(formula, Truth)
        case Equal(left, right):
            return left == right
        case Not(inner):
            value = _constant(inner)
            return None if value is None else not value
        case And(parts) | Or(parts):
            values = {_constant(part) for part in parts}
            decisive = isinstance(formula, Or)  # one true part decides a disjunction
            if decisive in values:
                return decisive
            return None if None in values else not decisive
        case _:
            return None


def _parse_atom(name: str) -> tuple[str, ...] | None:
    """("on", "a", "b") from "on(a, b)"; None for a negated atom or "none of those"."""
    if name.startswith(("not ", "<")):
        return None
    predicate, _, rest = name.partition("(")
    inside = rest.rstrip(")")
    return (predicate, *(inside.split(", ") if inside else ()))

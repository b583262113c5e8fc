"""A planning problem drawn by a generator: objects, initial atoms and goal atoms."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Atom: TypeAlias = tuple[str, ...]  # predicate, then objects: ("on", "b1", "b2")


@dataclass(frozen=True, slots=True)
class GeneratedProblem:
    """`objects` maps a type to its objects, "" to those of an untyped domain; goals are a
    conjunction. `init` and `goal` contain no atom twice."""

    objects: Mapping[str, Sequence[str]]
    init: Sequence[Atom]
    goal: Sequence[Atom]

    @property
    def solved(self) -> bool:
        """Whether the goal holds in the initial state already; an empty goal always does."""
        return set(self.goal) <= set(self.init)

    def to_pddl(self, name: str, domain: str) -> str:
        """The problem file. Equal instances with equal names give equal bytes."""
        objects = [
            " ".join(names) + (f" - {type_name}" if type_name else "")
            for type_name, names in self.objects.items()
            if names
        ]
        return (
            f"(define (problem {name})\n"
            f"  (:domain {domain})\n"
            f"  (:objects{_lines(objects)})\n"
            f"  (:init{_lines(map(atom_text, self.init))})\n"
            f"  (:goal (and{_lines(map(atom_text, self.goal))})))\n"
        )

    def digest(self) -> str:
        """Equal for instances whose initial and goal atoms are the same sets."""
        parts = (sorted(map(atom_text, self.init)), sorted(map(atom_text, self.goal)))
        return hashlib.sha256(repr(parts).encode()).hexdigest()


def atom_text(atom: Atom) -> str:
    return f"({' '.join(atom)})"


def _lines(items: Iterable[str]) -> str:
    return "".join(f"\n    {item}" for item in items)

"""Problems of growing size to judge a way of searching by.

The first rung has problems as they are. The next ones have unions of two, four, eight and more of
them (hstar.pddl.union): a folder seldom has problems as large as those that a user wants to solve.
Where unions can be joined, so that what is single stays single, some are and some are not: joined
ones are more like a problem of the domain, but may have no plan.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from hstar.pddl import Problem
from hstar.pddl.union import union

FIRST_RUNG, OTHER_RUNGS = 6, 3  # problems on a rung
MOST_RUNGS = 8
MOST_OBJECTS = 2000


@dataclass(frozen=True, slots=True)
class Rung:
    """Problems of about one size, with names that no others have."""

    name: str
    names: tuple[Hashable, ...]
    problems: tuple[Problem, ...]


class Ladder:
    """`problems` are in ascending order of size; the name tells ladders apart. Unions are joined at
    the atoms of the predicates `single`."""

    def __init__(
        self, name: str, problems: Sequence[Problem], seed: int, single: Sequence[str] = ()
    ) -> None:
        self.name, self.problems, self.seed = name, list(problems), seed
        self.single = list(single)
        self._made: dict[int, Rung | None] = {}

    def rung(self, number: int) -> Rung | None:
        """None above the last one."""
        if number not in self._made:
            self._made[number] = self._make(number) if number < MOST_RUNGS else None
        return self._made[number]

    def _make(self, number: int) -> Rung | None:
        problems = self._unions(2**number) if number else self.problems[-FIRST_RUNG:]
        if not problems:
            return None
        names = tuple((self.name, number, i) for i in range(len(problems)))
        return Rung(f"{self.name} {number}", names, tuple(problems))

    def _unions(self, parts: int) -> list[Problem]:
        """A problem may be part of a union more than once if there are too few."""
        rng = np.random.default_rng([self.seed, parts])
        found = []
        for number in range(OTHER_RUNGS):
            few = parts > len(self.problems)
            drawn = sorted(rng.choice(len(self.problems), parts, replace=few).tolist())
            chosen = [self.problems[i] for i in drawn]
            if sum(len(problem.objects) for problem in chosen) <= MOST_OBJECTS:
                found.append(union(chosen, self.single if number % 2 == 0 else ()))
        return found

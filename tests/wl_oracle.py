"""Weisfeiler-Leman colours by their definition: tuples instead of hashes, dictionaries of counts.

Everything comes from the names of facts, the lifted problem and the states; nothing from the core's
own graph.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar.pddl.model import And, Atom, Formula, Not
from hstar.spaces.task import Task
from hstar.teachers.states import parse_atom

Name = tuple[str, ...]  # predicate, arguments


def literals(formula: Formula) -> list[tuple[Name, bool]]:
    """Those of a conjunction, with whether they are wanted true."""
    match formula:
        case And(parts):
            return [literal for part in parts for literal in literals(part)]
        case Not(Atom(predicate, args)):
            return [((predicate, *args), False)]
        case Atom(predicate, args):
            return [((predicate, *args), True)]
        case _:
            return []


class Graph:
    """Of the states of one task."""

    def __init__(self, task: Task, rounds: int, hash: str, statics: bool) -> None:
        self.task, self.rounds, self.is_set, self.statics = task, rounds, hash == "set", statics
        self.names = [task.core.atom_name(fact) for fact in range(task.num_facts)]
        self.artificial = next((n for n in self.names if self._is_artificial(n)), None)
        positive = {self._parse(n) for n in self.names if not n.startswith(("not ", "<"))}
        negative = {self._parse(n[4:]) for n in self.names if n.startswith("not ")}
        self.only_negative = negative - positive
        untracked = set(task.problem.init) - positive - negative
        self.always = untracked if statics else set()
        self.goals: dict[Name, bool] = {}
        first = np.cumsum([0, *task.domain_sizes[:-1]])
        for variable, value in [] if task.goal_is_false else task.goal:
            name = self.names[first[variable] + value]
            if not name.startswith("<") or self._is_artificial(name):
                self.goals[self._parse(name.removeprefix("not "))] = not name.startswith("not ")
        if statics and self.artificial is None:
            for atom, wanted in literals(task.problem.goal):
                self.goals.setdefault(atom, wanted)
        self.first = first

    def _is_artificial(self, name: str) -> bool:
        return name.startswith("<") and name != "<none of those>"

    def _parse(self, name: str) -> Name:
        found = parse_atom(name)
        return (name,) if found is None else found

    def true_atoms(self, state: NDArray[np.int32]) -> set[Name]:
        held = [self.names[fact] for fact in self.first + state]
        false = {self._parse(name[4:]) for name in held if name.startswith("not ")}
        true = {
            self._parse(name)
            for name in held
            if self._is_artificial(name) or not name.startswith(("not ", "<"))
        }
        return true | self.always | (self.only_negative - false)

    def counts(self, state: NDArray[np.int32]) -> Counter[Any]:
        """How many vertices have each colour, over all rounds."""
        true = self.true_atoms(state)
        constants = self.task.problem.domain.constants
        vertices = [*self.task.problem.objects, *(true | set(self.goals))]
        edges: dict[Any, list[tuple[int, Any]]] = {vertex: [] for vertex in vertices}
        colours: dict[Any, Any] = {}
        for vertex in vertices:
            if isinstance(vertex, str):
                colours[vertex] = ("object", vertex if vertex in constants else None)
                continue
            colours[vertex] = (vertex[0], vertex in true, self.goals.get(vertex))
            for position, name in enumerate(vertex[1:]):
                edges[vertex].append((position, name))
                edges[name].append((position, vertex))
        counts = Counter(colours.values())
        for _ in range(self.rounds):
            seen = {
                vertex: Counter((position, colours[other]) for position, other in found)
                for vertex, found in edges.items()
            }
            colours = {
                vertex: (
                    colours[vertex],
                    frozenset(around if self.is_set else around.items()),
                )
                for vertex, around in seen.items()
            }
            counts.update(colours.values())
        return counts

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
from hstar.planning.task import Task, parse_atom

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

    def __init__(
        self, task: Task, rounds: int, hash: str, statics: bool, orders: bool = False
    ) -> None:
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
        self.before = goal_orders(task) if orders else set()

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

    def premature(self, state: NDArray[np.int32]) -> set[Name]:
        """Goals that hold although one that comes before them, directly or not, does not."""
        early: set[tuple[int, int]] = set()
        while True:
            more = {
                after
                for goal, after in self.before
                if (state[goal[0]] != goal[1] or goal in early) and state[after[0]] == after[1]
            }
            if more <= early:
                break
            early |= more
        names = [self.names[self.first[variable] + value] for variable, value in early]
        return {self._parse(name) for name in names if not name.startswith(("not ", "<"))}

    def counts(self, state: NDArray[np.int32]) -> Counter[Any]:
        """How many vertices have each colour, over all rounds."""
        return sum((Counter(one.values()) for one in self.colours(state)), Counter())

    def operator_colours(self, state: NDArray[np.int32], name: str) -> list[Any]:
        """Of an operator such as "(stack a b)" as one more vertex, after 0 to rounds + 1 rounds."""
        action, *args = name[1:-1].split()
        found: list[Any] = [("action", action)]
        for colours in self.colours(state):
            around = frozenset((position, colours[arg]) for position, arg in enumerate(args))
            found.append((found[-1], around))
        return found

    def colours(self, state: NDArray[np.int32]) -> list[dict[Any, Any]]:
        """Of all vertices, after each round."""
        true, premature = self.true_atoms(state), self.premature(state)
        constants = self.task.problem.domain.constants
        vertices = [*self.task.problem.objects, *(true | set(self.goals))]
        edges: dict[Any, list[tuple[int, Any]]] = {vertex: [] for vertex in vertices}
        colours: dict[Any, Any] = {}
        for vertex in vertices:
            if isinstance(vertex, str):
                colours[vertex] = ("object", vertex if vertex in constants else None)
                continue
            look = "premature" if vertex in premature else vertex in true
            colours[vertex] = (vertex[0], look, self.goals.get(vertex))
            for position, name in enumerate(vertex[1:]):
                edges[vertex].append((position, name))
                edges[name].append((position, vertex))
        rounds = [colours]
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
            rounds.append(colours)
        return rounds


Fact = tuple[int, int]  # variable, value


def goal_orders(task: Task) -> set[tuple[Fact, Fact]]:
    """Pairs of goals (b, a) such that every way to achieve b finds or leaves a false."""
    first = np.cumsum([0, *task.domain_sizes[:-1]]).tolist()
    groups = [set(group) for group in task.core.mutex_groups]

    def excludes(one: Fact, other: Fact) -> bool:
        if one[0] == other[0]:
            return one[1] != other[1]
        pair = {first[one[0]] + one[1], first[other[0]] + other[1]}
        return any(pair <= group for group in groups)

    goals = [] if task.goal_is_false else [(int(v), int(value)) for v, value in task.goal]
    found = set()
    for b in goals:
        achievers = []
        for number in range(task.num_operators):
            operator = task.operator(number)
            always = [(v, value) for conditions, v, value in operator.effects if not conditions]
            before = [(int(v), int(value)) for v, value in operator.preconditions]
            for conditions, v, value in operator.effects:
                if (v, value) == b:
                    achievers.append(([*before, *map(tuple, conditions)], always))
        for a in goals:
            if a != b and achievers and all(
                a not in always and any(excludes(fact, a) for fact in (*before, *always))
                for before, always in achievers
            ):  # fmt: skip
                found.add((b, a))
    return found

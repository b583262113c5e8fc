"""Small spaces with the exact number of steps to the goal, and the optimal values that follow.

Steps are counted by breadth-first search in plain Python, and values are computed as fractions.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import oracle
from numpy.typing import NDArray

from hstar.planning.heuristics import make_heuristic
from hstar.planning.task import Task, load_task
from hstar.training.reinforcement.shaping import POTENTIALS, REWARDS, Shaping
from hstar.training.reinforcement.tabular import tabulate, value_iteration

# Of absolute values up to 1, relative above. Dead ends have values as large as 1 / (1 - gamma).
TOLERANCE = 1e-9
GAMMAS = (0.999, 0.999999)
MOST_STATES = 2000
REACH_GOAL = "(reach-goal)"
EVERY = [
    Shaping(gamma, reward, potential)
    for gamma in GAMMAS
    for reward in REWARDS
    for potential in POTENTIALS
]

Values = NDArray[np.float64]

ROOMS = """(define (domain rooms) (:requirements :strips :action-costs)
 (:predicates (at ?r) (door ?a ?b)) (:functions (length ?a ?b) - number (total-cost) - number)
 (:action go :parameters (?a ?b) :precondition (and (at ?a) (door ?a ?b))
  :effect (and (at ?b) (not (at ?a)) (increase (total-cost) (length ?a ?b)))))"""


class Exact:
    """A task with its table, and the number of steps to the goal from each state of it."""

    def __init__(self, task: Task) -> None:
        self.task, self.table = task, tabulate(task, max_states=MOST_STATES)
        space = oracle.from_task(task)
        found = oracle.explore(space, MOST_STATES)
        states = [oracle.fdr_state(state) for state in self.table.states]
        assert set(states) == set(found.transitions)
        assert len(states) == len(found.transitions)
        # An artificial operator is no step: a state that has one is a goal.
        goals = {
            state
            for state, out in found.transitions.items()
            if space.is_goal(state) or any(name == REACH_GOAL for name, _, _ in out)
        }
        self.successors = [
            [
                states.index(next_)
                for name, _, next_ in found.transitions[state]
                if name != REACH_GOAL
            ]
            for state in states
        ]
        before: dict[oracle.State, list[tuple[float, oracle.State]]] = {s: [] for s in states}
        for state, out in found.transitions.items():
            for name, _, after in out:
                if name != REACH_GOAL:
                    before[after].append((1.0, state))
        steps = oracle.dijkstra(dict.fromkeys(goals, 0.0), lambda state: before[state])
        self.steps = np.array([steps.get(state, math.inf) for state in states])
        assert (self.table.is_goal == (self.steps == 0)).all()

    def h(self, name: str) -> Values:
        """In steps, and 0 in goals: there is no potential."""
        if name == "h*":
            return self.steps
        h = make_heuristic(self.task, name, cost="one").evaluate(self.table.states)
        return np.where(self.table.is_goal, 0.0, h.astype(np.float64))


def rooms(folder: Path, doors: str, goal: str = "(and (at g))", start: str = "s") -> Exact:
    """Doors as in "sa ag": one-way, from s to a and from a to g; the first costs 1, then 2, ..."""
    pairs = [(door[0], door[1]) for door in doors.split()]
    init = [
        f"(door {a} {b}) (= (length {a} {b}) {cost})" for cost, (a, b) in enumerate(pairs, start=1)
    ]
    objects = " ".join(sorted({"s", "g", *doors.replace(" ", "")}))
    (folder / "domain.pddl").write_text(ROOMS)
    (folder / "problem.pddl").write_text(
        f"(define (problem p) (:domain rooms) (:objects {objects}) (:init (= (total-cost) 0) "
        f"(at {start}) {' '.join(init)}) (:goal {goal}) (:metric minimize (total-cost)))"
    )
    paths = folder / "domain.pddl", folder / "problem.pddl"
    return Exact(load_task(*paths, keep_irrelevant=True))


def exact_discounted(gamma: float, steps: float) -> Fraction:
    """1 + gamma + ... + gamma^(steps - 1), of the very number that the float is."""
    g = Fraction(gamma)
    return 1 / (1 - g) if math.isinf(steps) else (1 - g ** int(steps)) / (1 - g)


def optimum(shaping: Shaping, steps: Values) -> Values:
    """V* without shaping, from the number of steps to the goal."""

    def value(d: float) -> float:
        if d == 0:
            return 0.0
        if shaping.reward == "goal":
            return 0.0 if math.isinf(d) else float(Fraction(shaping.gamma) ** int(d - 1))
        return -float(exact_discounted(shaping.gamma, d - (shaping.reward == "free-last")))

    known = {d: value(d) for d in set(steps.tolist())}
    return np.array([known[d] for d in steps.tolist()])


def assert_close(values: Values, expected: Values) -> None:
    assert (np.abs(values - expected) <= TOLERANCE * np.maximum(1, np.abs(expected))).all()


def check_values(space: Exact, shaping: Shaping, name: str) -> None:
    """Value iteration finds V*, and shaping with a heuristic lowers it by the potential."""
    h = space.h(name)
    values = value_iteration(space.table, shaping, h)
    assert_close(values + shaping.phi(h), optimum(shaping, space.steps))

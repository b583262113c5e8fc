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
from hstar.training.reinforcement.rtdp import POTENTIALS, REWARDS, Shaping

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
    """A task with its reachable states int32[N, V], the initial one first, their successors, and
    the number of steps to the goal from each."""

    def __init__(self, task: Task) -> None:
        self.task = task
        space = oracle.from_task(task)
        found = oracle.explore(space, MOST_STATES)
        states = list(found.transitions)
        number = {state: i for i, state in enumerate(states)}
        self.states = np.array([[value for _, value in sorted(s)] for s in states], dtype=np.int32)
        # An artificial operator is no step: a state that has one is a goal.
        goals = {
            state
            for state, out in found.transitions.items()
            if space.is_goal(state) or any(name == REACH_GOAL for name, _, _ in out)
        }
        self.successors = [
            [number[next_] for name, _, next_ in found.transitions[state] if name != REACH_GOAL]
            for state in states
        ]
        before: dict[oracle.State, list[tuple[float, oracle.State]]] = {s: [] for s in states}
        for state, out in found.transitions.items():
            for name, _, after in out:
                if name != REACH_GOAL:
                    before[after].append((1.0, state))
        steps = oracle.dijkstra(dict.fromkeys(goals, 0.0), lambda state: before[state])
        self.steps = np.array([steps.get(state, math.inf) for state in states])

    def h(self, name: str) -> Values:
        """In steps, and 0 in goals: there is no potential."""
        if name == "h*":
            return self.steps
        h = make_heuristic(self.task, name, cost="one").evaluate(self.states)
        return np.where(self.steps == 0, 0.0, h.astype(np.float64))


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


def value_iteration(space: Exact, shaping: Shaping, h: Values) -> Values:
    """The optimal values after shaping with h, on shaped rewards as they are defined. Goals have
    the value 0, and dead ends that of endless steps, less the potential."""
    goal, dead = space.steps == 0, np.isinf(space.steps)
    phi = np.where(goal, 0.0, shaping.phi(h))
    earned = {"step": -1.0, "free-last": np.where(goal, 0.0, -1.0), "goal": goal.astype(float)}
    gained = earned[shaping.reward] + shaping.gamma * phi  # by entering a state
    alive = np.flatnonzero(~goal & ~dead)
    after = [space.successors[s] for s in alive]
    first = np.cumsum([0, *map(len, after)])[:-1]
    V = np.where(dead, optimum(shaping, space.steps) - phi, 0.0)
    for _ in range(len(V) + 1 if len(alive) else 0):
        before = V.copy()
        Q = (gained + shaping.gamma * V)[np.concatenate(after)]
        V[alive] = np.maximum.reduceat(Q, first) - phi[alive]
        if np.array_equal(V, before):
            break
    return V


def check_values(space: Exact, shaping: Shaping, name: str) -> None:
    """Value iteration finds V*, and shaping with a heuristic lowers it by the potential."""
    h = space.h(name)
    values = value_iteration(space, shaping, h)
    assert_close(values + shaping.phi(h), optimum(shaping, space.steps))

"""Heuristics whose values belong to edges, against a search written down plainly."""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from example_tasks import ADL, COSTS, STRIPS, States, Values
from hard_tasks import write_task
from random_tasks import random_task

import hstar
from hstar import search

EdgeValue = Callable[[bytes, int], float]


def drawn_value(seed: int, levels: int, dead: float = 0.0) -> EdgeValue:
    """A value for every edge, few enough of them that ties are common. A share of the edges has an
    infinite one."""

    def value(parent: bytes, op: int) -> float:
        drawn = random.Random(f"{seed} {parent.hex()} {op}")
        return math.inf if drawn.random() < dead else -float(drawn.randrange(levels))

    return value


@dataclass
class ByEdge:
    """The heuristic as the search takes it; notes whose edges it was asked for."""

    value: EdgeValue
    parents: list[bytes] = field(default_factory=list)
    asked: int = 0

    def __call__(self, states: States) -> Values:
        assert len(states) == 1, "only the initial state has no parent"
        return np.full(1, 7.0, dtype=np.float32)

    def evaluate_edges(self, parents: States, counts: Any, ops: Any, children: States) -> Values:
        assert parents.dtype == counts.dtype == ops.dtype == children.dtype == np.int32
        assert len(parents) == len(counts) and counts.sum() == len(ops) == len(children)
        owners = [parent.tobytes() for parent in np.repeat(parents, counts, axis=0)]
        self.asked += len(ops)
        for parent in owners:
            if self.parents[-1:] != [parent]:
                self.parents.append(parent)
        edges = zip(owners, ops.tolist(), strict=True)
        return np.array([self.value(*edge) for edge in edges], dtype=np.float32)


class Plain:
    """GBFS and GBFLS by the reward-shaping paper, appendix A.3, on dicts."""

    def __init__(self, task: hstar.Task, value: EdgeValue, lookahead: int = 0) -> None:
        self.task, self.value, self.lookahead = task, value, lookahead
        self.h: dict[bytes, float] = {}
        self.status: dict[bytes, str] = {}
        self.reached_by: dict[bytes, tuple[bytes, int]] = {}
        self.open: list[tuple[float, int, bytes]] = []
        self.turn = itertools.count()
        self.evaluated = self.requested = 1
        self.expanded = self.generated = self.deadends = 0
        self.parents: list[bytes] = []

    def successors(self, s: bytes) -> list[tuple[int, bytes]]:
        ops, children = self.task.successors(np.frombuffer(s, dtype=np.int32))
        return [(int(op), child.tobytes()) for op, child in zip(ops, children, strict=True)]

    def is_goal(self, s: bytes) -> bool:
        return self.task.is_goal(np.frombuffer(s, dtype=np.int32))

    def push(self, s: bytes, h: float) -> None:
        self.h[s], self.status[s] = h, "open"
        if h < math.inf:
            heapq.heappush(self.open, (h, next(self.turn), s))

    def meet(self, s: bytes, status: str) -> tuple[bytes | None, list[tuple[int, bytes]]]:
        """Expand a state: the goal that was generated, if any, and edges to states known before."""
        edges = self.successors(s)
        self.expanded += 1
        self.generated += len(edges)
        new, known = [], []
        for op, t in edges:
            if t not in self.status:
                self.reached_by[t] = s, op
                self.status[t] = status
                if self.is_goal(t):
                    return t, []
                new.append((op, t))
            else:
                known.append((op, t))
            self.requested += 1
        for op, t in new:
            h = self.value(s, op)
            self.evaluated += 1
            self.h[t] = h
            if h == math.inf:
                self.status[t] = "dead"
                self.deadends += 1
            elif status == "open":
                self.push(t, h)
        return None, known

    def best(self, s: bytes) -> bytes | None:
        alive = [(op, t) for op, t in self.successors(s) if self.status[t] != "dead"]
        values = [self.value(s, op) for op, _ in alive]
        least = min(values, default=math.inf)
        return alive[values.index(least)][1] if least < math.inf else None

    def run(self) -> bytes | None:
        initial = self.task.initial_state.tobytes()
        self.status[initial] = "open"
        if self.is_goal(initial):
            return initial
        self.push(initial, 7.0)
        while self.open:
            _, _, s = heapq.heappop(self.open)
            if self.status[s] != "open":
                continue
            self.status[s] = "closed"
            self.parents.append(s)
            goal, known = self.meet(s, "open")
            if goal is not None:
                return goal
            for op, t in known:
                h = self.value(s, op)
                if self.status[t] == "seen" or (self.status[t] == "open" and h < self.h[t]):
                    self.push(t, h)
            if self.lookahead and (goal := self.look_ahead(s)) is not None:
                return goal
        return None

    def look_ahead(self, s: bytes) -> bytes | None:
        at = self.best(s)
        for _ in range(1, self.lookahead):
            if at is None:
                return None
            goal, _ = self.meet(at, "seen")
            if goal is not None:
                return goal
            at = self.best(at)
        return None

    def plan(self, goal: bytes) -> list[str]:
        steps = []
        while goal in self.reached_by:
            goal, op = self.reached_by[goal]
            steps.append(self.task.operator_name(op))
        return [step for step in reversed(steps) if step != "(reach-goal)"]


def check(task: hstar.Task, value: EdgeValue, algorithm: str) -> None:
    lookahead = 0
    if algorithm == "gbfls":
        h = float(hstar.make_heuristic(task, "ff", "one").evaluate(task.initial_state)[0])
        lookahead = int(5 * h) if math.isfinite(h) else 50
    plain = Plain(task, value, lookahead)
    goal = plain.run()
    by_edge = ByEdge(value)
    found = search(task, by_edge, algorithm)
    assert found.solved == (goal is not None)
    assert found.plan == (None if goal is None else plain.plan(goal))
    for name in ("evaluated", "requested", "expanded", "generated", "deadends"):
        assert getattr(found, name) == getattr(plain, name), name
    assert found.initial_h == 7.0
    if algorithm == "gbfs":  # edges to closed states are not asked for
        asked = iter(plain.parents)
        assert all(parent in asked for parent in by_edge.parents), "in the order of expansions"


def small_tasks(folder: Path) -> list[hstar.Task]:
    tasks = [hstar.load_task(*files) for files in (STRIPS, COSTS, ADL)]
    for seed in range(8):
        drawn = random_task(seed)
        here = folder / str(seed)
        here.mkdir()
        tasks.append(hstar.load_task(*write_task(here, drawn.domain, drawn.problem)))
    return tasks


@pytest.mark.parametrize("algorithm", ["gbfs", "gbfls"])
def test_edges_order_a_search(algorithm: str, tmp_path: Path) -> None:
    """Plan and every counter are those of the plain search, whichever edge came first."""
    for task in small_tasks(tmp_path):
        for seed, (levels, dead) in enumerate([(3, 0.0), (1000, 0.0), (50, 0.2)]):
            check(task, drawn_value(seed, levels, dead), algorithm)


@pytest.mark.parametrize("algorithm", ["gbfs", "gbfls", "beam"])
def test_values_that_depend_on_the_child_alone(algorithm: str, towers: hstar.Task) -> None:
    """Then the search is that of the heuristic of states."""
    goalcount = hstar.make_heuristic(towers, "goalcount")

    class OfChildren:
        def __call__(self, states: States) -> Values:
            return goalcount.evaluate(states)

        def evaluate_edges(self, parents: Any, counts: Any, ops: Any, children: States) -> Values:
            return goalcount.evaluate(children)

    by_state, by_edge = (search(towers, h, algorithm) for h in ("goalcount", OfChildren()))
    for name in ("plan", "evaluated", "requested", "expanded", "generated", "initial_h"):
        assert getattr(by_state, name) == getattr(by_edge, name), name


@pytest.mark.parametrize("algorithm", ["gbfs", "gbfls", "beam"])
def test_edges_beside_a_heuristic_of_states(algorithm: str, towers: hstar.Task) -> None:
    by_edge = ByEdge(drawn_value(1, 10))
    found = search(towers, ["ff", by_edge], algorithm)
    assert found.solved
    alone = search(towers, "ff", algorithm)
    same_order = search(towers, ["ff", by_edge], algorithm, queues=[(0, False)])
    if algorithm != "beam":  # a beam takes a smallest value of any heuristic for progress
        assert (same_order.plan, same_order.expanded) == (alone.plan, alone.expanded)


ROADS = """(define (domain roads) (:predicates (at ?x) (road ?x ?y))
(:action go :parameters (?x ?y) :precondition (and (at ?x) (road ?x ?y))
  :effect (and (at ?y) (not (at ?x)))))"""
MAP = """(define (problem map) (:domain roads) (:objects a b c d e f)
(:init (at a) (road a b) (road a c) (road a d) (road b c) (road d f) (road c e))
(:goal (at e)))"""


def test_the_better_edge_counts(tmp_path: Path) -> None:
    """c is found by a poor edge, and comes before d once a good edge leads to it."""
    task = hstar.load_task(*write_task(tmp_path, ROADS, MAP))
    values = {"(go a b)": 1.0, "(go a c)": 5.0, "(go a d)": 3.0, "(go b c)": 0.0}
    by_edge = ByEdge(lambda parent, op: values[task.operator_name(op)])
    found = search(task, by_edge, "gbfs")
    assert found.expanded == 3
    assert found.plan == ["(go a c)", "(go c e)"], "the plan keeps the first edge"


@pytest.mark.parametrize("limit", [1, 2, 5, 9])
@pytest.mark.parametrize("algorithm", ["gbfs", "gbfls"])
def test_limits_hold(algorithm: str, limit: int, towers: hstar.Task) -> None:
    never = ByEdge(lambda parent, op: 0.0)
    found = search(towers, never, algorithm, max_evaluations=limit)
    assert found.status == "gave up" and found.requested == limit


@pytest.mark.parametrize("algorithm", ["astar", "wastar", "lazy", "idastar"])
def test_searches_that_add_costs_or_wait_refuse_edges(algorithm: str, towers: hstar.Task) -> None:
    with pytest.raises(ValueError, match=r"values to edges, .* choose gbfs, gbfls or beam"):
        search(towers, ByEdge(drawn_value(0, 3)), algorithm)


def test_a_blind_search_needs_no_values(towers: hstar.Task) -> None:
    by_edge = ByEdge(drawn_value(0, 3))
    assert search(towers, by_edge, "bfs").solved and by_edge.asked == 0


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: np.zeros(n + 1), r"must return an array of shape \(.,\), one number for each"),
        (lambda n: np.zeros((n, 1)), r"returned an array of shape \(., 1\)"),
        (lambda n: np.full(n, np.nan), "returned NaN; use inf for dead ends"),
    ],
)
def test_wrong_answers(answer: Any, message: str, towers: hstar.Task) -> None:
    class Wrong(ByEdge):
        def evaluate_edges(self, parents: Any, counts: Any, ops: Any, children: States) -> Any:
            return answer(len(ops))

    with pytest.raises(ValueError, match=message):
        search(towers, Wrong(drawn_value(0, 3)), "gbfs")


def test_an_exception_arrives_as_it_is(towers: hstar.Task) -> None:
    def broken(parent: bytes, op: int) -> float:
        raise ZeroDivisionError("my own mistake")

    with pytest.raises(ZeroDivisionError, match="my own mistake"):
        search(towers, ByEdge(broken), "gbfls")


def test_dead_ends_of_edges_prove_nothing(towers: hstar.Task) -> None:
    found = search(towers, ByEdge(lambda parent, op: math.inf), "gbfs")
    assert found.status == "gave up" and found.deadends == found.generated

"""Orders of goals, which Weisfeiler-Leman graphs show: the plain definition, by hand.

tests/slots/features/test_wl.py compares the core with this definition.
"""

from __future__ import annotations

import random
from pathlib import Path

import small_domains
from untrained_models import read_task
from wl_oracle import Graph


def test_orders_of_goals(tmp_path: Path) -> None:
    """A block on another one comes too early while the one below is not where it should be."""
    goal = "(and (on a b) (on b c) (on c d))"
    init = "(on a b) (ontable b) (ontable c) (ontable d) (clear a) (clear c) (clear d) (handempty)"
    domain = small_domains.ALL["blocks"](random.Random(0))[0]
    problem = (
        f"(define (problem p) (:domain blocks) (:objects a b c d) (:init {init}) (:goal {goal}))"
    )
    task = read_task(tmp_path, domain, problem)
    graph = Graph(task, 0, "set", False, orders=True)
    assert graph.premature(task.initial_state) == {("on", "a", "b")}
    names = {graph.names[graph.first[v] + value]: (v, value) for v, value in task.goal}
    lower, middle, upper = (names[f"on({x}, {y})"] for x, y in ("cd", "bc", "ab"))
    assert graph.before == {(lower, middle), (middle, upper)}
    # With b on c, the goals at the top wait for c.
    state = task.initial_state.copy()
    for variable, value in (middle, upper):
        state[variable] = value
    assert graph.premature(state) == {("on", "a", "b"), ("on", "b", "c")}
    state[lower[0]] = lower[1]
    assert graph.premature(state) == set()

"""hstar from Python: functions of one's own as heuristics."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from example_tasks import STRIPS, States, Values
from small_domains import BLOCKS, problem_text

import hstar


def test_own_heuristic(towers: hstar.Task) -> None:
    """Five lines, and it searches exactly as the native one does."""

    def open_goals(states: States) -> Values:
        h = np.zeros(len(states), dtype=np.float32)
        for variable, value in towers.goal:
            h += states[:, variable] != value
        return h

    own = hstar.search(towers, open_goals, "gbfs")
    native = hstar.search(towers, "goalcount", "gbfs")
    assert own.solved
    assert (own.plan, own.expanded, own.evaluated) == (
        native.plan,
        native.expanded,
        native.evaluated,
    )


@pytest.mark.parametrize("search", [name for name in hstar.SEARCHES if name != "bfs"])
def test_own_heuristic_in_every_search(search: str) -> None:
    seen = []

    def zero(states: States) -> Values:
        seen.append(states)
        return np.zeros(len(states), dtype=np.float32)

    options = {"batch": 4} if "batch" in hstar.SEARCHES[search].options else {}
    result = hstar.plan(*STRIPS, zero, search, **options)
    assert result.solved
    assert sum(map(len, seen)) == result.evaluated
    assert all(states.dtype == np.int32 and states.ndim == 2 for states in seen)


@pytest.mark.parametrize(
    "answer",
    [
        lambda states: [0.0] * len(states),
        lambda states: np.zeros(len(states), dtype=np.int64),
        lambda states: np.zeros(len(states), dtype=np.float64),
        lambda states: np.zeros(2 * len(states), dtype=np.float32)[::2],
        lambda states: -np.ones(len(states)),
        lambda states: np.full(len(states), 1e30),
    ],
)
def test_any_numbers_will_do(answer: Any) -> None:
    assert hstar.plan(*STRIPS, answer).solved


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda states: np.zeros(len(states) + 1), r"shape \(1,\), one number for each"),
        (lambda states: np.zeros((len(states), 1)), r"returned an array of shape \(1, 1\)"),
        (lambda states: np.zeros(0), r"returned an array of shape \(0,\)"),
        (lambda states: np.full(len(states), np.nan), "returned NaN; use inf for dead ends"),
        (lambda states: None, "returned None"),
        (lambda states: ["high"] * len(states), "could not convert string to float"),
    ],
)
def test_wrong_answers_of_a_heuristic(answer: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hstar.plan(*STRIPS, answer)


@pytest.mark.parametrize("after", [0, 3])
def test_an_exception_in_a_heuristic_arrives_as_it_is(after: int) -> None:
    calls = 0

    def broken(states: States) -> Values:
        nonlocal calls
        calls += 1
        if calls > after:
            raise ZeroDivisionError("my own mistake")
        return np.zeros(len(states), dtype=np.float32)

    with pytest.raises(ZeroDivisionError, match="my own mistake"):
        hstar.plan(*STRIPS, broken)
    assert calls == after + 1
    assert hstar.plan(*STRIPS).solved, "and nothing is broken afterwards"


@pytest.mark.parametrize("search", ["gbfs", "lazy", "astar", "wastar", "gbfls"])
def test_dead_ends_of_ones_own_are_no_proof(search: str) -> None:
    """A learned heuristic may be wrong, so its dead ends end the search without a verdict."""
    result = hstar.plan(*STRIPS, lambda states: np.full(len(states), np.inf), search)
    assert (result.status, result.exit_code, result.deadends) == ("gave up", 12, 1)
    assert result.initial_h == math.inf
    assert '"initial_h": null' in result.to_json()


def test_without_dead_ends_the_proof_holds(tmp_path: Path) -> None:
    (tmp_path / "d.pddl").write_text(BLOCKS)
    problem = tmp_path / "p.pddl"
    init = ["(ontable a)", "(clear a)", "(ontable b)", "(clear b)", "(handempty)"]
    problem.write_text(problem_text("blocks", "a b", init, ["(on a b)", "(on b a)"]))
    zeros = hstar.plan(tmp_path / "d.pddl", problem, lambda states: np.zeros(len(states)))
    assert (zeros.status, zeros.exit_code) == ("unsolvable", 11)

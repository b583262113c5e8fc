"""IDA* on planning tasks: how much it repeats, how deep it goes, and where it stops."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from small_domains import problem_text

import hstar
from hstar import search
from hstar.pddl import parse
from hstar.planning.result import SearchResult
from hstar.planning.task import Task, ground
from hstar.runtime.resources import Budget

SWITCHES = """(define (domain switches) (:predicates (off ?x) (on ?x))
(:action press :parameters (?x) :precondition (off ?x) :effect (and (on ?x) (not (off ?x)))))"""

LINE = """(define (domain line) (:predicates (at ?x) (next ?x ?y)) (:functions (total-cost))
(:action go :parameters (?x ?y) :precondition (and (at ?x) (next ?x ?y))
 :effect (and (at ?y) (not (at ?x)) (increase (total-cost) 0))))"""


def read(folder: Path, domain: str, problem: str) -> Task:
    (folder / "domain.pddl").write_text(domain)
    (folder / "problem.pddl").write_text(problem)
    return ground(parse(folder / "domain.pddl", folder / "problem.pddl"))


def switches(folder: Path, count: int) -> Task:
    names = [f"s{i}" for i in range(count)]
    init, goal = [f"(off {name})" for name in names], [f"(on {name})" for name in names]
    return read(folder, SWITCHES, problem_text("switches", " ".join(names), init, goal))


def test_operators_that_commute_are_tried_in_one_order(tmp_path: Path) -> None:
    """Each set of pressed switches is met once for each bound, not in every order."""
    count = 9
    result = search(switches(tmp_path, count), "blind", "idastar")
    assert result.plan_cost == count
    assert result.expanded <= count * 2**count


def test_paths_may_be_long(tmp_path: Path) -> None:
    """Operators without cost lead through the whole space at once, in a thread of little stack."""
    count = 6000
    names = [f"p{i}" for i in range(count)]
    init = ["(at p0)", *(f"(next p{i} p{i + 1})" for i in range(count - 1))]
    metric = "(:metric minimize (total-cost))"
    goal = [f"(at p{count - 1})"]
    task = read(tmp_path, LINE, problem_text("line", " ".join(names), init, goal, metric))
    found: list[SearchResult] = []
    usual = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=lambda: found.append(search(task, "blind", "idastar")))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(usual)
    assert (found[0].plan_length, found[0].plan_cost) == (count - 1, 0)


def test_tasks_without_variables(tmp_path: Path) -> None:
    done = read(tmp_path, SWITCHES, problem_text("switches", "a", ["(on a)"], ["(on a)"]))
    assert search(done, "blind", "idastar").plan == []
    never = read(tmp_path, SWITCHES, problem_text("switches", "a", [], ["(on a)"]))
    assert search(never, "blind", "idastar").status == "unsolvable"


def test_limits(tmp_path: Path) -> None:
    task = switches(tmp_path, 40)
    for limit in (1, 2, 41, 42, 1000):
        result = search(task, "blind", "idastar", max_evaluations=limit)
        assert (result.status, result.requested) == ("gave up", limit)
        result = search(task, "blind", "idastar", max_expansions=limit)
        assert (result.status, result.expanded) == ("gave up", limit)
    late = Budget.starting_now(0.3, None)
    assert search(task, "blind", "idastar", budget=late).status == "out of time"
    small = Budget.starting_now(None, 2**20)
    assert search(task, "blind", "idastar", budget=small).status == "out of memory"


@pytest.mark.parametrize("heuristic", ["blind", "hmax", "lmcut"])
def test_the_same_costs_as_astar(heuristic: str) -> None:
    data = Path(__file__).parents[1] / "data"
    for name in ("strips", "costs", "adl"):
        files = data / name / "domain.pddl", data / name / "problem.pddl"
        deepening = hstar.plan(*files, heuristic, "idastar")
        assert deepening.plan_cost == hstar.plan(*files, "lmcut", "astar").plan_cost

"""The one front of search: several heuristics, seeds, defaults, and heuristics from elsewhere."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from program import DATA
from program import hstar as program

import hstar
from hstar import search
from hstar.pdb import build_pdb, write_pdb
from hstar.pdb.pattern import parse_pattern
from hstar.planning.puzzle import make_puzzle
from hstar.planning.result import SearchResult
from hstar.planning.specification import DEFAULT_PLANNER, SearchSpecification

FILES = DATA / "strips" / "domain.pddl", DATA / "strips" / "problem.pddl"

OUTSIDE = """\
import numpy as np

def distance(states):
    return np.abs(states).sum(axis=1)

def made_for(space):
    assert space.num_variables == len(space.domain_sizes)
    return distance

class Bindable:
    label = "bindable"
    def bind(self, space):
        return distance

bindable = Bindable()
nothing = 3
"""


@pytest.fixture(scope="module")
def task() -> hstar.Task:
    return hstar.load_task(*FILES)


def counters(result: SearchResult) -> tuple[Any, ...]:
    return (result.plan, result.evaluated, result.requested, result.expanded, result.generated)


# -- several heuristics


@pytest.mark.parametrize("algorithm", ["gbfs", "lazy", "astar", "wastar", "gbfls"])
def test_a_heuristic_twice_finds_a_plan_and_counts_states_once(
    task: hstar.Task, algorithm: str
) -> None:
    one = search(task, "ff", algorithm)
    two = search(task, ["ff", "goalcount"], algorithm)
    assert one.solved and two.solved
    assert one.initial_h == two.initial_h
    same_order = search(task, ["ff", "goalcount"], algorithm, queues=[(0, False)], preferred=False)
    alone = search(task, "ff", algorithm, preferred=False)
    assert counters(same_order) == counters(alone)


@pytest.mark.parametrize("algorithm", ["gbfs", "lazy"])
def test_queues_of_preferred_operators_serve_every_loop(task: hstar.Task, algorithm: str) -> None:
    queues = [(0, False), (0, True), (1, False)]
    result = search(task, ["ff", "hadd"], algorithm, queues=queues)
    assert result.solved
    only = search(task, "ff", algorithm, queues=[(0, True)])
    assert only.status in ("solved", "gave up")  # what is left out proves nothing


def test_an_unsafe_heuristic_cannot_prove_what_another_denies(task: hstar.Task) -> None:
    def hopeless(states: Any) -> Any:
        return np.full(len(states), np.inf)

    assert search(task, hopeless, "gbfs").status == "gave up"
    assert search(task, [hopeless, "ff"], "gbfs").solved


def test_a_state_that_no_queue_takes_does_not_end_the_search(task: hstar.Task) -> None:
    """It only keeps the search from proving that there is no plan."""
    plan = search(task, "blind", "bfs").plan
    assert plan is not None
    ops, states = task.successors(task.initial_state)
    aside = next(
        state
        for op, state in zip(ops.tolist(), states, strict=True)
        if task.operator_name(op) != plan[0]
    )

    def leaves_one_out(states: Any) -> Any:
        return np.where((states == aside).all(axis=1), np.inf, 0.0)

    assert search(task, ["blind", leaves_one_out], "gbfs", queues=[(1, False)]).solved


def test_numbers_of_heuristics_and_queues_are_checked(task: hstar.Task) -> None:
    with pytest.raises(ValueError, match="idastar takes one heuristic"):
        search(task, ["ff", "hadd"], "idastar")
    with pytest.raises(ValueError, match="an evaluator that does not exist"):
        search(task, "ff", "gbfs", queues=[(1, False)])
    with pytest.raises(ValueError, match="1 to 32 heuristics"):
        search(task, [], "gbfs")


# -- seeds


def test_a_seed_shuffles_operators_and_is_recorded(tmp_path: Path, task: hstar.Task) -> None:
    found = {
        seed: [counters(search(task, "blind", "gbfs", seed=seed)) for _ in range(2)]
        for seed in range(8)
    }
    assert all(first == again for first, again in found.values())
    assert found[0][0] == counters(search(task, "blind", "gbfs"))
    assert len({str(first) for first, _ in found.values()}) > 1
    done = program("plan", *FILES, "--seed", "5", "--json", "--plan-file", tmp_path / "plan")
    again = program("plan", *FILES, "--seed", "5", "--json", "--plan-file", tmp_path / "plan")
    assert done.code == 0 and json.loads(done.out)["seed"] == 5
    assert json.loads(done.out)["plan"] == json.loads(again.out)["plan"]


def test_a_seed_that_changes_nothing_is_refused(task: hstar.Task) -> None:
    with pytest.raises(ValueError, match="idastar does not take 'seed'"):
        search(task, "blind", "idastar", seed=1)
    assert program("plan", *FILES, "-s", "idastar", "--seed", "1").code == 36


# -- defaults


def test_plan_has_the_defaults_of_the_command(tmp_path: Path) -> None:
    for flags, arguments in [
        ([], {}),
        (["-H", "hadd"], {"heuristic": "hadd"}),
        (["-s", "astar"], {"search": "astar"}),
        (["-s", "lazy"], {"search": "lazy"}),
        (["--batch", "2"], {"batch": 2}),
    ]:
        done = program("plan", *FILES, *flags, "--json", "--plan-file", tmp_path / "plan")
        printed = json.loads(done.out)
        result = hstar.plan(*FILES, **arguments)  # type: ignore[arg-type]
        names = ("plan", "evaluated", "requested", "expanded", "generated", "initial_h")
        assert {name: printed[name] for name in names} == {
            name: getattr(result, name) for name in names
        }
    assert SearchSpecification().searches() == [DEFAULT_PLANNER]
    assert SearchSpecification(algorithm="astar").searches()[0].heuristic == "lmcut"


# -- heuristics from elsewhere


def test_heuristics_of_ones_own_are_named_by_module_and_attribute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outside_heuristics.py").write_text(OUTSIDE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    expected = counters(
        hstar.plan(*FILES, lambda states: np.abs(states).sum(axis=1), search="gbfs")
    )
    for name in ("distance", "made_for", "bindable"):
        text = f"outside_heuristics:{name}"
        assert counters(hstar.plan(*FILES, text, "gbfs")) == expected
        done = program("plan", *FILES, "-H", text, "-s", "gbfs", "--json", cwd=tmp_path)
        assert json.loads(done.out)["plan"] == expected[0]
    puzzle = make_puzzle("pancake-5")
    start = puzzle.scramble(4, 1)
    assert search(puzzle, "outside_heuristics:made_for", "gbfs", state=start).solved
    with pytest.raises(ValueError, match="neither a function nor"):
        hstar.plan(*FILES, "outside_heuristics:nothing")
    assert program("plan", *FILES, "-H", "outside_heuristics:none", cwd=tmp_path).code == 36


def test_unknown_names_get_a_suggestion() -> None:
    done = program("plan", *FILES, "-H", "lmcutt")
    assert done.code == 36 and "did you mean 'lmcut'?" in done.err
    with pytest.raises(ValueError, match="did you mean 'gbfs'"):
        hstar.plan(*FILES, search="gbf")


def test_plan_reads_pattern_databases(tmp_path: Path, task: hstar.Task) -> None:
    database = build_pdb(task, parse_pattern(task, "auto:1000"))
    write_pdb(tmp_path / "one.pdb", database)
    result = hstar.plan(*FILES, f"pdb:{tmp_path / 'one.pdb'}", "astar")
    assert result.solved
    assert result.plan_cost == hstar.plan(*FILES, "lmcut", "astar").plan_cost

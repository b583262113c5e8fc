"""hstar from Python: plans, results, options and limits."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import Any

import pytest
from example_tasks import ADL, COSTS, STRIPS
from hard_tasks import large_search, slow_grounding
from small_domains import BLOCKS, problem_text

import hstar


@pytest.mark.parametrize("search", hstar.SEARCHES)
@pytest.mark.parametrize("heuristic", hstar.HEURISTICS)
@pytest.mark.parametrize("files", [STRIPS, COSTS, ADL], ids=["strips", "costs", "adl"])
def test_every_search_with_every_heuristic(
    files: tuple[Path, Path], heuristic: str, search: str
) -> None:
    """And every plan is replayed by the validator, which knows nothing of grounding."""
    result = hstar.plan(*files, heuristic, search)
    assert result.solved
    assert (result.status, result.exit_code) == ("solved", 0)
    assert result.plan is not None
    check = hstar.validate(files[1], result.plan, files[0])
    assert check.valid, check.reason
    assert check.cost == pytest.approx(result.plan_cost)
    assert result.plan_length == check.length


@pytest.mark.parametrize("heuristic", ["blind", "hmax", "lmcut"])
def test_astar_with_admissible_heuristics_is_optimal(heuristic: str) -> None:
    assert hstar.plan(*STRIPS, heuristic, "astar").plan_cost == 4
    assert hstar.plan(*COSTS, heuristic, "astar").plan_cost == 26.5
    assert hstar.plan(*ADL, heuristic, "astar").plan_cost == 18


def test_results_show_themselves_in_notebooks(tmp_path: Path) -> None:
    shown = hstar.plan(*STRIPS)._repr_html_()
    assert shown.startswith("<table>")
    assert "<code>(stack a b)</code>" in shown
    unsolved = hstar.plan(*large_search(tmp_path), "blind", max_expansions=3)._repr_html_()
    assert "gave up" in unsolved
    assert "<code>" not in unsolved
    assert "None" not in unsolved


def test_names_cannot_break_out_of_the_html(tmp_path: Path) -> None:
    problem = tmp_path / "p.pddl"
    init = ["(ontable <b>)", "(clear <b>)", "(handempty)"]
    problem.write_text(problem_text("blocks", "<b>", init, ["(holding <b>)"]))
    (tmp_path / "d.pddl").write_text(BLOCKS)
    shown = hstar.plan(tmp_path / "d.pddl", problem)._repr_html_()
    assert "(pick-up &lt;b&gt;)" in shown


def test_plan_text() -> None:
    text = hstar.plan(*COSTS, "blind", "astar").plan_text
    assert text.startswith("(drive van north south)\n")
    assert text.endswith("; cost = 26.5 (general cost)\n")


def test_no_plan_has_no_text(tmp_path: Path) -> None:
    result = hstar.plan(*large_search(tmp_path), "blind", max_evaluations=3)
    assert (result.plan, result.plan_cost, result.plan_length) == (None, None, None)
    with pytest.raises(ValueError, match="there is no plan: gave up"):
        _ = result.plan_text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"heuristic": "magic"}, "unknown heuristic 'magic'"),
        ({"search": "magic"}, "unknown search 'magic'"),
        ({"cost": "two"}, "unknown cost 'two'"),
        ({"weight": 0.5}, "weight must be finite and at least 1"),
        ({"weight": math.nan}, "weight must be finite and at least 1"),
        ({"batch": 0}, "batch must be between 1 and"),
        ({"batch": 2**40}, "batch must be between 1 and"),
        ({"max_evaluations": 0}, "max \\w+ must be between 1 and"),
        ({"max_expansions": -1}, "max \\w+ must be between 1 and"),
        ({"max_expansions": 2**64}, "max \\w+ must be between 1 and"),
        ({"time_limit": 0}, "time limit must be positive"),
        ({"time_limit": math.nan}, "time limit must be positive"),
        ({"memory_limit": -1}, "memory limit must be positive"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hstar.plan(*STRIPS, **options)


def test_bad_files() -> None:
    with pytest.raises(hstar.PddlError, match="there is no such file"):
        hstar.plan(STRIPS[0], "missing.pddl")
    with pytest.raises(hstar.PddlError, match="give the domain first"):
        hstar.plan(*reversed(STRIPS))


def test_limits(tmp_path: Path) -> None:
    """Before the search a limit raises; during the search it is a result with counters."""
    (tmp_path / "slow").mkdir()
    with pytest.raises(hstar.OutOfResources) as caught:
        hstar.plan(*slow_grounding(tmp_path / "slow"), time_limit=0.2)
    assert (caught.value.status, caught.value.exit_code) == ("out of time", 23)
    result = hstar.plan(*large_search(tmp_path), "blind", "astar", time_limit=0.3)
    assert (result.solved, result.status, result.exit_code) == (False, "out of time", 23)
    assert result.expanded > 0


def test_plans_are_found_outside_of_the_main_thread() -> None:
    """Where no signal can be caught; limits hold there as well."""
    results = []
    limits = {"time_limit": 60.0, "memory_limit": 2**40}
    thread = threading.Thread(target=lambda: results.append(hstar.plan(*STRIPS, **limits)))
    thread.start()
    thread.join()
    assert results[0].plan_cost == 4

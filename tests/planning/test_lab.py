"""Logs in Fast Downward's words: the parsers of Downward Lab read them unmodified."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from program import DATA, SECONDS, hstar

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("lab") is None,
    reason="lab is not installed (pip install lab)",
)
STRIPS = DATA / "strips" / "problem.pddl"


def parsed(directory: Path, *arguments: Any, code: int = 0) -> dict[str, dict[str, Any]]:
    """What lab's parsers find in the log of `hstar plan`."""
    done = hstar("plan", *arguments, cwd=directory)
    assert done.code == code, done
    (directory / "run.log").write_text(done.out)
    # What lab's own driver writes about every run, whatever the planner.
    (directory / "driver.log").write_text(
        f"INFO node: here\nINFO planner wall-clock time: 1.00s\nINFO planner exit code: {code}\n"
    )
    script = Path(__file__).parents[1] / "support" / "lab_parsers.py"
    command = [sys.executable, "-P", script, directory]  # tests/ has a downward.py too
    output = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
    found: dict[str, dict[str, Any]] = json.loads(output.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["-s", "gbfs", "-H", "ff"],
        ["-s", "astar", "-H", "lmcut"],
        ["-s", "lazy", "-H", "hadd", "--batch", "4"],
        ["-s", "gbfls", "-H", "goalcount"],
        ["-s", "idastar", "-H", "hmax"],
    ],
    ids=lambda flags: "-".join(flags) or "default",
)
def test_lab_reads_a_solved_run(flags: list[str], tmp_path: Path) -> None:
    limits = ["--overall-time-limit", "10m", "--overall-memory-limit", "4G"]
    ours = json.loads(hstar("plan", STRIPS, *flags, "--json", cwd=tmp_path).out)
    found = parsed(tmp_path, STRIPS, *flags, *limits)
    single, anytime = found["single"], found["anytime"]
    assert "unexplained_errors" not in single and "unexplained_errors" not in anytime
    heuristic = flags[3] if flags else "ff"
    expected = {
        "coverage": 1,
        "error": "success",
        "unsolvable": 0,
        "cost": ours["plan_cost"],
        "plan_length": ours["plan_length"],
        "evaluated": ours["evaluated"],
        "evaluations": ours["evaluations"],
        "expansions": ours["expanded"],
        "generated": ours["generated"],
        "reopened": ours["reopened"],
        "dead_ends": ours["deadends"],
        "initial_h_values": {heuristic: ours["initial_h"]},
        "initial_h_value": ours["initial_h"],
        "planner_time_limit": pytest.approx(600, abs=60),
        "planner_memory_limit": 4096,
        "limit_search_time": pytest.approx(600, abs=60),
        "limit_search_memory": 4096,
        "planner_exit_code": 0,
    }
    assert {name: single.get(name) for name in expected} == expected
    assert anytime["cost:all"] == [ours["plan_cost"]]
    for name in ("translator_variables", "translator_operators", "translator_time_done"):
        assert single[name] >= 0
    for name in ("planner_time", "planner_memory", "memory", "search_time", "score_planner_time"):
        assert single[name] > 0


def test_lab_reads_a_run_that_gave_up(tmp_path: Path) -> None:
    found = parsed(tmp_path, STRIPS, "-s", "gbfs", "--max-evaluations", "2", code=12)["single"]
    assert (found["coverage"], found["error"]) == (0, "search-unsolved-incomplete")
    assert "cost" not in found and "planner_time" not in found and "unexplained_errors" not in found


def test_evaluations_are_those_of_fast_downward(tmp_path: Path) -> None:
    """Each state counts once there; the count with duplicates has a line of its own."""
    done = hstar("plan", STRIPS, "-s", "gbfs", "-H", "ff", cwd=tmp_path)
    lines = dict(line.split(": ", 1) for line in done.out.splitlines() if ": " in line)
    ours = json.loads(hstar("plan", STRIPS, "-s", "gbfs", "-H", "ff", "--json", cwd=tmp_path).out)
    assert int(lines["Evaluations"]) == ours["evaluations"] == ours["evaluated"]
    assert int(lines["Heuristic values requested"]) == ours["requested"] > ours["evaluations"]


def test_large_initial_values_are_whole_numbers(tmp_path: Path) -> None:
    (tmp_path / "domain.pddl").write_text(
        "(define (domain d) (:predicates (p)) (:functions (total-cost) - number)"
        " (:action a :parameters () :effect (and (p) (increase (total-cost) 12345678))))"
    )
    (tmp_path / "p.pddl").write_text(
        "(define (problem x) (:domain d) (:init (= (total-cost) 0)) (:goal (p))"
        " (:metric minimize (total-cost)))"
    )
    found = parsed(tmp_path, "p.pddl", "-s", "gbfs", "-H", "ff")["single"]
    assert found["initial_h_value"] == 12345678

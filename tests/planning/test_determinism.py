"""One command, one answer, whatever the hash seed; and that answer whole or not at all."""

from __future__ import annotations

import json
import random
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from program import COMMAND, DATA, environment, hstar
from small_domains import ALL

TIMES_AND_MEMORY = ("search_time", "total_time", "peak_memory_kb")
CONFIGURATIONS = [
    [],
    ["-s", "gbfs", "-H", "ff"],
    ["-s", "gbfs", "-H", "goalcount", "--batch", "5"],
    ["-s", "lazy", "-H", "hadd", "--cost", "plusone"],
    ["-s", "astar", "-H", "lmcut"],
    ["-s", "astar", "-H", "blind"],
    ["-s", "wastar", "-H", "hmax", "--weight", "2"],
    ["-s", "gbfls", "-H", "ff", "--cost", "one"],
    ["-s", "bfs", "--keep-irrelevant"],
]
PROBLEMS = ["strips", "costs", "adl"]


def run(
    domain: Path, problem: Path, plan: Path, flags: list[str], hash_seed: str
) -> tuple[str, bytes]:
    """The JSON text without what is measured, and the plan file."""
    changes = {"PYTHONHASHSEED": hash_seed}
    outcome = hstar("plan", domain, problem, "--json", "--plan-file", plan, *flags, changes=changes)
    assert (outcome.code, outcome.err) == (0, "")
    result: dict[str, Any] = json.loads(outcome.out)
    assert json.dumps(result) == outcome.out.rstrip("\n")
    for name in TIMES_AND_MEMORY:
        assert result.pop(name) >= 0
    return json.dumps(result), plan.read_bytes()


@pytest.mark.parametrize("flags", CONFIGURATIONS, ids=" ".join)
@pytest.mark.parametrize("name", PROBLEMS)
def test_same_output(name: str, flags: list[str], tmp_path: Path) -> None:
    files = DATA / name / "domain.pddl", DATA / name / "problem.pddl"
    first = run(*files, tmp_path / "plan", flags, "0")
    assert run(*files, tmp_path / "plan", flags, "0") == first
    assert run(*files, tmp_path / "plan", flags, "12345") == first


@pytest.mark.parametrize("name", ALL)
def test_same_output_on_larger_problems(name: str, tmp_path: Path) -> None:
    """Of another seed than the data: here are more objects whose order a hash could change."""
    texts = ALL[name](random.Random(7))
    files = tmp_path / "domain.pddl", tmp_path / "problem.pddl"
    for path, text in zip(files, texts, strict=True):
        path.write_text(text)
    for flags in ([], ["-s", "astar", "-H", "lmcut"]):
        runs = {run(*files, tmp_path / "plan", flags, seed) for seed in ("1", "99")}
        assert len(runs) == 1


def test_same_description(tmp_path: Path) -> None:
    for name in PROBLEMS:
        problem = DATA / name / "problem.pddl"
        texts = []
        for seed in ("1", "99"):
            changes = {"PYTHONHASHSEED": seed}
            outcome = hstar("info", problem, "--json", "--mutex-groups", changes=changes)
            assert (outcome.code, outcome.err) == (0, "")
            result = json.loads(outcome.out)
            del result["parse_time"], result["ground_time"]
            texts.append(json.dumps(result))
        assert texts[0] == texts[1]


@pytest.mark.parametrize("moment", ["started", "writing", "written"])
def test_killed_runs_leave_no_partial_plan(moment: str, tmp_path: Path) -> None:
    """Whenever the program is killed, the plan file holds a whole plan or does not exist."""
    problem = DATA / "adl" / "problem.pddl"
    whole = tmp_path / "whole"
    assert hstar("plan", problem, "--plan-file", whole).code == 0
    folder = tmp_path / "killed"
    folder.mkdir()
    plan = folder / "plan"
    reached = {
        "started": lambda: True,
        "writing": lambda: any(folder.iterdir()),  # the temporary file or the plan
        "written": plan.exists,
    }
    rng = random.Random(5)
    for _ in range(10):
        for path in folder.iterdir():
            path.unlink()
        process = subprocess.Popen(
            [*COMMAND, "plan", problem, "--plan-file", plan],
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if moment == "started":
            time.sleep(rng.uniform(0.0, 0.3))
        while not reached[moment]() and process.poll() is None:
            pass
        process.kill()
        process.wait()
        assert plan.exists() or moment != "written"
        assert not plan.exists() or plan.read_bytes() == whole.read_bytes()


def test_a_new_plan_replaces_the_old_one_and_nothing_is_left_over(tmp_path: Path) -> None:
    problem = DATA / "strips" / "problem.pddl"
    plan = tmp_path / "plan"
    plan.write_text("(old)\n" * 1000)
    assert hstar("plan", problem, "--plan-file", plan).code == 0
    assert plan.read_text().endswith("; cost = 4 (unit cost)\n")
    assert list(tmp_path.iterdir()) == [plan]

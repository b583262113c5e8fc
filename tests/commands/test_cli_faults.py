"""Who is to blame: a full disk, the system or a function of the user's, and not hstar."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from program import PACKAGES, check_one_line, hstar

import hstar as hstar_package
from hstar.commands import cli
from hstar.experiments.bench import read_runs
from hstar.slots.teachers import TEACHERS

FUNCTIONS = """import numpy as np
def crash(states):
    return 1 / 0
def overflow(states):
    raise OverflowError("too large for me")
def system(states):
    raise OSError("my own trouble")
def many(states):
    return np.zeros(len(states) + 1)
def nan(states):
    return np.full(len(states), np.nan)
class Maker:
    def __init__(self, task):
        task.no_such_thing
"""
FAULTS = {
    "crash": "mine.py:3: ZeroDivisionError: division by zero",
    "overflow": "mine.py:5: OverflowError: too large for me",
    "system": "mine.py:7: OSError: my own trouble",
    "many": "was given 1 states and must return as many numbers",
    "nan": "the heuristic returned NaN; use inf for dead ends",
    "Maker": "mine.py:14: AttributeError",
}


@pytest.fixture
def mine(parcels: Path) -> Path:
    (parcels / "mine.py").write_text(FUNCTIONS)
    return parcels


@pytest.mark.parametrize("name", FAULTS)
def test_an_error_in_a_heuristic_is_the_users(name: str, mine: Path) -> None:
    done = hstar("plan", "problem.pddl", "-H", f"mine:{name}", cwd=mine)
    check_one_line(done, 36, f"your heuristic 'mine:{name}' failed", FAULTS[name])
    assert "correct your function" in done.err


def test_bench_says_it_of_each_run(mine: Path) -> None:
    names = [f"mine:{name}" for name in ("crash", "overflow")]
    done = hstar("bench", "problem.pddl", "-H", *names, "-o", "runs.parquet", cwd=mine)
    assert done.code == 0, done
    rows = read_runs(mine / "runs.parquet").rows
    assert rows["exit_code"].to_list() == [36, 36]
    for name, message in zip(("crash", "overflow"), rows["message"], strict=True):
        assert f"your heuristic 'mine:{name}' failed" in message and FAULTS[name] in message


def test_an_overflow_in_a_function_is_no_error_of_the_problem(parcels: Path) -> None:
    def overflow(states: Any) -> Any:
        raise OverflowError("too large for me")

    with pytest.raises(OverflowError, match="too large for me"):
        hstar_package.plan(parcels / "domain.pddl", parcels / "problem.pddl", overflow)


def test_an_error_of_the_system_is_not_one_of_writing(
    parcels: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fork(*_: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("hstar.commands.info.run", fork)
    assert cli.run(["info", str(parcels / "problem.pddl")]) == 36
    assert capsys.readouterr().err == "hstar: Resource temporarily unavailable\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("more", [(), ("--json",), ("--quiet",), ("--quiet", "--json")])
def test_a_plan_that_cannot_be_written_is_printed(more: tuple[str, ...], parcels: Path) -> None:
    whole = hstar("plan", "problem.pddl", "--plan-file", "plan", cwd=parcels)
    assert whole.code == 0
    steps = [line for line in (parcels / "plan").read_text().splitlines() if line[0] == "("]
    done = hstar("plan", "problem.pddl", "--plan-file", "/dev/full", *more, cwd=parcels)
    check_one_line(done, 36, "cannot write /dev/full: No space left on device")
    if "--json" in more:
        assert json.loads(done.out)["plan"] == steps
    else:
        assert "\n".join(steps) in done.out


@pytest.mark.parametrize("name", TEACHERS)
def test_a_teacher_takes_the_defaults_that_it_shows(name: str) -> None:
    teacher = TEACHERS.find(name)
    shown = {option: about.shown for option, about in teacher.options.items()}
    assert teacher.settings(shown) == teacher.settings({})


def test_numbers_are_shown_as_numbers() -> None:
    done = hstar("label", "--teachers")
    for wrong in ("seed=no", "length=no", "stride=yes"):
        assert wrong not in done.out
    assert "stride=1:" in done.out and "seed=0:" in done.out


@pytest.mark.parametrize(
    ("package", "extra", "command"),
    [
        ("polars", "report", "label . -o labels.parquet"),
        ("polars", "report", "bench problem.pddl -o runs.parquet"),
        ("torch", "learn", "paper truncated-gaussian -o paper"),
    ],
)
def test_a_package_that_is_missing_is_named(
    package: str, extra: str, command: str, parcels: Path
) -> None:
    (parcels / "sitecustomize.py").write_text(f"import sys\nsys.modules[{package!r}] = None\n")
    path = {"PYTHONPATH": os.pathsep.join([PACKAGES, str(parcels)])}
    done = hstar(*command.split(), cwd=parcels, changes=path)
    said = f"this needs {package}, which is not installed"
    check_one_line(done, 36, f"{said}; run in a checkout of hstar: pip install '.[{extra}]'")

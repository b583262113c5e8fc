"""Who is to blame: a full disk, the system or a function of the user's, and not hstar."""

from __future__ import annotations

import json
import os
from pathlib import Path
from subprocess import run
from typing import Any
from unittest.mock import Mock

import pytest
from program import COMMAND, PACKAGES, check_one_line, environment, hstar

import hstar as hstar_package
from hstar.commands import cli
from hstar.experiments.bench import read_runs
from hstar.slots.teachers import TEACHERS

FUNCTIONS = """import json
import numpy as np
from hstar.slots.models.nlm import NLM_MODEL
from hstar.slots.teachers.teacher import Teacher
def crash(states):
    return 1 / 0
def overflow(*_):
    raise OverflowError("too large for me")
def system(*_):
    raise OSError("my own trouble")
def text(states):
    return json.loads("{bad")
def library(states):
    return np.linalg.inv(np.zeros((2, 2)))
def deep(states):
    return deep(states)
def many(states):
    return np.zeros(len(states) + 1)
def none(states):
    return None
def nan(states):
    return np.full(len(states), np.nan)
def maker_of_none(task):
    return None
class Maker:
    def __init__(self, task):
        task.no_such_thing
class NoBuild(type(NLM_MODEL)):
    def build(self, config, generator):
        raise RuntimeError("unfinished")
OVERFLOW, SYSTEM = (Teacher("", one, ("h*",)) for one in (overflow, system))
NO_BUILD = NoBuild()
"""
FAULTS = {
    "crash": "mine.py:6 (your code) failed: ZeroDivisionError: division by zero",
    "overflow": "mine.py:8 (your code) failed: OverflowError: too large for me",
    "system": "mine.py:10 (your code) failed: OSError: my own trouble",
    "text": "mine.py:12 (your code) failed: JSONDecodeError: Expecting",
    "library": "mine.py:14 (your code) failed: LinAlgError: Singular matrix",
    "deep": "mine.py:16 (your code) failed: RecursionError",
    "many": "must return an array of shape (1,), one number for each, but returned an array of",
    "none": "must return an array of shape (1,), one number for each, but returned None",
    "nan": "the heuristic 'mine:nan' returned NaN; use inf for dead ends",
    "maker_of_none": "None is no heuristic; give a name or a function",
    "Maker": "mine.py:27 (your code) failed: AttributeError",
}


@pytest.fixture
def mine(parcels: Path) -> Path:
    (parcels / "mine.py").write_text(FUNCTIONS)
    return parcels


@pytest.mark.parametrize("name", FAULTS)
def test_an_error_in_a_heuristic_is_the_users(name: str, mine: Path) -> None:
    done = hstar("plan", "problem.pddl", "-H", f"mine:{name}", cwd=mine)
    check_one_line(done, 36, FAULTS[name])


def test_an_installed_library_that_adds_to_hstar_is_the_users(mine: Path) -> None:
    site = mine / "site-packages"
    (site / "extras.dist-info").mkdir(parents=True)
    (mine / "mine.py").rename(site / "mine.py")
    path = {"PYTHONPATH": os.pathsep.join([PACKAGES, str(site)])}
    points = site / "extras.dist-info" / "entry_points.txt"
    for group, code in (("others", 35), ("hstar.heuristics", 36)):
        points.write_text(f"[{group}]\nown = mine:crash\n")
        done = hstar("plan", "problem.pddl", "-H", "mine:crash", cwd=mine, changes=path)
        assert (done.code, FAULTS["crash"] in done.err) == (code, code == 36)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("label . -o l.parquet --teacher mine:OVERFLOW", FAULTS["overflow"]),
        ("label . -o l.parquet --teacher mine:SYSTEM", FAULTS["system"]),
        ("learn problem.pddl -o m.safetensors --teacher mine:SYSTEM --steps 9", FAULTS["system"]),
        ("train l.parquet -o m.safetensors -m mine:NO_BUILD --steps 1", "mine.py:30 (your code)"),
        ("plan problem.pddl -s mine:crash", "'mine:crash' is not an object of the class"),
        ("plan problem.pddl -H os:no_such_name", "cannot import the heuristic"),
        ("plan problem.pddl -H os:getcwd", "'os:getcwd' must take one argument: too many"),
    ],
)
def test_an_error_in_any_code_of_the_users(command: str, said: str, mine: Path) -> None:
    if command.startswith("train"):
        (mine / "problem2.pddl").write_text((mine / "problem.pddl").read_text())
        assert hstar("label", ".", "-o", "l.parquet", cwd=mine).code == 0
    done = hstar("--quiet", *command.split(), cwd=mine)
    assert (done.code, "Traceback" in done.err) == (36, False), done
    assert said in done.err and "bug in hstar" not in done.err


def test_bench_says_it_of_each_run(mine: Path) -> None:
    names = [f"mine:{name}" for name in ("crash", "overflow", "none")]
    done = hstar("bench", "problem.pddl", "-H", *names, "-o", "runs.parquet", cwd=mine)
    assert done.code == 0, done
    rows = read_runs(mine / "runs.parquet").rows
    assert rows["exit_code"].to_list() == [36] * 3
    assert rows["error"].to_list() == ["your code failed"] * 3
    for name, message in zip(names, rows["message"], strict=True):
        assert FAULTS[name.removeprefix("mine:")] in message


def test_an_overflow_in_a_function_is_no_error_of_the_problem(parcels: Path) -> None:
    def overflow(states: Any) -> Any:
        raise OverflowError("too large for me")

    with pytest.raises(OverflowError, match="too large for me"):
        hstar_package.plan(parcels / "domain.pddl", parcels / "problem.pddl", overflow)


def test_an_error_of_the_system_is_not_one_of_writing(
    parcels: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trouble = OSError(11, "Resource temporarily unavailable")
    monkeypatch.setattr("hstar.commands.info.run", Mock(side_effect=trouble))
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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "command",
    ["label . -o l.parquet", "learn . -o m.safetensors --steps 9", "bench . -o r.parquet"],
)
def test_progress_that_cannot_be_written_is_dropped(command: str, parcels: Path) -> None:
    with open("/dev/full", "wb") as full:
        whole = [*COMMAND, *command.split(), "--jobs", "1"]
        assert run(whole, cwd=parcels, env=environment(), stderr=full).returncode == 0


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

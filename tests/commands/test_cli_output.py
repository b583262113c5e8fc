"""Output that nobody takes, and the program under its installed name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pddl_mistakes import PLAN
from program import COMMAND, SECONDS, Argument, check_one_line, environment, hstar

OUTPUTS: list[tuple[Argument, ...]] = [
    ("plan", "problem.pddl"),
    ("plan", "problem.pddl", "--json"),
    ("info", "problem.pddl"),
    ("validate", "domain.pddl", "problem.pddl", "plan"),
    ("--help",),
]


@pytest.mark.parametrize("arguments", OUTPUTS, ids=lambda a: " ".join(a))
def test_broken_pipe(arguments: tuple[str, ...], parcels: Path) -> None:
    """As in `hstar plan ... | head -0`."""
    (parcels / "plan").write_text(PLAN)
    reading, writing = os.pipe()
    os.close(reading)
    try:
        outcome = hstar(*arguments, cwd=parcels, stdout=writing)
    finally:
        os.close(writing)
    check_one_line(outcome, 36, "cannot write to standard output: Broken pipe")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", OUTPUTS, ids=lambda a: " ".join(a))
def test_full_disk(arguments: tuple[str, ...], parcels: Path) -> None:
    (parcels / "plan").write_text(PLAN)
    with open("/dev/full", "wb") as full:
        outcome = hstar(*arguments, cwd=parcels, stdout=full.fileno())
    check_one_line(outcome, 36, "cannot write to standard output: No space left on device")


def test_closed_output_is_no_reason_to_fail(parcels: Path) -> None:
    """Who closes stdout wants no log; the plan is written all the same."""
    command = ["sh", "-c", '"$@" >&-', "sh", *COMMAND, "plan", "problem.pddl"]
    done = subprocess.run(
        command, cwd=parcels, env=environment(), capture_output=True, timeout=SECONDS
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert (parcels / "sas_plan").exists()


def test_errors_name_the_program_when_run_as_installed() -> None:
    """The script `hstar` and `python -m hstar.commands.cli` are the same program."""
    script = Path(sys.executable).with_name("hstar")
    if not script.exists():
        pytest.skip("hstar is not installed beside this Python")
    done = subprocess.run(
        [script, "fly"], env=environment(), capture_output=True, text=True, timeout=SECONDS
    )
    assert (done.returncode, done.stderr) == (36, hstar("fly").err)


@pytest.mark.parametrize("command", ["plan", "learn", "info", "validate"])
def test_the_usage_names_the_files_once(command: str) -> None:
    usage = hstar(command, "--help").out.partition("\n\n")[0]
    files = {"learn": "[DOMAIN] PROBLEM|FOLDER", "validate": "[DOMAIN] PROBLEM PLAN"}
    assert usage.endswith(f" {files.get(command, '[DOMAIN] PROBLEM')}")
    assert usage.count("PROBLEM") == 1

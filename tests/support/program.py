"""Runs `hstar` as a user does: another process, its exit code and what it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import hstar as hstar_package

DATA = Path(__file__).parents[1] / "data"
COMMAND = [sys.executable, "-m", "hstar"]
PACKAGES = str(Path(hstar_package.__file__).absolute().parent.parent)
SECONDS = 600  # far more than any test needs, even on a busy machine: only a hang takes so long

Argument = str | bytes | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended. A negative code is the number of the signal that ended it."""

    code: int
    out: str
    err: str


def check_one_line(outcome: Outcome, code: int, *parts: str) -> None:
    """One line on stderr with all the parts, that exit code, and no trace of a crash."""
    assert outcome.code == code, outcome
    assert outcome.err.count("\n") == 1, outcome.err
    assert outcome.err.endswith("\n")
    assert re.match(r"hstar( plan| validate| info)?: \S", outcome.err), outcome.err
    assert len(outcome.err) < 600
    for part in parts:
        assert part in outcome.err
    assert "Traceback" not in outcome.out + outcome.err


def environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours, but with the hstar that these tests import, whatever the working directory, and with
    output buffered as it is by default: that decides when writing fails."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return inherited | {"PYTHONPATH": PACKAGES} | dict(changes or {})


def hstar(
    *arguments: Argument,
    cwd: Path | None = None,
    stdout: int = subprocess.PIPE,
    changes: Mapping[str, str] | None = None,
) -> Outcome:
    """Run the program to its end; `changes` are those to the environment."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        env=environment(changes),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=SECONDS,
        check=False,
    )
    out, err = (raw.decode(errors="backslashreplace") for raw in (done.stdout or b"", done.stderr))
    return Outcome(done.returncode, out, err)


def python(
    program: str,
    *arguments: Argument,
    cwd: Path | None = None,
    changes: Mapping[str, str] | None = None,
    prepare: Callable[[], None] | None = None,
) -> str:
    """What a program in Python prints, in a process of its own, which must end well."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=cwd,
        env=environment(changes),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        preexec_fn=prepare,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout

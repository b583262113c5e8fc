"""Other planners, each run as a program of its own. Their plans are checked here."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from hstar.pddl import parse
from hstar.pddl.planfile import PlanFileError, read_plan
from hstar.pddl.validate import validate

GRACE = 5.0  # seconds that a planner may take to notice its limit
NEEDED = ("{domain}", "{problem}", "{plan}")
FAILED, INVALID = "failed", "invalid plan"


def check_peer(command: str) -> None:
    """Raises ValueError unless the command can be run."""
    missing = [word for word in NEEDED if word not in command]
    if missing:
        raise ValueError(f"it lacks {', '.join(missing)}")
    try:
        words = words_of(command, Path(), Path(), Path(), 1.0)
    except (KeyError, IndexError) as error:
        raise ValueError(f"it knows no {{{error.args[0]}}}") from None
    if shutil.which(words[0]) is None:
        raise ValueError(f"there is no program '{words[0]}'")


def words_of(command: str, domain: Path, problem: Path, plan: Path, limit: float) -> list[str]:
    given = {"domain": domain, "problem": problem, "plan": plan, "limit": f"{limit:g}"}
    return [word.format(**given) for word in shlex.split(command)]


def run_peer(command: str, domain: Path, problem: Path, limit: float) -> dict[str, Any]:
    """Run a command with {domain}, {problem}, {plan} and {limit}.

    A planner that ends early, without a plan and with a code other than 0 has the status "failed";
    `error` is what it said last.
    """
    with tempfile.TemporaryDirectory() as scratch:
        plan, said = Path(scratch) / "plan", Path(scratch) / "error"
        words = words_of(command, domain.absolute(), problem.absolute(), plan, limit)
        start = time.monotonic()
        with said.open("wb") as errors:
            code = _run(words, errors, limit + GRACE)
        seconds = time.monotonic() - start
        steps = None
        with suppress(PlanFileError):
            steps = read_plan(plan) if plan.is_file() else None
        last = said.read_text(errors="replace").strip().splitlines()[-1:]
    row: dict[str, Any] = {"solved": False, "seconds": seconds, "command": command, "error": ""}
    if steps is None or seconds > limit:
        ended = steps is None and code not in (0, None) and seconds < limit / 2
        return {**row, "status": FAILED if ended else "no plan", "error": "".join(last)}
    valid = validate(parse(domain, problem), steps).valid
    return {**row, "solved": valid, "status": "solved" if valid else INVALID, "length": len(steps)}


def _run(words: list[str], errors: Any, seconds: float) -> int | None:
    """The exit code of a program, None if it had to be killed. Nothing of it stays behind."""
    running = subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True
    )
    try:
        return running.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()

"""Other planners, each run as a program of its own. Their plans are checked here."""

from __future__ import annotations

import os
import shlex
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


def run_peer(command: str, domain: Path, problem: Path, limit: float) -> dict[str, Any]:
    """Run a command with {domain}, {problem}, {plan} and {limit}. Raises OSError if it cannot be
    started."""
    with tempfile.TemporaryDirectory() as scratch:
        plan = Path(scratch) / "plan"
        given = {"domain": domain.absolute(), "problem": problem.absolute(), "plan": plan}
        words = [word.format(**given, limit=f"{limit:g}") for word in shlex.split(command)]
        start = time.monotonic()
        running = subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            running.wait(limit + GRACE)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
        seconds = time.monotonic() - start
        steps = None
        with suppress(PlanFileError):
            steps = read_plan(plan) if plan.is_file() else None
    if steps is None or seconds > limit:
        return {"solved": False, "status": "no plan", "seconds": seconds}
    valid = validate(parse(domain, problem), steps).valid
    status = "solved" if valid else "invalid plan"
    return {"solved": valid, "status": status, "seconds": seconds, "length": len(steps)}

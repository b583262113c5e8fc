"""Runs ``hstar plan`` the way a user does: as a program, answers read from its JSON."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TIME_LIMIT = 23  # exit code, also given to runs that had to be killed
GRACE = 30  # seconds a run may overstay its own time limit before it is killed


@dataclass(frozen=True)
class PlanRun:
    exit_code: int
    process_wall: float
    fields: dict[str, Any] = field(default_factory=dict)  # the JSON object; empty if none came
    error: str = ""

    @property
    def solved(self) -> bool:
        return bool(self.fields.get("solved"))

    def __getitem__(self, name: str) -> Any:
        return self.fields.get(name)


def plan(
    domain: Path, problem: Path, *flags: str, time_limit: float, plan_file: Path | None = None
) -> PlanRun:
    """One run with a time limit in seconds; never raises for what the planner does."""
    with tempfile.TemporaryDirectory() as folder:
        # Without a file of its own, hstar would leave its plan in the working directory.
        target = plan_file or Path(folder, "plan")
        target.unlink(missing_ok=True)
        full = [sys.executable, "-m", "hstar", "plan", str(domain), str(problem), "--json", *flags]
        full += ["--overall-time-limit", f"{time_limit:g}s", "--plan-file", str(target)]
        start = time.perf_counter()
        try:
            done = subprocess.run(
                full, capture_output=True, text=True, timeout=time_limit + GRACE, check=False
            )
        except subprocess.TimeoutExpired:
            wall = time.perf_counter() - start
            return PlanRun(TIME_LIMIT, wall, error="overstayed its own time limit, was killed")
        wall = time.perf_counter() - start
    try:
        fields = json.loads(done.stdout)
    except json.JSONDecodeError:
        fields = {}
    return PlanRun(done.returncode, wall, fields, done.stderr.strip())

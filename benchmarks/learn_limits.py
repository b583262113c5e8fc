"""How well `hstar learn` and `hstar plan --learn` keep their time limits, on large tasks.

    python benchmarks/learn_limits.py SUITES/ferber/hard [--seconds 20]

Prints, for each run, its limit, the seconds that it took from its start to its exit, and by how
much that is over the limit. The time in which Python starts and imports is part of it; the first
row shows that time alone. On a busy machine it is larger.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from program import COMMAND, environment

TASKS = (
    "npuzzle/prob-n9-4",
    "pipesworld-notankage/p50-net5-b30-g8",
    "rovers/p40",
    "transport-opt14-strips/p35",
    "storage/p30",
)


def commands(problem: Path, seconds: float, folder: Path) -> Iterator[tuple[str, list[Any]]]:
    model, plan = folder / "m.safetensors", folder / "plan"
    limit = f"{seconds}s"
    yield "learn --time", ["learn", problem, "-o", model, "--time", limit]
    overall = ["--overall-time-limit", limit]
    yield "learn --overall-time-limit", ["learn", problem, "-o", model, *overall]
    learning = ["--learn", f"{seconds / 2}s", "--plan-file", plan]
    yield "plan --learn", ["plan", problem, *learning, *overall]


def timed(command: list[Any]) -> tuple[float, int, str]:
    """Seconds, exit code, and the last line of output."""
    start = time.monotonic()
    done = subprocess.run(
        [*COMMAND, *command], env=environment(), capture_output=True, text=True, check=False
    )
    lines = (done.stdout + done.stderr).strip().splitlines()
    return time.monotonic() - start, done.returncode, lines[-1] if lines else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("suite", type=Path)
    parser.add_argument("--seconds", type=float, default=20.0, help="the limit of each run")
    given = parser.parse_args()
    print("| task | command | limit | took | over | code |\n|---|---|---|---|---|---|")
    took, code, _ = timed(["learn", "--help"])
    print(f"| - | learn --help | - | {took:.2f} s | - | {code} |", flush=True)
    for name in TASKS:
        problem = given.suite / name / "p1.pddl"
        if not problem.exists():
            print(f"not in the suite, left out: {name}", file=sys.stderr)
            continue
        with tempfile.TemporaryDirectory() as folder:
            for command, arguments in commands(problem, given.seconds, Path(folder)):
                took, code, last = timed(arguments)
                over = 100 * max(0.0, took / given.seconds - 1)
                shown = f"{given.seconds:g} s | {took:.2f} s | {over:.1f} %"
                print(f"| {name} | {command} | {shown} | {code} |", flush=True)
                print(f"{name} {command}: {last}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

"""`hstar demo`: learn a heuristic on small problems, solve larger ones with it, show a page."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from hstar.commands.arguments import Options, Parser

HELP = "learn a heuristic and compare it with planners, in minutes"
DESCRIPTION = """\
The demo runs five commands of hstar. It generates small ferry problems, with at most 12 cars, and
learns from them to rank states. Then three planners try to solve problems with hundreds of cars,
each within the same time: greedy search with h^FF, hstar's default planner, and the default planner
in turns with the learned search."""
TRAINING = "--split train --cars 2-12 --locations 3-9 --count 80"
TEST = "--split test --cars 120-480 --locations 120 --count 10"
LEARNING, LIMIT = "40s", "6s"


def add_arguments(parser: Parser) -> None:
    parser.add("-o --output DIR", "folder to write to", default="build/demo")
    parser.add("--jobs N", "number of searches at a time (default: one per core)")


def demo_commands(folder: Path, jobs: int | None) -> list[list[str]]:
    problems = folder / "problems"
    model, runs = str(folder / "model.safetensors"), str(folder / "runs.parquet")
    generate = ["generate", "ferry", "-o", str(problems)]
    at_once = jobs or len(os.sched_getaffinity(0))
    return [
        [*generate, *TRAINING.split()],
        [*generate, *TEST.split()],
        ["learn", str(problems / "train"), "--time", LEARNING, "-o", model],
        ["bench", str(problems / "test"), "-H", "ff", "default", model, "--time-limit", LIMIT,
         "--jobs", str(at_once), "-o", runs],
        ["report", runs, "--title", "Large ferry problems", "-o", str(folder / "report.html")],
    ]  # fmt: skip


def run(options: Options) -> int:
    print(DESCRIPTION)
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    for command in demo_commands(folder, options.jobs):
        print(f"\n$ {shlex.join(['hstar', *command])}")
        if command[0] == "learn" and Path(command[-1]).exists():
            print(f"{command[-1]} is there already")
            continue
        code = subprocess.run([sys.executable, "-m", "hstar", *command]).returncode
        if code:
            return code
    return 0

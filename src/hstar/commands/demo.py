"""`hstar demo`: learn a heuristic on small problems, solve larger ones with it, show a page."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

from hstar.commands.arguments import Commands, add_command, positive

STORY = """\
The demo runs five commands of hstar. It generates small blocksworld problems and learns from them
to rank states. Then three planners try to solve much larger problems, each within the same time:
greedy search with h^FF, hstar's default planner, and the default planner in turns with the learned
search. No network library is needed."""
TRAINING = "--split train --blocks 4-12 --count 63"
TEST = "--split test --blocks 60-180 --count 12"
STEPS, LIMIT = "20000", "5s"


def add_parser(commands: Commands) -> None:
    about = "learn a heuristic and compare it, in minutes"
    parser = add_command(commands, "demo", about, run, STORY)
    parser.add("-o --output DIR", default="build/demo")
    parser.add("--jobs N", "searches at a time (default: one per core)", positive)


def demo_commands(folder: Path, jobs: int | None) -> list[list[str]]:
    problems = folder / "problems"
    model, runs = str(folder / "model.safetensors"), str(folder / "runs.parquet")
    generate = ["generate", "blocksworld", "-o", str(problems)]
    at_once = [] if jobs is None else ["--jobs", str(jobs)]
    return [
        [*generate, *TRAINING.split()],
        [*generate, *TEST.split()],
        ["learn", str(problems / "train"), "--steps", STEPS, "-o", model],
        ["bench", str(problems / "test"), "-H", "ff", "default", model, "--time-limit", LIMIT,
         *at_once, "-o", runs],
        ["report", runs, "--title", "Large blocksworld", "-o", str(folder / "report.html")],
    ]  # fmt: skip


def run(options: argparse.Namespace) -> int:
    print(STORY, flush=True)
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    for command in demo_commands(folder, options.jobs):
        print(f"\n$ {shlex.join(['hstar', *command])}", flush=True)
        code = subprocess.run([sys.executable, "-m", "hstar.cli", *command]).returncode
        if code:
            return code
    return 0

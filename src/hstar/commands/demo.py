"""`hstar demo`: learn a heuristic on small problems, solve larger ones with it, show a page."""

from __future__ import annotations

import argparse
from pathlib import Path

from hstar.commands.arguments import Commands, add_command, positive
from hstar.commands.paper import run_paper

STORY = """\
Small blocksworld problems are generated, solved optimally and learned from. Then larger ones are
solved by greedy best-first search with the learned heuristic, by the same search with h^FF, each
with the same number of evaluations, and by the default planner, the one that 'hstar plan' runs."""


def add_parser(commands: Commands) -> None:
    about = "learn a heuristic and compare it, in minutes"
    parser = add_command(commands, "demo", about, run, STORY)
    parser.add("-o --output DIR", default="build/demo")
    parser.add("--jobs N", "default: one per core", positive)


def run(options: argparse.Namespace) -> int:
    print(STORY, flush=True)
    output = Path(options.output)
    run_paper("truncated-gaussian", "smoke", output, options.jobs, "hstar demo", device="cpu")
    return 0

"""`hstar demo`: learn a heuristic on small problems, solve larger ones with it, show a page."""

from __future__ import annotations

import argparse
from pathlib import Path

from hstar.commands.arguments import Commands, positive
from hstar.commands.paper import run_paper

STORY = """\
Small blocksworld problems are generated, solved optimally and learned from. Then larger ones are
solved by greedy best-first search with the learned heuristic, by the same search with h^FF, each
with the same number of evaluations, and by the default planner, the one that 'hstar plan' runs."""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "demo", help="learn a heuristic and compare it, in minutes", description=STORY
    )
    parser.add_argument("-o", "--output", default="build/demo", metavar="DIR")
    parser.add_argument("--jobs", type=positive, metavar="N", help="default: one per core")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    print(STORY, flush=True)
    output = Path(options.output)
    run_paper("truncated-gaussian", "smoke", output, options.jobs, "hstar demo", device="cpu")
    return 0

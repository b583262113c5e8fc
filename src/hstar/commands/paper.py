"""`hstar paper`: run a paper's experiments and put its numbers beside ours."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from hstar.commands.arguments import Commands, UsageError, positive

PAPERS = ("truncated-gaussian",)


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "paper",
        help="regenerate the tables of a paper",
        description=(
            "Run the experiments of a paper and write its tables, with its numbers beside ours. "
            "What is finished is kept: the same command goes on where it was stopped."
        ),
    )
    parser.add_argument("paper", metavar="PAPER", help=f"one of {', '.join(PAPERS)}")
    parser.add_argument("--scale", default="smoke", help="smoke, small, proposed or full")
    parser.add_argument("-o", "--output", metavar="DIR", help="default: build/PAPER-SCALE")
    parser.add_argument("--jobs", type=positive, metavar="N", help="default: one per core")
    parser.add_argument("--device", default="auto", help="to train on: auto, cpu or cuda")
    parser.add_argument("--seed", type=int, default=0, help="of the problems")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    if options.paper not in PAPERS:
        raise UsageError(f"unknown paper '{options.paper}'; choose one of {', '.join(PAPERS)}")
    output = Path(options.output or f"build/{options.paper}-{options.scale}")
    jobs = options.jobs or os.cpu_count() or 1
    command = f"hstar paper {options.paper} --scale {options.scale}"
    run_paper(options.scale, output, jobs, options.device, options.seed, command)
    return 0


def run_paper(scale: str, output: Path, jobs: int, device: str, seed: int, command: str) -> None:
    """Run all stages and write report.html and tables.md. Raises UsageError."""
    from hstar.atomic import write_atomically
    from hstar.papers.page import build_page, markdown, summary_text
    from hstar.papers.truncated_gaussian import experiment_at, run_experiment, timed

    start = time.monotonic()
    output.mkdir(parents=True, exist_ok=True)
    try:
        experiment = experiment_at(
            scale, output, jobs=jobs, device=device, seed=seed, say=timed(_say)
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    results = run_experiment(experiment)
    for name in ("metrics", "planning", "curves"):
        getattr(results, name).write_parquet(output / f"{name}.parquet")
    seconds = time.monotonic() - start
    build_page(results, experiment.scale, scale, command, seconds).write(output / "report.html")
    write_atomically(output / "tables.md", markdown(results, experiment.scale))
    print(summary_text(results))
    print(
        f"{seconds:.0f} s. The whole comparison: {output / 'report.html'}, {output / 'tables.md'}"
    )


def _say(text: str) -> None:
    print(text, flush=True)

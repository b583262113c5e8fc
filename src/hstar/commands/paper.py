"""`hstar paper`: run the experiments of a paper and show its numbers beside ours."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

from hstar.commands.arguments import Commands, UsageError, positive

DESCRIPTION = """\
Run the experiments of a paper and write its tables, with its numbers beside ours. Finished parts
are kept: run the same command again to resume.

truncated-gaussian  learned heuristics for greedy search (smoke, small, proposed, full)
admissible-cea      pattern databases as certified networks (smoke, small, full)
"""
MODELS = "models"  # the default of --models


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "paper",
        help="regenerate the tables of a paper",
        description=DESCRIPTION,
    )
    parser.add_argument("paper", metavar="PAPER", help=f"one of {', '.join(PAPERS)}")
    parser.add_argument("--scale", default="smoke", help="smoke, small, proposed or full")
    parser.add_argument("-o", "--output", metavar="DIR", help="default: build/PAPER-SCALE")
    parser.add_argument("--jobs", type=positive, metavar="N", help="default: one per core")
    parser.add_argument("--device", default="auto", help="device for training: auto, cpu or cuda")
    parser.add_argument("--seed", type=int, default=0, help="random seed of problems and training")
    parser.add_argument(
        "--models",
        metavar="DIR",
        help=f"admissible-cea: certified models of the cube (default: {MODELS}, if it exists)",
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    if options.paper not in PAPERS:
        raise UsageError(f"unknown paper '{options.paper}'; choose one of {', '.join(PAPERS)}")
    PAPERS[options.paper](options)
    return 0


def run_truncated_gaussian(options: argparse.Namespace) -> None:
    if options.models is not None:
        raise UsageError("--models is for admissible-cea")
    command = f"hstar paper {options.paper} --scale {options.scale}"
    run_paper(
        options.scale, _output(options), _jobs(options), options.device, options.seed, command
    )


def run_paper(scale: str, output: Path, jobs: int, device: str, seed: int, command: str) -> None:
    """All stages of truncated-gaussian; writes report.html and tables.md. Raises UsageError."""
    from hstar.papers.experiment import timed
    from hstar.papers.truncated_gaussian.page import build_page, markdown, summary_text
    from hstar.papers.truncated_gaussian.recipe import experiment_at, run_experiment
    from hstar.runtime.atomic import write_atomically

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


def run_admissible_cea(options: argparse.Namespace) -> None:
    """All pieces of admissible-cea; writes report.html, tables.md, rows.json and CSV files."""
    from hstar.papers.admissible_cea.page import summary_text, write_results
    from hstar.papers.admissible_cea.recipe import experiment_at, run_experiment
    from hstar.papers.experiment import timed

    start = time.monotonic()
    output = _output(options)
    models = Path(options.models or MODELS)
    if options.models is not None and not models.is_dir():
        raise UsageError(f"--models: there is no folder {models}")
    try:
        experiment = experiment_at(
            options.scale,
            output,
            jobs=_jobs(options),
            device=options.device,
            seed=options.seed,
            models=models if models.is_dir() else None,
            say=timed(_say),
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    output.mkdir(parents=True, exist_ok=True)
    results = run_experiment(experiment)
    seconds = time.monotonic() - start
    command = f"hstar paper {options.paper} --scale {options.scale}"
    write_results(results, output, options.scale, command, seconds)
    print(summary_text(results))
    print(
        f"{seconds:.0f} s. The whole comparison: {output / 'report.html'}, {output / 'tables.md'}; "
        f"rows: {output / 'rows.json'}, {output / 'csv'}"
    )


PAPERS: dict[str, Callable[[argparse.Namespace], None]] = {
    "truncated-gaussian": run_truncated_gaussian,
    "admissible-cea": run_admissible_cea,
}


def _output(options: argparse.Namespace) -> Path:
    return Path(options.output or f"build/{options.paper}-{options.scale}")


def _jobs(options: argparse.Namespace) -> int:
    return options.jobs or os.cpu_count() or 1


def _say(text: str) -> None:
    print(text, flush=True)

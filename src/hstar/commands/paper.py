"""`hstar paper`: run the experiments of a paper and show its numbers beside ours."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from hstar.commands.arguments import Commands, UsageError, add_command, as_usage_error, positive
from hstar.papers import RECIPES

DESCRIPTION = """\
Run the experiments of a paper and write its tables, with its numbers beside ours. Finished work is
kept: the same command continues where it was stopped.

"""
MODELS = "models"  # where certified models are looked for unless --models says otherwise


def add_parser(commands: Commands) -> None:
    lines = [f"{n:<19} {one.title} ({', '.join(one.scales)})" for n, one in RECIPES.items()]
    about = DESCRIPTION + "\n".join(lines)
    parser = add_command(commands, "paper", "regenerate the tables of a paper", run, about)
    parser.add_argument("paper", metavar="PAPER", help=f"one of {', '.join(RECIPES)}")
    parser.add("--scale SCALE", "one of those above", default="smoke")
    parser.add("-o --output DIR", "default: build/PAPER-SCALE")
    parser.add("--jobs N", "default: one per core", positive)
    parser.add("--device DEVICE", "device for training: auto, cpu or cuda", default="auto")
    parser.add("--seed SEED", "random seed of problems and training", int, default=0)
    about = f"admissible-cea: certified models of the cube (default: {MODELS}, if it exists)"
    parser.add("--models DIR", about)
    about = (
        "folder of given problems; regression-sampling: with the folders hard and moderate; "
        "reward-shaping: with folders DOMAIN/train and DOMAIN/test, or for the scale compatibility "
        "DOMAIN with its problems"
    )
    parser.add("--suite DIR", about)
    about = (
        "regression-sampling: another planner to run beside ours, its command with {domain}, "
        "{problem}, {plan} and {limit} (seconds); may be repeated"
    )
    parser.add("--peer NAME=COMMAND", about, peer, action="append")


def run(options: argparse.Namespace) -> int:
    with as_usage_error():
        recipe = RECIPES.find(options.paper)
    more: dict[str, Any] = {}
    for name in ("models", "suite"):
        given = getattr(options, name)
        if given is not None and name not in recipe.options:
            raise UsageError(f"--{name} is for {recipes_with(name)}")
        if given is not None and not Path(given).is_dir():
            raise UsageError(f"--{name}: there is no folder {given}")
        if given is not None:
            more[name] = Path(given)
    if "models" in recipe.options and "models" not in more:
        more["models"] = Path(MODELS) if Path(MODELS).is_dir() else None
    if options.peer and "peers" not in recipe.options:
        raise UsageError(f"--peer is for {recipes_with('peers')}")
    if options.peer:
        more["peers"] = dict(options.peer)
    run_paper(
        options.paper,
        options.scale,
        Path(options.output or f"build/{options.paper}-{options.scale}"),
        options.jobs,
        shlex.join(["hstar", *sys.argv[1:]]),
        device=options.device,
        seed=options.seed,
        **more,
    )
    return 0


def recipes_with(option: str) -> str:
    return ", ".join(name for name, one in RECIPES.items() if option in one.options)


def peer(text: str) -> tuple[str, str]:
    """For argparse: NAME=COMMAND."""
    from hstar.papers.peers import check_peer

    name, _, command = text.partition("=")
    try:
        if not name or "/" in name or name.startswith("."):
            raise ValueError("it has no name that a file could have")
        check_peer(command)
    except ValueError as error:
        message = f"'{text}' is not NAME=COMMAND: {error}"
        raise argparse.ArgumentTypeError(message) from None
    return name, command


def run_paper(
    paper: str, scale: str, output: Path, jobs: int | None, command: str, **options: Any
) -> None:
    """Run a recipe, write its page and tables, and print what they come to. Raises UsageError."""
    from hstar.papers.experiment import timed

    start = time.monotonic()
    package = RECIPES.find(paper).package
    recipe, page, scales = (
        import_module(f"{package}.{module}") for module in ("recipe", "page", "scales")
    )
    if scale not in scales.SCALES:
        raise UsageError(f"unknown scale '{scale}'; choose one of {', '.join(scales.SCALES)}")
    output.mkdir(parents=True, exist_ok=True)
    say = timed(partial(print, flush=True))
    chosen = scales.SCALES[scale], output, jobs or os.cpu_count() or 1
    with as_usage_error():
        experiment = recipe.Experiment(*chosen, say=say, **options)
    results = recipe.run_experiment(experiment)
    seconds = time.monotonic() - start
    files = page.write_results(results, experiment, scale, command, seconds)
    print(page.summary_text(results))
    print(f"{seconds:.0f} s. See {', '.join(str(output / name) for name in files)}")

"""`hstar paper`: run the experiments of a paper and show its numbers beside ours."""

from __future__ import annotations

import os
import shlex
import sys
import time
from pathlib import Path
from typing import Any

from hstar.commands.arguments import Options, Parser, UsageError, as_usage_error, positive, value
from hstar.papers import OVERRIDES, PAPERS, papers_with, prepare_paper

HELP = "regenerate the tables of a paper"
DESCRIPTION = """\
Run the experiments of a paper and write its tables, with its numbers beside ours. Finished work is
kept: the same command continues where it was stopped. A scale is a named set of values; --seeds,
--steps and so on take the place of its own.

""" + "\n".join(f"{n:<19} {one.title} ({', '.join(one.scales)})" for n, one in PAPERS.items())
MODELS = Path("models")  # where certified models are looked for unless --models says otherwise
SINGLE = ("limit", "learn", "tests")


def step(text: str) -> tuple[str, int]:
    """Of "300" or KIND=NUMBER."""
    kind, _, number = text.rpartition("=")
    return kind, positive(number)


KINDS: dict[str, Any] = {"seeds": int, "steps": step}
METAVARS = {"tests": "N", "states": "N", "limit": "TIME", "learn": "TIME"}


def add_arguments(parser: Parser) -> None:
    parser.add_argument("paper", metavar="PAPER", help=f"one of {', '.join(PAPERS)}")
    parser.add("--scale SCALE", "one of those above", default="smoke")
    parser.add("-o --output DIR", "default: build/PAPER-SCALE")
    parser.add("--jobs N", "default: one per core")
    parser.add("--device DEVICE", "device for training: auto, cpu or cuda", default="auto")
    parser.add("--seed SEED", "random seed of problems and training", int, default=0)
    for name, text in OVERRIDES.items():
        more: dict[str, Any] = {} if name in SINGLE else {"nargs": "+"}
        metavar = METAVARS.get(name, name.rstrip("s").upper())
        about = f"{text}; for {papers_with(name)}"
        parser.add(f"--{name} {metavar}", about, KINDS.get(name), **more)
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


def run(options: Options) -> int:
    paper, scale = options.paper, options.scale
    with as_usage_error():
        known = PAPERS.find(paper).options
        given = {n: getattr(options, n) for n in OVERRIDES if getattr(options, n) is not None}
        if "steps" in given:
            numbers = dict(given["steps"])
            if "" in numbers and len(numbers) > 1:
                raise UsageError("--steps is one number, or KIND=NUMBER for each kind of learner")
            given["steps"] = numbers.get("", numbers)
        settings: dict[str, Any] = {}
        for name in ("models", "suite"):
            folder = getattr(options, name)
            if folder is not None:
                if not Path(folder).is_dir():
                    raise UsageError(f"--{name}: there is no folder {folder}")
                settings[name] = Path(folder)
        if "models" in known and MODELS.is_dir():
            settings.setdefault("models", MODELS)
        if options.peer:
            settings["peers"] = dict(options.peer)
        output = Path(options.output or f"build/{paper}-{scale}")
        start = time.monotonic()
        settings["say"] = lambda text: print(f"[{time.monotonic() - start:6.1f} s] {text}")
        settings |= {"jobs": options.jobs or os.cpu_count() or 1, "device": options.device}
        study = prepare_paper(paper, scale, output, given, seed=options.seed, **settings)
    output.mkdir(parents=True, exist_ok=True)
    report = study.report(study.execute(), scale)
    seconds = time.monotonic() - start
    files = report.write(output, shlex.join(["hstar", *sys.argv[1:]]), seconds)
    print(report.summary)
    print(f"{seconds:.0f} s. See {', '.join(str(output / name) for name in files)}")
    return 0


@value
def peer(text: str) -> tuple[str, str]:
    from hstar.experiments.bench.peers import check_peer

    name, _, command = text.partition("=")
    try:
        if not name or "/" in name or name.startswith("."):
            raise ValueError("it has no name that a file could have")
        check_peer(command)
    except ValueError as error:
        raise ValueError(f"'{text}' is not NAME=COMMAND: {error}") from None
    return name, command

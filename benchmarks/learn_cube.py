"""Certified networks for the pattern databases of the 3x3x3 cube, each within a number of bytes.

    python benchmarks/learn_cube.py 8-corner --folder build/cube --train-minutes 6 --limit-minutes 9

builds the table (once), learns, sweeps every state and writes FOLDER/TARGET.safetensors. A call
ends by itself after --limit-minutes; the same call again goes on where it stopped, and says
"finished" when there is nothing left to do. Runs on a GPU where there is one. What is written is
checked from scratch, in the core, by `hstar pdb verify FOLDER/TARGET.safetensors`. 8-corner-small
goes on from FOLDER/8-corner.safetensors.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from hstar.papers.admissible_cea.scales import CORNERS, GOALS, SUBJECTS, Learning
from hstar.pdb import PatternDatabase, build_difference, compress, read_pdb, write_pdb
from hstar.planning.puzzle import Puzzle, make_puzzle
from hstar.runtime.atomic import write_atomically
from hstar.runtime.progress import Progress
from hstar.slots.objectives import make_objective
from hstar.slots.pattern_network import read_learned
from hstar.training.certified.learning import CertifiedNetwork, learn
from hstar.training.certified.sweep import SweepOptions
from hstar.training.loop import Line
from hstar.training.options import TrainOptions
from hstar.training.source import TableData
from hstar.training.train import prepare_table

# docs/pattern_databases.md says why corners are read by symmetry class, and why the smaller network
# goes on from the larger one.
START = {"8-corner-small": "8-corner"}
TIMED_STEPS = 60
STOPPED = 75  # exit code: call again


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("target", choices=list(GOALS))
    parser.add_argument("--folder", type=Path, default=Path("build/cube"))
    parser.add_argument("--limit-minutes", type=float, default=9.0, help="of this call")
    parser.add_argument("--train-minutes", type=float, default=6.0, help="of training in all")
    parser.add_argument(
        "--sweep-minutes", type=float, default=4.0, help="of this call, kept for the sweeps"
    )
    parser.add_argument("--steps", type=int, help="instead of --train-minutes")
    parser.add_argument("--budget", type=int, help="bytes of the file")
    parser.add_argument("--mean", type=float, help="smallest file with this mean instead")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, default=0, help="of sweeps in the core")
    parser.add_argument("--share", type=int, default=8, help="choose thresholds by one in N states")
    parser.add_argument("--compile", action="store_true")
    for name in ("hidden", "width", "blocks", "bits", "batch", "seed", "evaluate_every"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=int)
    for name in ("beta", "eta", "learning_rate", "quantize_from"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=float)
    parser.add_argument("--loss", choices=["cea", "ce"])
    parser.add_argument("--pace", choices=["fixed", "phases"])
    given = parser.parse_args()
    started = time.monotonic()
    deadline = started + 60 * (given.limit_minutes - given.sweep_minutes)
    given.folder.mkdir(parents=True, exist_ok=True)
    output = given.folder / f"{given.target}.safetensors"
    if output.exists():
        print(f"finished: {output}")
        return 0
    goal = GOALS[given.target]
    start = None
    if given.target in START:
        begun = given.folder / f"{START[given.target]}.safetensors"
        if not begun.exists():
            sys.exit(f"{begun} is not there; learn {begun.stem} first or copy it from models/")
        start = read_learned(begun).model.network
    puzzle = make_puzzle("cube3")
    data = TableData(table_of(goal, given.folder, puzzle), puzzle)
    options = options_of(given, goal, data)
    print(json.dumps({"target": given.target, **options.to_dict()}), flush=True)
    sweeping = SweepOptions(given.threads, 4096, Progress)
    with Progress("learn", options.steps) as progress:

        def report(line: Line, steps: int) -> None:
            progress.update(line["step"], describe(line))

        learned = learn(data, output, options, sweeping, report, deadline, start)
    if learned is None:
        print("stopped while training: call again")
        return STOPPED
    print(f"trained: {describe(learned.loop.curve[-1])}")
    print(json.dumps(result_of(learned, time.monotonic() - started)))
    print(f"finished: {output}")
    return 0


def table_of(goal: Learning, folder: Path, cube: Puzzle) -> PatternDatabase:
    """The exact table, built once per folder."""
    path, subject = folder / f"{goal.subject}.pdb", SUBJECTS[goal.subject]
    if not path.exists():
        database = build_difference(cube, subject.pattern, subject.base)
        write_pdb(path, compress(database, symmetric=True) if subject is CORNERS else database)
    return read_pdb(path)


def options_of(given: argparse.Namespace, goal: Learning, data: TableData) -> TrainOptions:
    """What the command line changes, and as many steps as the time allows (a network that is gone
    on from takes those of its goal). The choice is kept in the folder, so that a later call goes on
    with it."""
    budget = None if given.mean is not None else given.budget or goal.budget
    options = replace(
        goal.options,
        **_given(given, "bits", "batch", "seed", "evaluate_every", "learning_rate", "steps"),
        **_given(given, "quantize_from", "device", "compile"),
        model_options={**goal.options.model_options, **_given(given, "hidden", "width", "blocks")},
        decode_options={"budget": budget, "mean": given.mean, "share": given.share},
    )
    changes = _given(given, "beta", "eta", "pace")
    if given.loss == "ce":
        options = replace(options, objective=make_objective("ce", **changes))
    elif changes:
        options = replace(options, objective=replace(goal.options.objective, **changes))
    if given.steps is not None or given.target in START:
        return options
    kept = given.folder / f"{given.target}.steps.json"
    key = json.dumps([options.to_dict(), given.train_minutes], sort_keys=True)
    if kept.exists() and (held := json.loads(kept.read_text()))["key"] == key:
        return replace(options, steps=held["steps"])
    steps = affordable_steps(options, data, 60 * given.train_minutes)
    write_atomically(kept, json.dumps({"key": key, "steps": steps}))
    return replace(options, steps=steps)


def _given(given: argparse.Namespace, *names: str) -> dict[str, Any]:
    return {name: getattr(given, name) for name in names if getattr(given, name) is not None}


def affordable_steps(options: TrainOptions, data: TableData, seconds: float) -> int:
    """How many steps fit: some of each sort are timed."""
    steps = 4 * TIMED_STEPS
    short = replace(options, steps=steps, evaluate_every=TIMED_STEPS, quantize_from=0.5)
    marks: list[float] = []

    def report(line: Line, steps: int) -> None:
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        marks.append(time.monotonic())

    prepare_table(data, short).run(None, report)
    plain, rounding = marks[1] - marks[0], marks[3] - marks[2]  # the first of each sort warms up
    each = plain * options.quantize_from + rounding * (1 - options.quantize_from)
    return max(1000, round(seconds / each * TIMED_STEPS))


def describe(line: Line) -> str:
    return (
        f"loss {line['train_loss']:.5f}, right {line['accuracy']:.4f}, "
        f"too large {line['overestimates']:.2e}, beta {line['beta']:g}, eta {line['eta']:g}"
    )


def result_of(learned: CertifiedNetwork, seconds: float) -> dict[str, Any]:
    model, certificate = learned.file.model, learned.file.certificate or {}
    return {
        "bytes": learned.num_bytes,
        "parameters": model.network.num_parameters,
        "exceptions": sum(one.count for one in model.exceptions),
        "exception_bytes": sum(len(one.code) for one in model.exceptions),
        "states": certificate["states"],
        "overestimates": certificate["overestimates"],
        "mean": certificate["mean"],
        "exact_mean": certificate["exact_total"] / certificate["states"],
        "steps": learned.loop.curve[-1]["step"],
        "training_seconds": round(learned.loop.seconds, 1),
        "seconds_of_this_call": round(seconds, 1),
    }


if __name__ == "__main__":
    sys.exit(main())

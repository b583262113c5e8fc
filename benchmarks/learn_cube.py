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
from hstar.learned.certified_file import LearnedFile, read_learned, write_learned
from hstar.training.refining import options_from
from hstar.training.rounded import Training, Window

from hstar.certified.certificate import Certificate
from hstar.certified.cube import GOALS, CubeGoal
from hstar.certified.device_sweep import DeviceSweep
from hstar.certified.learning import Target, agreement, finish
from hstar.certified.sweep import AnySweep, Sweep, SweepOptions
from hstar.features.pattern_states import PatternStates, states_to_learn, states_to_sweep
from hstar.models.integer_network import Network
from hstar.pdb import PatternDatabase, read_pdb, write_pdb
from hstar.runtime.atomic import write_atomically
from hstar.runtime.progress import Progress
from hstar.spaces.puzzle import Puzzle, make_puzzle
from hstar.training.options import LearnOptions
from hstar.training.train import choose_device

TIMED_STEPS = 60
STOPPED = 75  # exit code: call again


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("target", choices=list(GOALS))
    parser.add_argument("--folder", type=Path, default=Path("build/cube"))
    parser.add_argument("--limit-minutes", type=float, default=9.0, help="of this call")
    parser.add_argument("--train-minutes", type=float, default=6.0, help="of training in all")
    parser.add_argument(
        "--sweep-minutes", type=float, default=4.0, help="sweeps begin only with so much time left"
    )
    parser.add_argument("--steps", type=int, help="instead of --train-minutes")
    parser.add_argument("--budget", type=int, help="bytes of the file")
    parser.add_argument("--mean", type=float, help="smallest file with this mean instead")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, default=0, help="of sweeps in the core")
    parser.add_argument("--core-sweep", action="store_true", help="sweep in the core, not on a GPU")
    parser.add_argument("--share", type=int, default=8, help="choose thresholds by one in N states")
    parser.add_argument("--compile", action="store_true")
    for name in ("hidden", "width", "blocks", "bits", "batch", "seed", "evaluate_every"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=int)
    for name in ("beta", "eta", "learning_rate", "quantize_from"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=float)
    parser.add_argument("--loss", choices=["cea", "ce"])
    parser.add_argument("--pace", choices=["fixed", "phases"])
    given = parser.parse_args()
    deadline = time.monotonic() + 60 * given.limit_minutes
    given.folder.mkdir(parents=True, exist_ok=True)
    output = given.folder / f"{given.target}.safetensors"
    if output.exists():
        print(f"finished: {output}")
        return 0
    goal = GOALS[given.target]
    start = None
    if goal.start is not None:
        begun = given.folder / f"{goal.start}.safetensors"
        if not begun.exists():
            sys.exit(f"{begun} is not there; learn {goal.start} first or copy it from models/")
        start = read_learned(begun).model.network
    puzzle = make_puzzle("cube3")
    database = table_of(goal, given.target, given.folder, puzzle)
    states = states_to_learn(database, puzzle, choose_device(given.device))
    options = options_of(given, goal, states, start)
    print(json.dumps({"target": given.target, **options.to_dict()}), flush=True)
    training = Training(states, options, start)
    with Progress("learn", options.steps) as progress:

        def report(window: Window, steps: int) -> None:
            progress.update(window.step, describe(window))

        if not training.run(given.folder / f"{given.target}.partial", report, deadline):
            print(f"stopped at step {training.step} of {options.steps}: call again")
            return STOPPED
    same, distance = agreement(training)
    print(
        f"trained: {describe(training.curve[-1])}; integers agree on {same:.4f}, to {distance:.3f}"
    )
    left = (deadline - time.monotonic()) / 60
    if left < given.sweep_minutes < given.limit_minutes - left:
        print("stopped before the sweeps: call again")
        return STOPPED
    on_gpu = states.device.type == "cuda" and not given.core_sweep
    sweep: AnySweep = (
        DeviceSweep(states_to_sweep(database, puzzle, states), 2**18, Progress)
        if on_gpu
        else Sweep(database, puzzle, SweepOptions(given.threads, 4096, Progress))
    )
    budget = None if given.mean is not None else given.budget or goal.budget
    started = time.monotonic()
    target = Target(budget=budget, mean=given.mean, share=given.share)
    file, certificate = finish(training, database, sweep, target)
    size = write_learned(output, file)
    print(json.dumps(result_of(file, certificate, size, training, time.monotonic() - started)))
    print(f"finished: {output}")
    return 0


def table_of(goal: CubeGoal, name: str, folder: Path, cube: Puzzle) -> PatternDatabase:
    """The exact table, built once per folder."""
    path = folder / f"{name.removesuffix('-small')}.pdb"
    if not path.exists():
        write_pdb(path, goal.table(cube))
    return read_pdb(path)


def options_of(
    given: argparse.Namespace, goal: CubeGoal, states: PatternStates, start: Network | None
) -> LearnOptions:
    """What the command line changes, and as many steps as the time allows (a network that is gone
    on from takes those of its goal). The choice is kept in the folder, so that a later call goes on
    with it."""
    names = ("hidden", "width", "blocks", "bits", "batch", "seed", "evaluate_every")
    names += ("learning_rate", "quantize_from", "pace")
    changes: dict[str, Any] = {
        name: getattr(given, name) for name in names if getattr(given, name) is not None
    }
    loss = {n: getattr(given, n) for n in ("beta", "eta") if getattr(given, n) is not None}
    if given.loss is not None:
        loss["name"] = given.loss
    options = replace(
        goal.options,
        **changes,
        loss=replace(goal.options.loss, **loss),
        device=given.device,
        compile=given.compile,
    )
    if given.steps is not None:
        options = replace(options, steps=given.steps)
    if start is not None:
        return options_from(start, options)
    if given.steps is not None:
        return options
    kept = given.folder / f"{given.target}.steps.json"
    key = json.dumps([options.to_dict(), given.train_minutes], sort_keys=True)
    if kept.exists() and (held := json.loads(kept.read_text()))["key"] == key:
        return replace(options, steps=held["steps"])
    steps = affordable_steps(options, states, 60 * given.train_minutes)
    write_atomically(kept, json.dumps({"key": key, "steps": steps}))
    return replace(options, steps=steps)


def affordable_steps(options: LearnOptions, states: PatternStates, seconds: float) -> int:
    """How many steps fit: some of each sort are timed."""
    steps = 4 * TIMED_STEPS
    short = replace(options, steps=steps, evaluate_every=TIMED_STEPS, quantize_from=0.5)
    marks: list[float] = []

    def report(window: Window, steps: int) -> None:
        if states.device.type == "cuda":
            torch.cuda.synchronize()
        marks.append(time.monotonic())

    Training(states, short).run(None, report)
    plain, rounding = marks[1] - marks[0], marks[3] - marks[2]  # the first of each sort warms up
    each = plain * options.quantize_from + rounding * (1 - options.quantize_from)
    return max(1000, round(seconds / each * TIMED_STEPS))


def describe(window: Window) -> str:
    return (
        f"loss {window.loss:.5f}, right {window.accuracy:.4f}, "
        f"too large {window.overestimates:.2e}, beta {window.beta:g}, eta {window.eta:g}"
    )


def result_of(
    file: LearnedFile, certificate: Certificate, size: int, training: Training, seconds: float
) -> dict[str, Any]:
    model = file.model
    return {
        "bytes": size,
        "parameters": model.network.num_parameters,
        "exceptions": sum(one.count for one in model.exceptions),
        "exception_bytes": sum(len(one.code) for one in model.exceptions),
        "states": certificate.states,
        "overestimates": certificate.overestimates,
        "mean": certificate.mean,
        "exact_mean": certificate.exact_total / certificate.states,
        "steps": training.options.steps,
        "sweep_seconds": round(seconds, 1),
    }


if __name__ == "__main__":
    sys.exit(main())

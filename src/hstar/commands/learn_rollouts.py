"""`hstar learn FOLDER --teacher rollouts`: reinforcement learning on the problems of a folder."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
from typing import TYPE_CHECKING, Any

from hstar import _core
from hstar.commands.arguments import (
    UsageError,
    as_usage_error,
    budget_of,
    named_values,
)
from hstar.commands.learning_run import output_file, read_problems, run_learner, warn

if TYPE_CHECKING:
    from hstar.training.reinforcement.presets import RtdpSettings

SECONDS = 600.0  # if nothing is said
MOST_THREADS = 4


def run_rollouts(options: argparse.Namespace) -> int:
    start = _core.monotonic_seconds()
    budget = budget_of(options)
    settings = rtdp_settings(named_values(options.option), options.steps)
    from hstar.learning.rollouts import Outcome, RolloutLearner, usable_tasks
    from hstar.runtime.code import code_digest
    from hstar.runtime.journal import Journal, digest_of
    from hstar.runtime.progress import Progress

    for name in ("objective", "states", "width"):
        if getattr(options, name) is not None:
            raise UsageError(f"--{name} is for one problem; rollouts take --option NAME=VALUE")
    output_file(options)
    problems = read_problems(options.files)
    seconds = options.time
    if seconds is None:
        seconds = float("inf") if options.steps is not None else SECONDS
    described = {
        "settings": json.loads(json.dumps(settings.to_dict())),
        "seed": options.seed,
        "problems": digest_of(json.dumps([digest for digest, _ in problems])),
        "code": code_digest(),
    }

    def say(line: str) -> None:
        if not options.json:
            print(line, flush=True)

    def learn(journal: Journal) -> Outcome:
        tasks = usable_tasks([problem for _, problem in problems], budget, say)
        learner = RolloutLearner(
            tasks,
            settings,
            options.seed,
            budget,
            say,
            max(seconds - (_core.monotonic_seconds() - start), 1e-9),
            min(MOST_THREADS, len(os.sched_getaffinity(0))),
            journal.file("learner.safetensors"),
            digest_of(json.dumps(described)),
        )
        for warning in learner.rtdp.warnings:
            warn(warning)
        split = learner.split
        of_choice = len(learner.choice) - len(split.choice)
        say(
            f"{counted(len(split.training), len(learner.unions))} to learn from, "
            f"{counted(len(split.choice), of_choice)} to choose weights by, "
            f"{counted(len(split.verdict), 0)} for the verdict"
        )
        with Progress("learning", settings.updates, already=learner.steps) as progress:
            return learner.run(progress.update)

    return run_learner(options, budget, described, learn, "Held-out problems")


def counted(problems: int, unions: int) -> str:
    return f"{problems} problems" + (f" and {unions} unions of problems" if unions else "")


def rtdp_settings(given: dict[str, str], steps: int | None) -> RtdpSettings:
    """A preset with the options that were named. Raises UsageError."""
    from hstar.training.reinforcement.presets import RtdpSettings, changed, find_preset
    from hstar.training.reinforcement.shaping import Shaping

    with as_usage_error():
        preset = find_preset(given.pop("preset", "own"))
        defaults: dict[str, Any] = {}
        for kind in (RtdpSettings(), Shaping()):
            defaults |= {f.name: getattr(kind, f.name) for f in dataclasses.fields(kind)}
        del defaults["shaping"], defaults["updates"]
        chosen: dict[str, Any] = {}
        for name, text in given.items():
            if name not in defaults:
                known = ", ".join(["preset", *defaults])
                raise ValueError(f"rollouts have no option '{name}'; their options are: {known}")
            chosen[name] = _value(name, text, type(defaults[name]))
        if steps is not None:
            chosen["updates"] = steps
        return changed(preset, **chosen)


def _value(name: str, text: str, kind: type) -> Any:
    if kind is bool:
        if text not in ("yes", "no"):
            raise ValueError(f"the option {name} is yes or no, not '{text}'")
        return text == "yes"
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"the option {name} wants a number, not '{text}'") from None

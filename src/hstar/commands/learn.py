"""`hstar learn`: a heuristic for one problem or for a domain, and whether it is worth using."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hstar import _core
from hstar.commands.arguments import (
    Commands,
    UsageError,
    add_command,
    as_usage_error,
    budget_of,
    duration,
    input_files,
    named_values,
    positive,
    seed,
)
from hstar.commands.learning_run import output_file, run_learner
from hstar.pddl import parse

if TYPE_CHECKING:
    from hstar.learning.networks import Candidate

DESCRIPTION = """\
Learn a heuristic for one problem, and for all problems with its domain, objects and goal. It
samples states backwards from the goal, trains small networks, and keeps the one that solves most
states in short searches. It ends with a verdict: whether the network beats the default planner.

With a folder of problems, learn a heuristic for all problems of their domain. It learns from plans
of the smaller problems, chooses a model and a way of searching on larger ones, and compares it with
the default planner on others. With --teacher rollouts it learns by reinforcement learning instead:
it searches on the problems again and again, and learns from what happens.

Use the result with 'hstar plan PROBLEM -H FILE'. Ctrl-C ends the run with the best network so far.
To resume a killed run, run the same command again.
"""


def add_parser(commands: Commands) -> None:
    parser = add_command(
        commands, "learn", "learn a heuristic for a problem or a domain", run, DESCRIPTION
    )
    about = "DOMAIN may be left out when domain.pddl lies beside PROBLEM"
    parser.add_argument("files", nargs="+", metavar="[DOMAIN] PROBLEM|FOLDER", help=about)
    parser.add("-o --output FILE", "the model, a .safetensors file", required=True)
    about = "total time, trials included (default: 2m; 10m for a folder)"
    parser.add("--time TIME", about, duration)
    about = "for a folder: count work instead of time, which gives the same file each time"
    parser.add("--steps N", about, positive)
    about = "where states come from, see 'hstar label --teachers' (default: several in turn)"
    parser.add("--teacher NAME", about)
    about = "an option of the teacher; may be repeated"
    parser.add("--option NAME=VALUE", about, action="append", default=[])
    about = "squared (default with --teacher), interval, truncated-gaussian or l-gbfs"
    parser.add("--objective NAME", about)
    parser.add("--states N", "sampled per network (default: 100000)", positive)
    parser.add("--width N", "of the network's layers (default: 128)", positive)
    parser.add("--seed N", "random seed", seed, default=0)
    parser.add_json()
    parser.add_limits()


def run(options: argparse.Namespace) -> int:
    is_folder = Path(options.files[-1]).is_dir()
    if options.teacher == "rollouts":
        from hstar.commands.learn_rollouts import run_rollouts

        return run_rollouts(options)
    if is_folder and options.teacher is None:
        from hstar.commands.learn_domain import run_domain

        return run_domain(options)
    if is_folder:
        raise UsageError(f"the teacher '{options.teacher}' takes one problem; a folder: rollouts")
    if options.steps is not None:
        raise UsageError("--steps is for folders and rollouts; give --time")
    return run_instance(options)


def run_instance(options: argparse.Namespace) -> int:
    start = _core.monotonic_seconds()
    budget = budget_of(options)
    from hstar.learning.instance import InstanceLearner, Learned, LearnOptions
    from hstar.runtime.code import code_digest
    from hstar.runtime.journal import Journal, digest_of

    domain_path, problem_path = input_files(options.files)
    output_file(options)
    defaults = LearnOptions()
    width = options.width or defaults.network.width
    chosen = replace(
        defaults,
        seconds=options.time or defaults.seconds,
        states=options.states or defaults.states,
        seed=options.seed,
        network=replace(defaults.network, hidden=width, width=width),
        candidates=chosen_candidates(options),
    )
    settings = {
        "learn": json.loads(json.dumps(chosen.to_dict())),
        "domain": digest_of(domain_path.read_bytes()),
        "problem": digest_of(problem_path.read_bytes()),
        "code": code_digest(),
    }

    def say(line: str) -> None:
        if not options.json:
            print(line, flush=True)

    def learn(journal: Journal) -> Learned:
        problem = parse(domain_path, problem_path)
        left = chosen.seconds - (_core.monotonic_seconds() - start)
        limited = replace(chosen, seconds=max(left, 1e-9))
        learner = InstanceLearner(problem, limited, budget, say, journal.read, journal.write)
        return learner.run()

    return run_learner(options, budget, settings, learn, "Walks from the initial state")


def chosen_candidates(options: argparse.Namespace) -> tuple[Candidate, ...]:
    """The teacher that was named, or all that are usual. Raises UsageError."""
    from hstar.learning.networks import CANDIDATES, Candidate
    from hstar.slots.teachers import TEACHERS
    from hstar.training.native import MlpOptions

    with as_usage_error():
        objective = MlpOptions(objective=options.objective or "squared").objective
    given = named_values(options.option)
    if options.teacher is None:
        if given:
            raise UsageError("--option belongs to a teacher; name it with --teacher")
        if options.objective is None:
            return CANDIDATES
        return tuple(replace(one, objective=objective) for one in CANDIDATES)
    with as_usage_error():
        teacher = TEACHERS.find(options.teacher)
        settings = teacher.settings(given)
    if teacher.sample is None:
        fitting = [name for name in TEACHERS if TEACHERS.find(name).sample is not None]
        raise UsageError(
            f"the teacher '{options.teacher}' does not sample one problem; "
            f"choose one of {', '.join(fitting)}"
        )
    for name in given.keys() & {"states", "seed"}:
        raise UsageError(f"--option {name} is --{name} here")
    return (Candidate(options.teacher, {n: settings[n] for n in given}, objective),)

"""`hstar learn`: a heuristic for one problem, and whether it is worth using."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from hstar.commands.arguments import (
    EPILOG,
    Commands,
    UsageError,
    add_limits,
    duration,
    input_files,
    positive,
)
from hstar.pddl import parse
from hstar.runtime.atomic import check_writable
from hstar.runtime.resources import Budget

DESCRIPTION = """\
Learn a heuristic for one problem, and for all problems with its domain, objects and goal. It
samples states backwards from the goal, trains small networks, and keeps the one that solves most
states in short searches. It ends with a verdict: whether the network beats the default planner.

Use the result with 'hstar plan PROBLEM -H FILE'. A run that was stopped goes on where it was.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "learn",
        help="learn a heuristic for one problem",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    parser.add_argument(
        "files",
        nargs="+",
        metavar="[DOMAIN] PROBLEM",
        help="DOMAIN may be left out when domain.pddl lies beside PROBLEM",
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="the model, such as m.safetensors"
    )
    parser.add_argument(
        "--time", type=duration, default=120.0, metavar="TIME", help="for everything (default: 2m)"
    )
    parser.add_argument(
        "--states", type=positive, default=100_000, metavar="N", help="sampled per network"
    )
    parser.add_argument(
        "--width", type=positive, default=128, metavar="N", help="of the network's layers"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of all draws")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON on stdout")
    add_limits(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    import dataclasses

    from hstar.learned.file import write_model
    from hstar.learning.instance import InstanceLearner, LearnOptions
    from hstar.runtime.code import code_digest
    from hstar.runtime.journal import Journal, digest_of

    domain_path, problem_path = input_files(options.files)
    output = Path(options.output)
    check_writable(output)
    budget = Budget.starting_now(options.overall_time_limit, options.overall_memory_limit)
    say = (lambda line: print(line, flush=True)) if not options.json else (lambda _line: None)
    defaults = LearnOptions()
    network = dataclasses.replace(defaults.network, hidden=options.width, width=options.width)
    chosen = dataclasses.replace(
        defaults, seconds=options.time, states=options.states, seed=options.seed, network=network
    )
    settings = {
        "learn": json.loads(json.dumps(chosen.to_dict())),
        "domain": digest_of(domain_path.read_bytes()),
        "problem": digest_of(problem_path.read_bytes()),
        "code": code_digest("features", "learning", "models", "teachers", "training"),
    }
    journal = Journal(output, settings, lambda line: print(f"hstar: {line}", file=sys.stderr))
    with journal.held(), budget.enforced():
        problem = parse(domain_path, problem_path)
        try:
            learner = InstanceLearner(problem, chosen, budget, say, journal.read, journal.write)
            found = learner.run()
        except ValueError as error:
            raise UsageError(f"nothing can be learned for {problem.name}: {error}") from error
        if found.file is not None:
            write_model(output, found.file)
        journal.remove()
    if options.json:
        print(json.dumps(found.to_dict()))
    else:
        print(f"Walks from the initial state: {found.sentence()}.")
        if found.file is not None:
            print(f"The model is in {output}; use it with 'hstar plan PROBLEM -H {output}'.")
    return 0 if found.file is not None else 12

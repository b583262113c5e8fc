"""`hstar info`: what a problem contains."""

from __future__ import annotations

import argparse

from hstar import _core
from hstar.commands.arguments import EPILOG, Commands, add_files, add_limits, input_files
from hstar.pddl import parse
from hstar.runtime.resources import Budget
from hstar.spaces.info import describe_task
from hstar.spaces.task import ground


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser("info", help="what a problem contains", epilog=EPILOG)
    add_files(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.add_argument("--mutex-groups", action="store_true", help="list the mutex groups")
    add_limits(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    domain_path, problem_path = input_files(options.files)
    budget = Budget.starting_now(options.overall_time_limit, options.overall_memory_limit)
    with budget.enforced():
        start = _core.monotonic_seconds()
        problem = parse(domain_path, problem_path)
        parsed = _core.monotonic_seconds()
        task = ground(problem, keep_irrelevant=options.keep_irrelevant, budget=budget)
        grounded = _core.monotonic_seconds()
        description = describe_task(task, with_mutex_groups=options.mutex_groups)
    description.times = {"parse_time": parsed - start, "ground_time": grounded - parsed}
    print(description.to_json() if options.json else description.to_text())
    return 0

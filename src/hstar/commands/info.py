"""`hstar info`: what a problem contains."""

from __future__ import annotations

import argparse

from hstar import _core
from hstar.commands.arguments import Commands, add_command, budget_of, input_files
from hstar.pddl import parse
from hstar.planning.info import describe_task
from hstar.planning.task import ground


def add_parser(commands: Commands) -> None:
    parser = add_command(commands, "info", "describe what a problem contains", run)
    parser.add_files()
    parser.add_json()
    parser.add("--mutex-groups", "list the mutex groups")
    parser.add_limits()


def run(options: argparse.Namespace) -> int:
    domain_path, problem_path = input_files(options.files)
    budget = budget_of(options)
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

"""`hstar info`: what a problem contains."""

from __future__ import annotations

from hstar import _core
from hstar.commands.arguments import Options, Parser, input_files
from hstar.pddl import parse
from hstar.planning.info import describe_task
from hstar.planning.task import ground

HELP = "describe what a problem contains"


def add_arguments(parser: Parser) -> None:
    parser.add_files()
    parser.add_json()
    parser.add("--mutex-groups", "list the mutex groups")
    parser.add_limits()


def run(options: Options) -> int:
    domain_path, problem_path = input_files(options.files)
    budget = options.start_budget()
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

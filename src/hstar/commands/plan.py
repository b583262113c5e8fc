"""`hstar plan`: solve a problem."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from hstar import _core
from hstar.commands.arguments import (
    EPILOG,
    Commands,
    UsageError,
    add_files,
    add_limits,
    input_files,
    positive,
)
from hstar.heuristics import COST_TYPES, HEURISTICS, TaskHeuristic, is_model_file
from hstar.pddl import parse
from hstar.runtime.atomic import check_writable, write_atomically
from hstar.runtime.resources import Budget, OutOfResources
from hstar.search import (
    ALGORITHMS,
    STRONGEST,
    SearchOptions,
    SearchResult,
    plan_problem,
    stopped_before_search,
)


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "plan",
        help="solve a problem",
        description=(
            "Solve a planning problem. Without flags: "
            f"{STRONGEST.describe()}, the strongest satisficing configuration."
        ),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_files(parser)
    parser.add_argument(
        "-H",
        "--heuristic",
        metavar="NAME",
        help=f"one of {', '.join(HEURISTICS)}, a model file, or pdb:FILE,FILE (pattern databases)",
    )
    parser.add_argument("-s", "--search", metavar="NAME", help=f"one of {', '.join(ALGORITHMS)}")
    parser.add_argument(
        "--cost",
        metavar="TYPE",
        help=f"operator costs inside the heuristic: {', '.join(COST_TYPES)}",
    )
    parser.add_argument("--weight", type=float, metavar="W", help="of h in wastar (default 3)")
    parser.add_argument("--batch", type=positive, metavar="K", help="expand the K best at once")
    parser.add_argument(
        "--no-preferred", action="store_true", help="lazy search without preferred operators"
    )
    parser.add_argument("--max-evaluations", type=positive, metavar="N")
    parser.add_argument("--max-expansions", type=positive, metavar="N")
    parser.add_argument("--plan-file", default="sas_plan", metavar="FILE", help="default: sas_plan")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of randomised parts")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    add_limits(parser)
    parser.set_defaults(command=run)


def search_options(options: argparse.Namespace) -> SearchOptions:
    """The configuration asked for; the strongest one where nothing is said."""
    chosen = STRONGEST
    if options.heuristic is not None or options.search is not None:
        algorithm = options.search if options.search is not None else "gbfs"
        heuristic = options.heuristic
        if heuristic is None:
            heuristic = "lmcut" if algorithm in ("astar", "idastar") else "ff"
        chosen = SearchOptions(find_heuristic(heuristic), algorithm)
    given = {
        "cost": options.cost,
        "weight": options.weight,
        "batch": options.batch,
        "max_evaluations": options.max_evaluations,
        "max_expansions": options.max_expansions,
        "preferred": False if options.no_preferred else None,
    }
    return replace(chosen, **{name: value for name, value in given.items() if value is not None})


def find_heuristic(name: str) -> str | TaskHeuristic:
    """A heuristic of the core by its name, the model in a file, or pattern databases in files."""
    if name.startswith("pdb:"):
        from hstar.learned.loader import load_pattern_heuristic

        return load_pattern_heuristic(name)
    if name in HEURISTICS or not is_model_file(name):
        return name
    from hstar.learned.loader import load_model

    return load_model(name)


def run(options: argparse.Namespace) -> int:
    start = _core.monotonic_seconds()
    domain_path, problem_path = input_files(options.files)
    try:
        chosen = search_options(options)
    except ValueError as error:
        raise UsageError(str(error)) from error
    check_writable(options.plan_file)
    budget = Budget.starting_now(options.overall_time_limit, options.overall_memory_limit)
    say = print if not options.json else no_output
    try:
        with budget.enforced():
            problem = parse(domain_path, problem_path)
            say(f"Domain: {problem.domain.name}. Problem: {problem.name}.")
            say(f"Search: {chosen.describe()}.", flush=True)
            result = plan_problem(problem, chosen, budget, keep_irrelevant=options.keep_irrelevant)
    except OutOfResources as error:
        if options.json:
            print(stopped_before_search(error, _core.monotonic_seconds() - start).to_json())
        raise
    result = replace(result, total_time=_core.monotonic_seconds() - start)
    if result.solved:
        write_atomically(options.plan_file, result.plan_text)
    if result.unchecked is not None:
        print(
            f"hstar: warning: {result.unchecked} before the plan was validated; it is in "
            f"{options.plan_file}, check it with 'hstar validate'",
            file=sys.stderr,
        )
    if options.json:
        print(result.to_json())
    else:
        report(result)
    return result.exit_code


def no_output(*_: object, **__: object) -> None:
    """Where the log would go, when only the JSON object may."""


def report(result: SearchResult) -> None:
    """Log lines in the form other tools parse from Fast Downward."""
    if result.solved:
        print("Solution found!")
        print("\n".join(result.plan or ()))
        print(f"Plan length: {result.plan_length} step(s).")
        print(f"Plan cost: {result.plan_cost}")
    else:
        print(f"No plan: {result.status}.")
    print(f"Initial heuristic value: {result.initial_h:g}")
    print(f"Expanded {result.expanded} state(s).")
    print(f"Reopened {result.reopened} state(s).")
    print(f"Evaluated {result.evaluated} state(s).")
    print(f"Evaluations: {result.evaluations}")
    print(f"Generated {result.generated} state(s).")
    print(f"Dead ends: {result.deadends} state(s).")
    print(f"Number of registered states: {result.states}")
    print(f"Bytes per state: {result.state_bytes}")
    print(f"Search time: {result.search_time:.6f}s")
    print(f"Total time: {result.total_time:.6f}s")
    print(f"Peak memory: {result.peak_memory_kb} KB")

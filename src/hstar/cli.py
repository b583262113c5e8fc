"""The command line: arguments and exit codes, nothing else."""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from hstar import _core
from hstar.atomic import check_writable, write_atomically
from hstar.heuristics import COST_TYPES, HEURISTICS
from hstar.info import describe_task
from hstar.pddl import find_domain, parse
from hstar.pddl.errors import InputFileError, escape
from hstar.planfile import read_plan
from hstar.resources import Budget, OutOfResources, parse_memory, parse_time
from hstar.search import (
    ALGORITHMS,
    STRONGEST,
    InvalidPlanError,
    SearchOptions,
    SearchResult,
    plan_problem,
    stopped_before_search,
)
from hstar.task import ground
from hstar.validate import validate

INTERNAL_ERROR = 35
USAGE_ERROR = 36
INTERRUPTED = 130

EPILOG = """\
exit codes: 0 plan found (or plan valid), 1 plan invalid, 11 no plan exists, 12 gave up,
22 out of memory, 23 out of time, 31 bad input file, 34 unsupported PDDL, 35 internal error,
36 wrong usage or unwritable output, 130 interrupted, 143 terminated
"""


class Parser(argparse.ArgumentParser):
    """Argument errors exit with 36, one line and no usage screen."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE_ERROR, f"{self.prog}: {escape(message)}; see '{self.prog} --help'\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point of the program `hstar`; ends the process."""
    if sys.stdout is None:  # closed by the caller: nobody wants to read it
        sys.stdout = io.StringIO()
    if isinstance(sys.stdout, io.TextIOWrapper):  # it may not know the letters of PDDL names
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Carry out a command line and return the exit code."""
    try:
        try:
            options = build_parser().parse_args(arguments)
            code: int = options.command(options)
            return code
        finally:
            sys.stdout.flush()  # so that failing to write is noticed here, not after the end
    except InputFileError as error:
        return fail(str(error), error.exit_code)
    except OutOfResources as error:
        return fail(f"{error.status} before there was a result", error.exit_code)
    except InvalidPlanError as error:
        return fail(str(error), INTERNAL_ERROR)
    except OSError as error:
        if error.filename is None:  # only writing to a stream leaves the name out
            # The rest of the output is dropped, or Python would fail over it again at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return fail(f"cannot write to standard output: {error.strerror}", USAGE_ERROR)
        return fail(f"{error.filename}: {error.strerror}", USAGE_ERROR)
    except KeyboardInterrupt:
        return fail("interrupted", INTERRUPTED)
    except MemoryError:
        return fail("out of memory", 22)
    except Exception:
        traceback.print_exc()
        return fail("this is a bug in hstar, please report it with the files", INTERNAL_ERROR)


def fail(message: str, code: int) -> int:
    print(f"hstar: {escape(message)}", file=sys.stderr)
    return code


def build_parser() -> Parser:
    parser = Parser(
        prog="hstar",
        description="Planning with heuristics: PDDL in, validated plan out.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version="hstar 0.1.0")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    plan = commands.add_parser(
        "plan",
        help="solve a problem",
        description=(
            "Solve a planning problem. Without flags: "
            f"{STRONGEST.describe()}, the strongest satisficing configuration."
        ),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_files(plan)
    plan.add_argument("-H", "--heuristic", metavar="NAME", help=f"one of {', '.join(HEURISTICS)}")
    plan.add_argument("-s", "--search", metavar="NAME", help=f"one of {', '.join(ALGORITHMS)}")
    plan.add_argument(
        "--cost",
        metavar="TYPE",
        help=f"operator costs inside the heuristic: {', '.join(COST_TYPES)}",
    )
    plan.add_argument("--weight", type=float, metavar="W", help="of h in wastar (default 3)")
    plan.add_argument("--batch", type=positive, metavar="K", help="expand the K best at once")
    plan.add_argument(
        "--no-preferred", action="store_true", help="lazy search without preferred operators"
    )
    plan.add_argument("--max-evaluations", type=positive, metavar="N")
    plan.add_argument("--max-expansions", type=positive, metavar="N")
    plan.add_argument("--plan-file", default="sas_plan", metavar="FILE", help="default: sas_plan")
    plan.add_argument("--seed", type=int, default=0, metavar="N", help="of randomised parts")
    plan.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    add_limits(plan)
    plan.set_defaults(command=plan_command)

    check = commands.add_parser("validate", help="check a plan", epilog=EPILOG)
    check.add_argument("domain", metavar="DOMAIN")
    check.add_argument("problem", metavar="PROBLEM")
    check.add_argument("plan", metavar="PLAN")
    check.set_defaults(command=validate_command)

    info = commands.add_parser("info", help="what a problem contains", epilog=EPILOG)
    add_files(info)
    info.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    info.add_argument("--mutex-groups", action="store_true", help="list the mutex groups")
    add_limits(info)
    info.set_defaults(command=info_command)
    return parser


def add_files(parser: Parser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="[DOMAIN] PROBLEM",
        help="DOMAIN may be left out when domain.pddl lies beside PROBLEM",
    )
    parser.add_argument(
        "--keep-irrelevant",
        action="store_true",
        help="keep facts and operators that cannot matter for the goal",
    )


def add_limits(parser: Parser) -> None:
    parser.add_argument("--overall-time-limit", type=duration, metavar="TIME", help="such as 5m")
    parser.add_argument("--overall-memory-limit", type=memory, metavar="SIZE", help="such as 8G")


def positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value <= 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive whole number")
    return value


def duration(text: str) -> float:
    try:
        return parse_time(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def memory(text: str) -> int:
    try:
        return parse_memory(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


class UsageError(Exception):
    """Arguments that do not fit together."""


def input_files(files: list[str]) -> tuple[Path, Path]:
    if len(files) > 2:
        raise UsageError("expected [DOMAIN] PROBLEM, at most two files")
    problem = Path(files[-1])
    return (Path(files[0]) if len(files) == 2 else find_domain(problem)), problem


def search_options(options: argparse.Namespace) -> SearchOptions:
    """The configuration asked for; the strongest one where nothing is said."""
    chosen = STRONGEST
    if options.heuristic is not None or options.search is not None:
        algorithm = options.search if options.search is not None else "gbfs"
        heuristic = options.heuristic
        if heuristic is None:
            heuristic = "lmcut" if algorithm == "astar" else "ff"
        chosen = SearchOptions(heuristic, algorithm)
    given = {
        "cost": options.cost,
        "weight": options.weight,
        "batch": options.batch,
        "max_evaluations": options.max_evaluations,
        "max_expansions": options.max_expansions,
        "preferred": False if options.no_preferred else None,
    }
    return replace(chosen, **{name: value for name, value in given.items() if value is not None})


def plan_command(options: argparse.Namespace) -> int:
    start = _core.monotonic_seconds()
    try:
        domain_path, problem_path = input_files(options.files)
        chosen = search_options(options)
    except (UsageError, ValueError) as error:
        return fail(f"{error}; see 'hstar plan --help'", USAGE_ERROR)
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


def validate_command(options: argparse.Namespace) -> int:
    problem = parse(options.domain, options.problem)
    verdict = validate(problem, read_plan(options.plan))
    if verdict.valid:
        print(f"Plan valid: {verdict.length} step(s), cost {verdict.cost}.")
        return 0
    print(f"Plan invalid: {verdict.reason}")
    return 1


def info_command(options: argparse.Namespace) -> int:
    try:
        domain_path, problem_path = input_files(options.files)
    except UsageError as error:
        return fail(f"{error}; see 'hstar info --help'", USAGE_ERROR)
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


if __name__ == "__main__":
    main()

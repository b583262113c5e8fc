"""`hstar label`: solve the problems of a folder and write down what every plan state is worth."""

from __future__ import annotations

import argparse
import sys

from hstar.commands.arguments import EPILOG, Commands, UsageError, duration, memory, positive
from hstar.pddl.errors import escape
from hstar.runtime.resources import OutOfResources

NOTHING_SOLVED = 12

DESCRIPTION = """\
Solve the problems of a folder (domain.pddl and *.pddl, as 'hstar generate' writes them) optimally
with A* and LM-cut, and write every state of the plans with its cost to the goal and the values of
the heuristics. FILE.parquet gets the rows; beside it are FILE.manifest.json (problems, plans) and
FILE.times.json. Problems that the limits leave unsolved are replaced by others of the same
generator, or left out where there is none. After a kill, the same command goes on where it was.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "label",
        help="label the states of optimal plans, to learn from",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("directory", metavar="DIR", help="folder of problems")
    parser.add_argument("-o", "--output", required=True, metavar="FILE.parquet")
    parser.add_argument(
        "--time-limit",
        type=duration,
        default=300.0,
        metavar="TIME",
        help="for each attempt, such as 30s (default 5m)",
    )
    parser.add_argument(
        "--memory-limit",
        type=memory,
        default=8 << 30,
        metavar="SIZE",
        help="for each attempt, such as 500M (default 8G)",
    )
    parser.add_argument(
        "--max-expansions",
        type=positive,
        metavar="N",
        help="for each attempt; unlike time and memory it ends alike on every machine",
    )
    parser.add_argument(
        "--jobs", type=positive, metavar="N", help="processes at a time (default: one per core)"
    )
    parser.add_argument(
        "--retries",
        type=not_negative,
        default=20,
        metavar="N",
        help="other problems to try in place of an unsolved one, if generated (default 20)",
    )
    parser.add_argument(
        "--cost",
        choices=("one", "normal"),
        default="one",
        help="one: every action costs 1 (default); normal: the costs of the problem",
    )
    parser.add_argument(
        "--limit-problems", type=positive, metavar="N", help="only the first N of the folder"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="draw the problems of --limit-problems at random"
    )
    parser.add_argument(
        "--plans",
        metavar="PLANDIR",
        help="search nothing; take the plans PLANDIR/NAME.plan (or .soln) as upper bounds",
    )
    parser.set_defaults(command=run)


def not_negative(text: str) -> int:
    return 0 if text == "0" else positive(text)


def run(options: argparse.Namespace) -> int:
    from hstar.teachers import LabelOptions, label

    if not options.output.endswith(".parquet"):
        raise UsageError(f"the output must be called something.parquet, not '{options.output}'")
    try:
        chosen = LabelOptions(
            time_limit=options.time_limit,
            memory_limit=options.memory_limit,
            max_expansions=options.max_expansions,
            jobs=options.jobs,
            retries=options.retries,
            cost=options.cost,
            limit_problems=options.limit_problems,
            seed=options.seed,
            plans=options.plans,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    try:
        summary = label(options.directory, options.output, chosen, show_progress=True)
    except OutOfResources as error:
        kept = f"what is finished is kept in {options.output}.partial"
        message = f"hstar: {error.status}; {kept}; run the same command again to go on"
        print(escape(message), file=sys.stderr)
        return error.exit_code
    for warning in summary.warnings:
        print(f"hstar: warning: {escape(warning)}", file=sys.stderr)
    if summary.was_complete:
        print(f"{escape(options.output)} was complete already; nothing was done.")
    rows = {
        "problems": summary.problems,
        "solved": summary.solved,
        "of these replaced": summary.replaced,
        **{f"left out, {status}": count for status, count in sorted(summary.left_out.items())},
        "states": summary.states,
        "seconds": f"{summary.seconds:.1f}",
    }
    width = max(map(len, rows))
    for name, value in rows.items():
        print(f"{name:<{width}}  {value:>10}")
    return 0 if summary.solved else NOTHING_SOLVED

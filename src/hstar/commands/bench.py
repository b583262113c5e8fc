"""`hstar bench`: every problem of a suite with every configuration, one row per run."""

from __future__ import annotations

import argparse
import shlex
import sys

from hstar.commands.arguments import (
    EPILOG,
    Commands,
    Parser,
    UsageError,
    add_search,
    duration,
    memory,
    positive,
)
from hstar.commands.plan import configuration

DESCRIPTION = """\
Run every heuristic with every search on every problem of the suites; write one row per run.
A SUITE is a folder with domain.pddl and problems, a folder of such folders, a problem file, or a
puzzle with its start states: tiles-3x3:scramble=20:count=5:seed=0 or cube3:states=FILE.
"-H default" adds the planner that 'hstar plan' runs without flags.
When killed, the same command goes on where it was; finished runs are not repeated.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "bench",
        help="run heuristics on suites of problems",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    parser.add_argument("suites", nargs="+", metavar="SUITE")
    add_search(parser, several=True)
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="FLAGS",
        help="one more configuration, in the flags of 'hstar plan': --config='-s wastar -H ff "
        "--weight 5'; may be repeated",
    )
    parser.add_argument(
        "--time-limit", type=duration, default=300.0, metavar="TIME", help="per run (default: 5m)"
    )
    parser.add_argument(
        "--memory-limit", type=memory, default=2**32, metavar="SIZE", help="per run (default: 4G)"
    )
    parser.add_argument("--jobs", type=positive, default=1, metavar="N", help="runs at a time")
    parser.add_argument("--seed", type=int, metavar="N", help="of random puzzles, kept in the rows")
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="such as runs.parquet"
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    from hstar.bench import BenchOptions, run_bench
    from hstar.report import summary_text

    flags = Parser(prog="hstar bench --config", add_help=False)
    add_search(flags)
    further = [configuration(flags.parse_args(shlex.split(text))) for text in options.config]
    heuristics = [name for names in options.heuristic or [] for name in names]
    searches = [name for names in options.search or [] for name in names]
    try:
        rows = run_bench(
            BenchOptions(
                suites=options.suites,
                heuristics=heuristics or ([] if further and not searches else ["ff"]),
                searches=searches or ["gbfs"],
                cost=options.cost,
                weight=options.weight,
                batch=options.batch,
                preferred=False if options.no_preferred else None,
                decode=options.decode,
                max_evaluations=options.max_evaluations,
                max_expansions=options.max_expansions,
                configurations=further,
                time_limit=options.time_limit,
                memory_limit=options.memory_limit,
                jobs=options.jobs,
                seed=options.seed,
                output=options.output,
                command=shlex.join(["hstar", *sys.argv[1:]]),
            )
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    print(summary_text(rows))
    print(f"The rows are in {options.output}.")
    return 0

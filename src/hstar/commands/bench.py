"""`hstar bench`: every problem of a suite with every heuristic, one row per run."""

from __future__ import annotations

import argparse
import shlex
import sys

from hstar.commands.arguments import EPILOG, Commands, UsageError, duration, memory, positive
from hstar.heuristics import COST_TYPES, HEURISTICS
from hstar.search import ALGORITHMS

DESCRIPTION = """\
Run a search on every problem of the suites with every heuristic, and write one row per run.
A SUITE is a folder with domain.pddl and problems, a folder of such folders, or a problem file.
When killed, the same command goes on where it was; finished runs are not repeated.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "bench",
        help="run heuristics on suites of problems",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("suites", nargs="+", metavar="SUITE")
    parser.add_argument(
        "-H",
        "--heuristic",
        action="append",
        nargs="+",
        metavar="NAME",
        help=f"one or more of {', '.join(HEURISTICS)}, or model files; may be repeated "
        "(default ff)",
    )
    parser.add_argument(
        "-s",
        "--search",
        default="gbfs",
        metavar="NAME",
        help=f"one of {', '.join(ALGORITHMS)} (default gbfs)",
    )
    parser.add_argument(
        "--cost",
        default="normal",
        metavar="TYPE",
        help=f"operator costs inside the heuristic: {', '.join(COST_TYPES)} (default normal)",
    )
    parser.add_argument("--max-evaluations", type=positive, metavar="N", help="per run")
    parser.add_argument(
        "--time-limit", type=duration, default=300.0, metavar="TIME", help="per run (default 5m)"
    )
    parser.add_argument(
        "--memory-limit", type=memory, default=2**32, metavar="SIZE", help="per run (default 4G)"
    )
    parser.add_argument(
        "--jobs", type=positive, default=1, metavar="N", help="runs at a time (default 1)"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="of randomised parts; noted in the rows"
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="such as runs.parquet"
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    from hstar.bench import BenchOptions, run_bench
    from hstar.report import summary_text

    given = [name for names in options.heuristic or [["ff"]] for name in names]
    try:
        chosen = BenchOptions(
            suites=options.suites,
            heuristics=given,
            algorithm=options.search,
            cost=options.cost,
            max_evaluations=options.max_evaluations,
            time_limit=options.time_limit,
            memory_limit=options.memory_limit,
            jobs=options.jobs,
            seed=options.seed,
            output=options.output,
            command=shlex.join(["hstar", *sys.argv[1:]]),
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    print(summary_text(run_bench(chosen)))
    return 0

"""`hstar bench`: every problem of a suite with every search, one row per run."""

from __future__ import annotations

import shlex
import sys

from hstar.commands.arguments import SEVERAL, Options, Parser, as_usage_error, require
from hstar.pddl.errors import escape

HELP = "run heuristics on suites of problems"
DESCRIPTION = """\
Run every heuristic with every search on every problem of the suites; write one row per run.
A SUITE is a folder with domain.pddl and problems, a folder of such folders, a problem file, or a
puzzle with its start states: tiles-3x3:scramble=20:count=5:seed=0 or cube3:states=FILE.
"-H default" adds the planner that 'hstar plan' runs without flags.
When killed, the same command goes on where it was; finished runs are not repeated.
"""
SEARCH = """\
one more search, in the flags of 'hstar plan': --config='-s wastar -H ff --weight 5'; may be
repeated"""


def add_arguments(parser: Parser) -> None:
    parser.add_argument("suites", nargs="+", metavar="SUITE")
    parser.add_search(several=True, leave_out=("seed",))
    parser.add("--config FLAGS", SEARCH, action="append", default=[])
    parser.add_limits_of("run", "4G")
    parser.add("--jobs N", "runs at a time", default=1)
    parser.add("--seed N", "number for the column seed, where the heuristic has none", int)
    parser.add("-o --output FILE", "file to write the rows to, such as runs.parquet", required=True)


def run(options: Options) -> int:
    from hstar.experiments.bench import BenchOptions, run_bench
    from hstar.experiments.report.runs import summary_text

    flags = Parser(prog="hstar bench --config", add_help=False)
    flags.add_search()
    asked = [flags.parse_args(shlex.split(text), Options()) for text in options.config]
    further = [one.specification() for one in asked]
    heuristics, searches = options.heuristic or [], options.algorithm or []
    require("polars")
    with as_usage_error():
        chosen = BenchOptions(
            heuristics=heuristics or ([] if further and not searches else ["ff"]),
            searches=searches,
            shared=options.specification(leave_out=(*SEVERAL, "seed")),
            specifications=further,
            command=shlex.join(["hstar", *sys.argv[1:]]),
            **options.values_of("suites time_limit memory_limit jobs seed output"),
        )
        rows = run_bench(chosen)
    print(summary_text(rows))
    print(f"The rows are in {escape(options.output)}.")
    return 0

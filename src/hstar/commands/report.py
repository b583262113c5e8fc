"""`hstar report`: a page about the runs of a benchmark."""

from __future__ import annotations

import argparse

from hstar.commands.arguments import EPILOG, Commands
from hstar.runtime.atomic import check_writable


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "report",
        help="tables and plots from runs",
        description="Write one self-contained HTML page about the runs of 'hstar bench', "
        "and print its tables.",
        epilog=EPILOG,
    )
    parser.add_argument("runs", nargs="+", metavar="RUNS", help="files written by 'hstar bench'")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="such as report.html")
    parser.add_argument("--title", default="Benchmark", help="of the page")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    from hstar.report import comparison_text, write_report

    check_writable(options.output)
    print(comparison_text(write_report(options.runs, options.output, options.title)))
    print(f"The report is in {options.output}.")
    return 0

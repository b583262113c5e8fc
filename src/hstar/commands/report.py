"""`hstar report`: a page about the runs of a benchmark."""

from __future__ import annotations

from hstar.commands.arguments import Options, Parser
from hstar.pddl.errors import escape
from hstar.runtime.atomic import check_writable

HELP = "tables and plots from runs"
DESCRIPTION = """\
Write one self-contained HTML page about the runs of 'hstar bench', and print its tables.
"""


def add_arguments(parser: Parser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUNS", help="files written by 'hstar bench'")
    parser.add("-o --output FILE", "the HTML file to write", required=True)
    parser.add("--title TITLE", "title of the page", default="Benchmark")


def run(options: Options) -> int:
    from hstar.experiments.report.runs import comparison_text, write_report

    check_writable(options.output)
    print(comparison_text(write_report(options.runs, options.output, options.title)))
    print(f"The report is in {escape(options.output)}.")
    return 0

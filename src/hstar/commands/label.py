"""`hstar label`: label states of the problems of a folder, to learn from."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from hstar.commands.arguments import Options, Parser, UsageError, as_usage_error, positive, require
from hstar.pddl.errors import escape
from hstar.runtime.resources import OutOfResources

NOTHING_SOLVED = 12

HELP = "label states with their cost to the goal, to learn from"
DESCRIPTION = """\
Label states of the problems of a folder with their cost to the goal, to learn from. By default, A*
with LM-cut solves each problem optimally, and every state of the plan gets its h*. FILE.parquet
gets one row per state. FILE.manifest.json (problems, plans) and FILE.times.json are written beside
it. If the limits leave a problem unsolved, another problem of the same generator takes its place;
without a generator it is left out. A killed command resumes when it is run again.
"""


def add_arguments(parser: Parser) -> None:
    parser.add_argument("directory", metavar="DIR", help="a folder of problems")
    parser.add("-o --output FILE.parquet", "file to write the labels to", required=True)
    parser.add_limits_of("attempt", "8G")
    about = "short for --option max_expansions=N; a limit that does not depend on the machine"
    parser.add("--max-expansions N", about)
    parser.add("--jobs N", "number of processes (default: one per core)")
    about = "try up to N other problems in place of a generated one that is not solved"
    parser.add("--retries N", about, not_negative, default=20)
    about = "one: every action costs 1 (default); normal: the costs of the problem"
    parser.add("--cost {one,normal}", about, default="one")
    parser.add("--limit-problems N", "label only the first N problems of the folder")
    parser.add("--seed N", "draw the problems of --limit-problems at random, with this seed", int)
    parser.add("--teacher NAME", "what makes labels; --teachers lists them (default: optimal)")
    about = "list the teachers with their options"
    parser.add_argument("--teachers", action=_ListTeachers, nargs=0, help=about)
    about = "an option of the teacher; may be repeated"
    parser.add("--option NAME=VALUE", about, action="append", default=[])
    parser.add("--plans PLANDIR", "short for --teacher plans --option plans=PLANDIR")


def not_negative(text: str) -> int:
    return 0 if text == "0" else positive(text)


class _ListTeachers(argparse.Action):
    """Prints the teachers and exits, as --help does."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from hstar.slots.teachers import TEACHERS

        for name in TEACHERS:
            teacher = TEACHERS.find(name)
            print(f"{name:<17}{teacher.description}")
            for option, about in teacher.options.items():
                print(f"{'':<17}--option {option}={about.shown}: {about.help}")
        print("A teacher of your own is named as module:attribute.")
        parser.exit()


def run(options: Options) -> int:
    from hstar.slots.teachers import LabelOptions, label

    if not options.output.endswith(".parquet"):
        raise UsageError(f"the output must be called something.parquet, not '{options.output}'")
    teacher = options.teacher or ("optimal" if options.plans is None else "plans")
    same = options.values_of("time_limit memory_limit jobs retries cost limit_problems seed")
    short = options.values_of("max_expansions plans")
    given = {name: value for name, value in short.items() if value is not None}
    with as_usage_error():
        chosen = LabelOptions(teacher, {**options.named_values(), **given}, **same)
    require("polars")
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

"""`hstar label`: label states of the problems of a folder, to learn from."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from hstar.commands.arguments import EPILOG, Commands, UsageError, duration, memory, positive
from hstar.pddl.errors import escape
from hstar.runtime.resources import OutOfResources

NOTHING_SOLVED = 12

DESCRIPTION = """\
Label states of the problems of a folder with their cost to the goal, to learn from. By default, A*
with LM-cut solves each problem optimally, and every state of the plan gets its h*. FILE.parquet
gets one row per state. FILE.manifest.json (problems, plans) and FILE.times.json are written beside
it. If the limits leave a problem unsolved, another problem of the same generator takes its place;
without a generator it is left out. A killed command resumes when it is run again.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "label",
        help="label states with their cost to the goal, to learn from",
        description=DESCRIPTION,
        epilog=EPILOG,
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
        help="short for --option max_expansions=N; ends alike on every machine, unlike time",
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
        "--teacher",
        metavar="NAME",
        help="where the labels come from, see --teachers (default optimal)",
    )
    parser.add_argument(
        "--teachers", action=_ListTeachers, nargs=0, help="list the teachers with their options"
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the teacher; may be repeated",
    )
    parser.add_argument(
        "--plans", metavar="PLANDIR", help="short for --teacher plans --option plans=PLANDIR"
    )
    parser.set_defaults(command=run)


def not_negative(text: str) -> int:
    return 0 if text == "0" else positive(text)


class _ListTeachers(argparse.Action):
    """Prints the teachers and exits, as --help does."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from hstar.teachers import TEACHERS

        for name in TEACHERS:
            teacher = TEACHERS.find(name)
            print(f"{name:<12}{teacher.description}")
            for option, about in teacher.options.items():
                default = {None: "none", "": "none", True: "yes", False: "no"}
                shown = default.get(about.default, about.default)
                print(f"{'':<12}--option {option}={shown}: {about.help}")
        print("A teacher of your own is named as module:attribute.")
        parser.exit()


def _teacher_options(options: argparse.Namespace) -> dict[str, Any]:
    """The options of the teacher by name. Raises UsageError."""
    chosen: dict[str, Any] = {}
    for text in options.option:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--option wants NAME=VALUE, not '{text}'")
        chosen[name] = value
    for name in ("max_expansions", "plans"):
        if getattr(options, name) is not None:
            chosen[name] = getattr(options, name)
    return chosen


def run(options: argparse.Namespace) -> int:
    from hstar.teachers import LabelOptions, label

    if not options.output.endswith(".parquet"):
        raise UsageError(f"the output must be called something.parquet, not '{options.output}'")
    try:
        chosen = LabelOptions(
            teacher=options.teacher or ("optimal" if options.plans is None else "plans"),
            options=_teacher_options(options),
            time_limit=options.time_limit,
            memory_limit=options.memory_limit,
            jobs=options.jobs,
            retries=options.retries,
            cost=options.cost,
            limit_problems=options.limit_problems,
            seed=options.seed,
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

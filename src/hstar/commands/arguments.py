"""What several commands have in common: file arguments, limits, and how values are written."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeAlias

from hstar.pddl import find_domain
from hstar.runtime.resources import parse_memory, parse_time

EPILOG = """\
exit codes: 0 plan found (or plan valid), 1 plan invalid, 11 no plan exists, 12 gave up,
22 out of memory, 23 out of time, 31 bad input file, 34 unsupported PDDL, 35 internal error,
36 wrong usage or unwritable output, 130 interrupted, 143 terminated
"""

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


class UsageError(Exception):
    """Arguments that do not fit together."""


def add_files(parser: argparse.ArgumentParser) -> None:
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


def add_limits(parser: argparse.ArgumentParser) -> None:
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


def input_files(files: list[str]) -> tuple[Path, Path]:
    if len(files) > 2:
        raise UsageError("expected [DOMAIN] PROBLEM, at most two files")
    problem = Path(files[-1])
    return (Path(files[0]) if len(files) == 2 else find_domain(problem)), problem

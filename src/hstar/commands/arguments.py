"""What commands share: the parser, file arguments, limits, and how values are written."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from hstar.algorithms import SEARCHES
from hstar.heuristics import COST_TYPES, HEURISTICS
from hstar.pddl import find_domain
from hstar.pddl.errors import did_you_mean, escape
from hstar.pddl.locate import is_domain_file
from hstar.runtime.resources import parse_memory, parse_time

USAGE_ERROR = 36
EPILOG = """\
exit codes: 0 plan found (or plan valid), 1 plan invalid, 11 no plan exists, 12 gave up,
22 out of memory, 23 out of time, 31 bad input file, 34 unsupported PDDL, 35 internal error,
36 wrong usage or unwritable output, 130 interrupted, 143 terminated
"""

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


class UsageError(Exception):
    """Arguments that do not fit together."""


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps line breaks and shows every default."""

    def add_argument(self, action: argparse.Action) -> None:
        if action.help is None and action.option_strings and _has_default(action):
            action.help = "default: %(default)s"
        super().add_argument(action)

    def _get_help_string(self, action: argparse.Action) -> str:
        text = action.help or ""
        shown = _has_default(action) and "default" not in text
        return f"{text} (default: %(default)s)" if shown else text


def _has_default(action: argparse.Action) -> bool:
    return action.default not in (None, False, [], argparse.SUPPRESS)


class Parser(argparse.ArgumentParser):
    """Errors are one line with exit code 36 and suggest the nearest name. Every command and
    command of a command has `--quiet` and the help format above."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "formatter_class": HelpFormatter})
        self.add_argument(
            "-q",
            "--quiet",
            action="store_true",
            default=argparse.SUPPRESS,
            help="print nothing but errors and what --json asks for",
        )

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        found, rest = super().parse_known_args(args, namespace)
        if any(text.startswith("-") for text in rest):
            first = next(text for text in rest if text.startswith("-")).partition("=")[0]
            hint = did_you_mean(first, self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
        return found, rest

    def error(self, message: str) -> NoReturn:
        wrong = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)$", message)
        if wrong:
            message += did_you_mean(wrong[1], re.findall(r"[\w-]+", wrong[2]))
        self.exit(USAGE_ERROR, f"{self.prog}: {escape(message)}; see '{self.prog} --help'\n")


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


def add_search(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """How to search: the same options for `plan` and `bench`, which takes several of each name."""
    many: dict[str, Any] = {"action": "append", "nargs": "+"} if several else {}
    named = "one or more of" if several else "one of"
    suggest(
        parser.add_argument(
            "-H",
            "--heuristic",
            metavar="NAME",
            help=f"{named} {', '.join(HEURISTICS)}, a model file, pdb:FILE,FILE (pattern "
            "databases, tables or certified networks), module:attribute, or default (the planner "
            "without flags)",
            **many,
        ),
        (*HEURISTICS, "default"),
    )
    suggest(
        parser.add_argument(
            "-s", "--search", metavar="NAME", help=f"{named} {', '.join(SEARCHES)}", **many
        ),
        SEARCHES,
    )
    suggest(
        parser.add_argument(
            "--cost",
            metavar="TYPE",
            help=f"operator costs inside the heuristic: {', '.join(COST_TYPES)} (default: normal)",
        ),
        COST_TYPES,
    )
    parser.add_argument("--weight", type=float, metavar="W", help="of h in wastar (default: 3)")
    parser.add_argument(
        "--batch", type=positive, metavar="K", help="expand the K best at once (default: 1)"
    )
    parser.add_argument(
        "--no-preferred", action="store_true", help="lazy search without preferred operators"
    )
    parser.add_argument(
        "--decode", metavar="NAME", help="how a model's outputs become a value (default: its own)"
    )
    parser.add_argument(
        "--max-evaluations",
        type=positive,
        metavar="N",
        help="heuristic values requested, duplicates included",
    )
    parser.add_argument("--max-expansions", type=positive, metavar="N", help="states expanded")
    if not several:  # the seed of `bench` is that of its random puzzles
        parser.add_argument(
            "--seed", type=int, metavar="N", help="shuffle the order of operators (default: 0, no)"
        )


def suggest(action: argparse.Action, values: Iterable[str]) -> None:
    """Values that shell completion offers for an option that takes others as well."""
    action.values = tuple(values)  # type: ignore[attr-defined]


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
    """(domain, problem). Raises UsageError, and PddlError where there is no domain file."""
    if len(files) > 2:
        raise UsageError("expected [DOMAIN] PROBLEM, at most two files")
    problem = Path(files[-1])
    if len(files) == 2:
        return Path(files[0]), problem
    if is_domain_file(problem):
        raise UsageError(f"{problem} is a domain; name the problem to solve as well")
    return find_domain(problem), problem

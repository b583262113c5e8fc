"""What commands share: the parser, file arguments, limits, and how values are written."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from hstar import _core
from hstar.pddl import find_domain, parse
from hstar.pddl.errors import did_you_mean, escape
from hstar.pddl.locate import is_domain_file
from hstar.planning.algorithms import SEARCHES
from hstar.planning.space import Space
from hstar.planning.specification import SearchSpecification
from hstar.planning.task import ground
from hstar.runtime.resources import Budget, parse_memory, parse_time

USAGE_ERROR = 36
SEVERAL = ("heuristic", "algorithm")  # what `bench` takes more than one of
FEW = 4  # algorithms, for help to name those that take an option
EPILOG = """\
exit codes: 0 plan found (or plan valid), 1 plan invalid, 11 no plan exists, 12 gave up,
22 out of memory, 23 out of time, 31 bad input file, 34 unsupported PDDL, 35 internal error,
36 wrong usage or unwritable output, 130 interrupted, 143 terminated
"""

Value = TypeVar("Value")


class UsageError(Exception):
    """Arguments that do not fit together."""


class Options(argparse.Namespace):
    """What a command line says: an attribute for each argument."""

    def start_budget(self) -> Budget:
        """Of `add_limits`; the limits count from the start of the command."""
        age = _core.monotonic_seconds() - self.started
        return Budget.starting_now(self.overall_time_limit, self.overall_memory_limit, age)

    def values_of(self, names: str) -> dict[str, Any]:
        """The options of these names, separated by blanks."""
        return {name: getattr(self, name) for name in names.split()}

    def tell(self, held: Mapping[str, Any], lines: Iterable[str]) -> None:
        """Print a result: with --json as one object, else as lines."""
        print(json.dumps(held) if self.json else "\n".join(lines))

    def specification(self, leave_out: Sequence[str] = ()) -> SearchSpecification:
        """What the options of `add_search` ask for. Raises UsageError."""
        names = [name for name in SearchSpecification.options() if name not in leave_out]
        with as_usage_error():
            return SearchSpecification(**{name: getattr(self, name) for name in names})

    def named_values(self) -> dict[str, str]:
        """Of --option NAME=VALUE, which may be repeated. Raises UsageError."""
        parts = {text: text.partition("=") for text in self.option}
        if wrong := next((text for text, (_, equals, _) in parts.items() if not equals), None):
            raise UsageError(f"--option takes NAME=VALUE, not '{wrong}'")
        return {name: value for name, _, value in parts.values()}


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps line breaks and shows every default."""

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        """ "[DOMAIN] PROBLEM" says by itself how many files there may be."""
        if isinstance(action.metavar, str) and " " in action.metavar:
            return action.metavar
        return super()._format_args(action, default_metavar)

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
        self._commands: Any = None
        about = "print nothing but errors and what --json asks for"
        self.add("-q --quiet", about, default=argparse.SUPPRESS)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        found, rest = super().parse_known_args(args, namespace)
        if wrong := [text.partition("=")[0] for text in rest if text.startswith("-")]:
            hint = did_you_mean(wrong[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
        return found, rest

    def error(self, message: str) -> NoReturn:
        wrong = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)$", message)
        if wrong:
            message += did_you_mean(wrong[1], re.findall(r"[\w-]+", wrong[2]))
        self.exit(USAGE_ERROR, f"{self.prog}: {escape(message)}; see '{self.prog} --help'\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """argparse would not tell that it cannot write."""
        (file or sys.stderr).write(message)

    def add_command(
        self,
        name: str,
        help: str,
        run: Callable[[Options], int] | None = None,
        description: str | None = None,
    ) -> Parser:
        """A command, or a command of one; `run` is None for what has commands itself."""
        if self._commands is None:
            metavar = "ACTION" if " " in self.prog else "COMMAND"
            self._commands = self.add_subparsers(metavar=metavar, required=True)
        made: Parser = self._commands.add_parser(
            name, help=help, description=description, epilog=EPILOG
        )
        made.set_defaults(command=run)
        return made

    def add(
        self,
        usage: str,
        help: str | None = None,
        type: Callable[[str], Any] | None = None,
        *,
        to: argparse._ActionsContainer | None = None,
        **settings: Any,
    ) -> argparse.Action:
        """Add an option to a group, or to this, written as its usage line shows it: "-o --output
        FILE", "--order {mr,lex}". An option without a value is a switch; of some values the name
        tells the type."""
        names = [word for word in usage.split() if word.startswith("-")]
        value = " ".join(usage.split()[len(names) :])
        if not value:
            settings.setdefault("action", "store_true")
        elif value.startswith("{"):
            settings["choices"] = value.strip("{}").split(",")
        else:
            settings |= {"metavar": value, "type": type or TYPES.get(value)}
        return (to or self).add_argument(*names, help=help, **settings)

    def add_json(self) -> None:
        self.add("--json", "print one JSON object on stdout")

    def add_limits(self) -> None:
        """Limits on the whole command; `Options.start_budget` starts them."""
        self.add("--overall-time-limit TIME", "such as 5m")
        self.add("--overall-memory-limit SIZE", "such as 8G")

    def add_limits_of(self, what: str, size: str) -> None:
        self.add("--time-limit TIME", f"per {what}, such as 30s (default: 5m)", default=300.0)
        about = f"per {what}, such as 500M (default: {size})"
        self.add("--memory-limit SIZE", about, default=memory(size))

    def add_files(self) -> None:
        about = "DOMAIN may be left out when domain.pddl lies beside PROBLEM"
        self.add_argument("files", nargs="+", metavar="[DOMAIN] PROBLEM", help=about)
        self.add("--keep-irrelevant", "keep facts and operators that cannot matter for the goal")

    def add_search(self, *, several: bool = False, leave_out: Sequence[str] = ()) -> None:
        """How to search: an option for each field of the specification that has a flag. `several`
        takes more than one heuristic and algorithm."""
        for name, known in SearchSpecification.options().items():
            if name in leave_out:
                continue
            settings: dict[str, Any] = {"dest": name, "default": None}
            if known.kind is bool:
                settings["action"] = "store_false" if known.default else "store_true"
            elif known.kind is int and known.least == 1:
                settings["type"] = positive
            else:
                settings["type"] = known.kind
            if several and name in SEVERAL:
                settings |= {"action": "extend", "nargs": "+"}
            takers = [search for search, entry in SEARCHES.items() if name in entry.options]
            notes = [", ".join(takers)] if 0 < len(takers) <= FEW else []
            if known.default and known.kind is not bool:
                notes.append(f"default: {known.default}".removesuffix(".0"))
            about = f"{known.help} ({'; '.join(notes)})" if notes else known.help
            added: Any = self.add(known.flag, about, **settings)
            added.values = known.names  # what shell completion offers; others are taken as well


@contextlib.contextmanager
def as_usage_error() -> Iterator[None]:
    """Blames a ValueError, or a training that diverges, on the command line."""
    try:
        yield
    except (ValueError, FloatingPointError) as error:
        raise UsageError(str(error)) from error


def value(parse: Callable[[str], Value]) -> Callable[[str], Value]:
    """For the type of an argument: shows the message of its ValueError, which argparse hides."""

    @wraps(parse)
    def read(text: str) -> Value:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


duration, memory = value(parse_time), value(parse_memory)


@value
def positive(text: str) -> int:
    with contextlib.suppress(ValueError):
        if (number := int(text)) > 0:
            return number
    raise ValueError(f"'{text}' is not a positive whole number")


# The types of options whose value has one of these names in their usage lines.
TYPES = {**dict.fromkeys("NKM", positive), "X": float, "TIME": duration, "SIZE": memory}


@value
def seed(text: str) -> int:
    """A seed that numpy and the core take."""
    if not text.isdecimal() or int(text) >= 2**63:
        raise ValueError(f"'{text}' is not a whole number from 0 to 2^63 - 1")
    return int(text)


def require(package: str) -> None:
    """For work whose result needs the package. Raises ModuleNotFoundError before the work."""
    if find_spec(package) is None:
        raise ModuleNotFoundError(f"No module named '{package}'", name=package)


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


def find_space(names: list[str], budget: Budget) -> Space:
    """The puzzle of a name, or the task of PDDL files."""
    if len(names) == 1 and not names[0].endswith(".pddl") and not Path(names[0]).exists():
        if os.sep in names[0]:
            raise UsageError(f"{names[0]}: no such file")
        from hstar.planning.puzzle import make_puzzle

        with as_usage_error():
            return make_puzzle(names[0])
    domain, problem = input_files(names)
    return ground(parse(domain, problem), budget=budget)

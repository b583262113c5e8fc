"""The command line: arguments and exit codes, nothing else."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from hstar.commands.arguments import EPILOG, USAGE_ERROR, Parser, UsageError
from hstar.pddl.errors import InputFileError, PddlWarning, escape
from hstar.planning.search import InvalidPlanError
from hstar.runtime.progress import Progress
from hstar.runtime.resources import OutOfResources
from hstar.runtime.version import VERSION

# Modules of hstar.commands, in the order of `hstar --help`.
COMMANDS = (
    *("plan", "validate", "info", "generate", "label", "train", "learn", "model", "bench"),
    *("report", "paper", "pdb", "solve", "demo", "completion"),
)

INTERNAL_ERROR = 35
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point of the program `hstar`; ends the process."""
    if sys.stdout is None:  # closed by the caller: nobody wants to read it
        sys.stdout = io.StringIO()
    if isinstance(sys.stdout, io.TextIOWrapper):  # it may not know the letters of PDDL names
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Carry out a command line and return the exit code."""
    warnings.showwarning = show_warning
    try:
        try:
            # Importing all commands takes as long as planning for a small task. Completion, help
            # and errors name all of them.
            alone = arguments and arguments[0] in COMMANDS and arguments[0] != "completion"
            options = build_parser(arguments[:1] if alone else COMMANDS).parse_args(arguments)
            with quiet(options):
                code: int = options.command(options)
            return code
        finally:
            sys.stdout.flush()  # so that failing to write is noticed here, not after the end
    except UsageError as error:
        return fail(f"{error}; see 'hstar {arguments[0]} --help'", USAGE_ERROR)
    except InputFileError as error:
        return fail(str(error), error.exit_code)
    except OutOfResources as error:
        return fail(f"{error.status} before there was a result", error.exit_code)
    except InvalidPlanError as error:
        return fail(str(error), INTERNAL_ERROR)
    except OSError as error:
        if error.filename is None:  # only writing to a stream leaves the name out
            # The rest of the output is dropped, or Python would fail over it again at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return fail(f"cannot write to standard output: {error.strerror}", USAGE_ERROR)
        return fail(f"{error.filename}: {error.strerror}", USAGE_ERROR)
    except KeyboardInterrupt:
        return fail("interrupted", INTERRUPTED)
    except MemoryError:
        return fail("out of memory", 22)
    except Exception:
        traceback.print_exc()
        return fail("this is a bug in hstar, please report it with the files", INTERNAL_ERROR)


@contextlib.contextmanager
def quiet(options: argparse.Namespace) -> Iterator[None]:
    """With --quiet: no progress, and on standard output only what --json asks for."""
    if not getattr(options, "quiet", False):
        yield
        return
    Progress.shown_at_all = False
    try:
        output = sys.stdout if getattr(options, "json", False) else io.StringIO()
        with contextlib.redirect_stdout(output):
            yield
    finally:
        Progress.shown_at_all = True


def fail(message: str, code: int) -> int:
    print(f"hstar: {escape(message)}", file=sys.stderr)
    return code


def show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """One line on stderr, as errors have it."""
    known = issubclass(category, PddlWarning)
    text = str(message) if known else f"{category.__name__}: {message}"
    print(f"hstar: warning: {escape(text)}", file=sys.stderr)


def build_parser(names: Sequence[str] = COMMANDS) -> Parser:
    parser = Parser(
        prog="hstar",
        description="Plan with built-in or learned heuristics: from PDDL to a validated plan.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"hstar {VERSION}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in names:
        import_module(f"hstar.commands.{name}").add_parser(commands)
    return parser


if __name__ == "__main__":
    main()

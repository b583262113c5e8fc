"""The command line: arguments and exit codes, nothing else."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from hstar import _core
from hstar.commands.arguments import EPILOG, USAGE_ERROR, Options, Parser, UsageError
from hstar.commands.terminal import Output, open_streams
from hstar.pddl.errors import InputFileError, escape
from hstar.planning.search import InvalidPlanError
from hstar.runtime.faults import fault_of_user
from hstar.runtime.progress import Progress
from hstar.runtime.resources import OutOfResources, process_age
from hstar.runtime.version import VERSION

# Modules of hstar.commands, in the order of `hstar --help`.
COMMANDS = (
    *("plan", "validate", "info", "generate", "label", "train", "learn", "model", "bench"),
    *("report", "paper", "pdb", "solve", "demo", "completion"),
)

EXTRAS = {"torch": "learn", "polars": "report", "matplotlib": "report"}  # by what they install
INTERNAL_ERROR = 35
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point of the program `hstar`; ends the process."""
    # The linear algebra of NumPy reserves 30 MB for each thread, and hstar has threads of its own.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    open_streams()
    if arguments is not None:
        sys.exit(run(arguments))
    sys.exit(run(sys.argv[1:], _core.monotonic_seconds() - process_age()))


def run(arguments: Sequence[str], start: float | None = None) -> int:
    """Carry out a command line and return the exit code. Limits of time count from `start`, by
    default now."""
    start = start or _core.monotonic_seconds()
    warnings.showwarning = show_warning
    try:
        with contextlib.redirect_stdout(Output(sys.stdout)):
            try:
                # Importing all commands takes as long as planning for a small task. Help and
                # errors name all of them.
                alone = arguments and arguments[0] in COMMANDS
                parser = build_parser(arguments[:1] if alone else COMMANDS)
                options = parser.parse_args(arguments, Options())
                options.started = start
                with quiet(options):
                    code: int = options.command(options)
                return code
            finally:
                sys.stdout.flush()  # so that failing to write is noticed here, not after the end
    except KeyboardInterrupt:
        return fail("interrupted", INTERRUPTED)
    except Exception as error:
        return explain(error, f"see 'hstar {arguments[0]} --help'" if arguments else "")


def explain(error: Exception, usage: str) -> int:
    """Says what ended a command; returns the exit code."""
    if fault := fault_of_user(error):
        return fail(fault, USAGE_ERROR)
    match error:
        case UsageError():
            return fail(f"{error}; {usage}", USAGE_ERROR)
        case InputFileError():
            return fail(str(error), error.exit_code)
        case OutOfResources():
            return fail(f"{error.status} before there was a result", error.exit_code)
        case InvalidPlanError():
            return fail(str(error), INTERNAL_ERROR)
        case OSError():
            named = f"{error.filename}: " if error.filename is not None else ""
            return fail(f"{named}{error.strerror or error}", USAGE_ERROR)
        case MemoryError():
            return fail("out of memory", 22)
        case ModuleNotFoundError(name=str(name)) if (package := name.split(".")[0]) in EXTRAS:
            advice = f"run in a checkout of hstar: pip install '.[{EXTRAS[package]}]'"
            return fail(f"this needs {package}, which is not installed; {advice}", USAGE_ERROR)
    traceback.print_exception(error)
    return fail("this is a bug in hstar, please report it with the files", INTERNAL_ERROR)


@contextlib.contextmanager
def quiet(options: Options) -> Iterator[None]:
    """With --quiet: no progress, and on standard output only what --json asks for."""
    options.loud = sys.stdout  # for what must not be lost
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
    ours = category.__module__.startswith("hstar.")
    text = str(message) if ours else f"{category.__name__}: {message}"
    print(f"hstar: warning: {escape(text)}", file=sys.stderr)


def build_parser(names: Sequence[str] = COMMANDS) -> Parser:
    parser = Parser(
        prog="hstar",
        description="Plan with built-in or learned heuristics: from PDDL to a validated plan.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"hstar {VERSION}")
    for name in names:
        command = import_module(f"hstar.commands.{name}")
        about, run = getattr(command, "DESCRIPTION", None), getattr(command, "run", None)
        command.add_arguments(parser.add_command(name, command.HELP, run, about))
    return parser


if __name__ == "__main__":
    main()

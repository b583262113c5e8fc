"""Whose fault an exception is: the user's own code, such as a heuristic, may raise anything."""

from __future__ import annotations

import sys
import traceback
from types import FrameType

from hstar.pddl.errors import InputFileError
from hstar.runtime.resources import OutOfResources

INSTALLED = ("/site-packages/", "/dist-packages/")


def fault_of_user(error: BaseException | None) -> str | None:
    """What to say of an exception that went through the user's code, and where; None for any other.
    The attribute `fault` says it of one that a worker process sent or `blame_user` marked."""
    while error is not None:
        if fault := getattr(error, "fault", None):
            return str(fault)
        trace = list(traceback.walk_tb(error.__traceback__))
        if isinstance(error, (InputFileError, OutOfResources, MemoryError)):
            trace = []  # they say what is wrong
        for frame, line in reversed(trace):
            if _is_users(frame):
                what = f"{type(error).__name__}: {error}".removesuffix(": ")
                return f"{frame.f_code.co_filename}:{line} (your code) failed: {what}"
        error = error.__cause__
    return None


def blame_user(error: BaseException, fault: str | None) -> None:
    vars(error)["fault"] = fault


def _is_users(frame: FrameType) -> bool:
    """Whether it is neither of hstar nor of a library."""
    spec = frame.f_globals.get("__spec__")  # its name is that of a module that is run as a program
    package = spec.name.partition(".")[0] if spec else ""
    if package == "hstar" or package in sys.stdlib_module_names:
        return False
    if not any(folder in frame.f_code.co_filename for folder in INSTALLED):
        return True
    from importlib import metadata  # slow to import

    points = [point for one in metadata.distributions() for point in one.entry_points]
    groups = {p.group.partition(".")[0] for p in points if p.module.partition(".")[0] == package}
    return "hstar" in groups

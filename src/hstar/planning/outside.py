"""Functions from outside the package as heuristics: what goes wrong in one is told from our bugs.

The exception arrives as it is, with a note that begins with YOURS and says where it was raised.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hstar.pddl.errors import InputFileError
from hstar.runtime.resources import OutOfResources

YOURS = "your heuristic "
PACKAGE = str(Path(__file__).parents[1])


def outside(function: Any, name: str) -> Callable[[Any], Any]:
    """States int32[B, V] -> float32[B], by a function of the user's; of edges as well if it values
    them. Raises ValueError for what is no function."""
    if not callable(function):
        raise ValueError(f"{function!r} is no heuristic; give a name or a function")

    def checked(states: Any) -> Any:
        with noting_faults(name):
            return _checked(function(states), len(states), "states")

    def evaluate_edges(parents: Any, counts: Any, ops: Any, children: Any) -> Any:
        with noting_faults(name):
            found = function.evaluate_edges(parents, counts, ops, children)
            return _checked(found, len(ops), "edges")

    if hasattr(function, "evaluate_edges"):
        checked.evaluate_edges = evaluate_edges  # type: ignore[attr-defined]
    return checked


@contextmanager
def noting_faults(name: str) -> Iterator[None]:
    """Adds the note to what the user's code raises."""
    try:
        yield
    except (InputFileError, OutOfResources, MemoryError):
        raise
    except Exception as error:
        trace = traceback.extract_tb(error.__traceback__)
        frames = [frame for frame in trace if not frame.filename.startswith((PACKAGE, "<"))]
        place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
        error.add_note(f"{YOURS}'{name}' failed{place}")
        raise


def fault_of_a_function(error: BaseException) -> str | None:
    """What to say of an exception from the user's code; None for any other."""
    for note in getattr(error, "__notes__", ()):
        if note.startswith(YOURS):
            return f"{note}: {type(error).__name__}: {error}; correct your function"
    return None


def _checked(answer: Any, count: int, of_what: str) -> Any:
    import numpy as np

    h = np.ascontiguousarray(answer, dtype=np.float32)
    if h.shape != (count,):
        wanted = "must return as many numbers, in one dimension"
        raise ValueError(f"the heuristic was given {count} {of_what} and {wanted}")
    if np.isnan(h).any():
        raise ValueError("the heuristic returned NaN; use inf for dead ends")
    return h

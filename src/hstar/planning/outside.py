"""Functions from outside the package as heuristics: their answers are checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hstar.runtime.faults import blame_user


def outside(function: Any, name: str) -> Callable[[Any], Any]:
    """States int32[B, V] -> float32[B], by a function of the user's; of edges as well if it values
    them. Raises ValueError for what is no function."""
    if not callable(function):
        raise _wrong(f"{function!r} is no heuristic; give a name or a function")

    def checked(states: Any) -> Any:
        return _checked(function(states), len(states), name)

    def evaluate_edges(parents: Any, counts: Any, ops: Any, children: Any) -> Any:
        return _checked(function.evaluate_edges(parents, counts, ops, children), len(ops), name)

    if hasattr(function, "evaluate_edges"):
        checked.evaluate_edges = evaluate_edges  # type: ignore[attr-defined]
    return checked


def _checked(answer: Any, count: int, name: str) -> Any:
    import numpy as np

    try:
        h = np.asarray(answer, dtype=np.float32)
    except (RuntimeError, TypeError, ValueError) as error:
        raise _wrong(f"the heuristic '{name}' returned what are no numbers: {error}") from error
    if h.shape != (count,):
        found = "None" if answer is None else f"an array of shape {h.shape}"
        wanted = f"must return an array of shape ({count},), one number for each"
        raise _wrong(f"the heuristic '{name}' {wanted}, but returned {found}")
    if np.isnan(h).any():
        raise _wrong(f"the heuristic '{name}' returned NaN; use inf for dead ends")
    return np.ascontiguousarray(h)


def _wrong(message: str) -> ValueError:
    error = ValueError(message)
    blame_user(error, message)
    return error

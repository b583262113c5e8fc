"""Searching a puzzle: the core's loop on another space, and the solution replayed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from hstar import _core
from hstar.runtime.resources import Budget
from hstar.search import (
    ALGORITHMS,
    EXIT_CODES,
    InvalidPlanError,
    SearchResult,
    fast_downward_counts,
)
from hstar.spaces.puzzle import Puzzle, States
from hstar.spaces.task import state_rows

PUZZLE_ALGORITHMS: dict[str, str] = {
    name: ALGORITHMS[name] for name in ("idastar", "astar", "wastar", "gbfs", "bfs")
}


class PuzzleHeuristic(Protocol):
    """A heuristic that is not yet bound to a puzzle, such as pattern databases."""

    def on_puzzle(self, puzzle: Puzzle) -> _core.PuzzleHeuristic | Callable[[Any], Any]:
        """The heuristic for the states of a puzzle. Raises ValueError if it does not fit."""


def solve(
    puzzle: Puzzle,
    state: States,
    heuristic: str | PuzzleHeuristic | _core.PuzzleHeuristic | Callable[[Any], Any] = "blind",
    algorithm: str = "astar",
    *,
    weight: float = 3.0,
    batch: int = 1,
    max_evaluations: int | None = None,
    max_expansions: int | None = None,
    budget: Budget | None = None,
) -> SearchResult:
    """Search for a shortest (astar, idastar with an admissible heuristic) or any solution.

    `heuristic` is "blind", pattern databases, or a function from states int32[B, V] to B numbers.
    The plan is a list of move names, replayed before it is returned. Raises ValueError, and
    InvalidPlanError if replaying fails.
    """
    if algorithm not in PUZZLE_ALGORITHMS:
        known = ", ".join(PUZZLE_ALGORITHMS)
        raise ValueError(f"unknown search '{algorithm}'; choose one of {known}")
    if isinstance(heuristic, str) and heuristic != "blind":
        raise ValueError(f"unknown heuristic '{heuristic}'; choose blind or pattern databases")
    if weight < 1 or batch < 1:
        raise ValueError("the weight and the batch are at least 1")
    budget = budget or Budget()
    start = _core.monotonic_seconds()
    bind = getattr(heuristic, "on_puzzle", None)
    with budget.native(resume=False):
        found = puzzle.core.search(
            state=state_rows(state),
            heuristic=heuristic if bind is None else bind(puzzle),
            algorithm=algorithm,
            weight=weight,
            batch=batch,
            max_evaluations=max_evaluations or 0,
            max_expansions=max_expansions or 0,
            deadline=budget.deadline,
            memory_bytes=budget.memory_bytes,
        )
    found |= fast_downward_counts(found)
    status, plan = found.pop("status"), found.pop("plan")
    solved = status == "solved"
    if solved and not np.array_equal(puzzle.after(plan, state), puzzle.goal):
        raise InvalidPlanError(
            "the search returned moves that miss the goal; this is a bug in hstar"
        )
    return SearchResult(
        solved=solved,
        status=status,
        plan=[puzzle.move_names[move] for move in plan] if solved else None,
        plan_cost=len(plan) if solved else None,
        plan_length=len(plan) if solved else None,
        total_time=_core.monotonic_seconds() - start,
        peak_memory_kb=_core.peak_resident_bytes() // 1024,
        exit_code=EXIT_CODES[status],
        **found,
    )

"""Choices along a plan: which states a heuristic should prefer to which.

At each state of a plan the next one should be better than the state itself, and better than all
other successors. Where the distances of these to the goal are known, as good ones are not called
worse, and the state itself is better than those that are farther from the goal than it is. In the
same way, the step of the plan should be preferred to the operators that lead to worse states.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hstar.planning.task import Task
from hstar.slots.features.feature import SpaceStates
from hstar.slots.teachers.following import follow

ROUNDING = 1e-6  # of sums of decimal costs

State = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Choices:
    """States int32[S, V] of a task with their distances to the goal, NaN where they are not known
    (along a plan that is not optimal: what is left of the plan); pairs of rows: states[better[i]]
    is to be preferred to states[worse[i]]; and steps int64[Q, 3]: the row of a state, an operator
    that is good there, and one that is worse."""

    task: Task
    states: State
    distances: NDArray[np.float64]
    better: NDArray[np.int64]
    worse: NDArray[np.int64]
    steps: NDArray[np.int64]

    @property
    def group(self) -> SpaceStates:
        return SpaceStates(self.task, self.states)


@dataclass
class ChoiceMaker:
    """Collects the choices of one task. Equal states have one row."""

    task: Task
    _states: list[State] = field(default_factory=list)
    _distances: list[float] = field(default_factory=list)
    _rows: dict[bytes, int] = field(default_factory=dict)
    _pairs: list[tuple[int, int]] = field(default_factory=list)
    _steps: list[tuple[int, int, int]] = field(default_factory=list)

    def row(self, state: State, distance: float = math.nan) -> int:
        """Of a state. A distance that is not finite is not kept."""
        row = self._rows.setdefault(state.tobytes(), len(self._states))
        if row == len(self._states):
            self._states.append(state)
            self._distances.append(math.nan)
        if math.isfinite(distance):
            self._distances[row] = distance
        return row

    def prefer(self, better: int, worse: int) -> None:
        self._pairs.append((better, worse))

    def prefer_step(self, row: int, better: int, worse: int) -> None:
        """Operators in the state of a row. Artificial ones have no name, so nothing ranks them."""
        if not any(self.task.core.is_artificial(op) for op in (better, worse)):
            self._steps.append((row, better, worse))

    def choices(self) -> Choices:
        pairs = np.array(self._pairs, np.int64).reshape(-1, 2)
        return Choices(
            self.task,
            np.stack(self._states),
            np.array(self._distances),
            pairs[:, 0],
            pairs[:, 1],
            np.array(self._steps, np.int64).reshape(-1, 3),
        )


def choices_along(
    task: Task, plan: Sequence[str], values: Sequence[Sequence[float]] | None = None
) -> Choices:
    """Along an optimal plan `values` are the distances of all successors (sibling_values); unknown
    ones are NaN. Without them, successors that the plan visits later are not called worse."""
    path, remaining = follow(task, plan)
    made = ChoiceMaker(task)
    place = {made.row(path[i], left): i for i, left in enumerate(remaining)}
    for i, state in enumerate(path[:-1]):
        here, following = made.row(state), made.row(path[i + 1])
        made.prefer(following, here)
        ops, successors = task.successors(state)
        distances = values[i] if values is not None else [math.nan] * len(ops)
        rows = [made.row(*known) for known in zip(successors, distances, strict=True)]
        step = ops[rows.index(following)] if following in rows else None
        for op, there, distance in zip(ops, rows, distances, strict=True):
            if there in place:
                is_worse = remaining[place[there]] > remaining[i + 1] + ROUNDING
            else:
                is_worse = not distance <= remaining[i + 1] + ROUNDING
                if is_worse:
                    made.prefer(following, there)
                if distance > remaining[i] + ROUNDING:
                    made.prefer(here, there)
            if is_worse and step is not None:
                made.prefer_step(here, int(step), int(op))
    return made.choices()

"""Choices along a plan: which states a heuristic should prefer to which.

At each state of a plan the next one should be better than the state itself, and better than all
other successors. Where the distances of these to the goal are known, as good ones are not called
worse, and the state itself is better than those that are farther from the goal than it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hstar.features.feature import SpaceStates
from hstar.spaces.task import Task
from hstar.teachers.following import follow

ROUNDING = 1e-6  # of sums of decimal costs


@dataclass(frozen=True, slots=True)
class Choices:
    """States int32[S, V] of a task, and pairs of rows: states[better[i]] is to be preferred to
    states[worse[i]]."""

    task: Task
    states: NDArray[np.int32]
    better: NDArray[np.int64]
    worse: NDArray[np.int64]

    @property
    def group(self) -> SpaceStates:
        return SpaceStates(self.task, self.states)


def choices_along(
    task: Task, plan: Sequence[str], values: Sequence[Sequence[float]] | None = None
) -> Choices:
    """Along an optimal plan `values` are the distances of all successors (sibling_values); unknown
    ones are NaN. Without them, successors that the plan visits later are not called worse."""
    path, remaining = follow(task, plan)
    states = list(path)
    number = {state.tobytes(): i for i, state in enumerate(path)}
    better: list[int] = []
    worse: list[int] = []

    def prefer(one: int, other: int) -> None:
        better.append(one)
        worse.append(other)

    for i, state in enumerate(path[:-1]):
        prefer(i + 1, i)
        for k, successor in enumerate(task.successors(state)[1]):
            j = number.setdefault(successor.tobytes(), len(states))
            if j == len(states):
                states.append(successor)
            if j < len(path):
                continue
            distance = values[i][k] if values is not None else math.nan
            if not distance <= remaining[i + 1] + ROUNDING:
                prefer(i + 1, j)
            if distance > remaining[i] + ROUNDING:
                prefer(i, j)
    return Choices(task, np.stack(states), np.array(better, np.int64), np.array(worse, np.int64))

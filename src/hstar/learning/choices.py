"""Choices along a plan: which states a heuristic should prefer to which.

At each state of a plan the next one should be better than all other successors, and better than the
state itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hstar.features.feature import SpaceStates
from hstar.spaces.task import Task
from hstar.teachers.following import follow


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


def choices_along(task: Task, plan: Sequence[str]) -> Choices:
    """Successors that the plan visits, now or later, are not called worse."""
    path = follow(task, plan)[0]
    states = list(path)
    number = {state.tobytes(): i for i, state in enumerate(path)}
    better: list[int] = []
    worse: list[int] = []
    for i, state in enumerate(path[:-1]):
        for successor in task.successors(state)[1]:
            j = number.setdefault(successor.tobytes(), len(states))
            if j == len(states):
                states.append(successor)
            if j >= len(path):
                better.append(i + 1)
                worse.append(j)
        better.append(i + 1)
        worse.append(i)
    return Choices(task, np.stack(states), np.array(better, np.int64), np.array(worse, np.int64))

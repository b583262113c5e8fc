"""Choices: which states a heuristic should prefer to which, along plans.

At each state of a plan the next one should be better than the state itself, and better than all
other successors. Where the distances of these to the goal are known, as good ones are not called
worse, and the state itself is better than those that are farther from the goal than it is. In the
same way, the step of the plan should be preferred to the operators that lead to worse states.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hstar.planning.task import Task
from hstar.slots.teachers.following import follow

if TYPE_CHECKING:
    from hstar.training.dataset import Dataset

ROUNDING = 1e-4  # of sums of decimal costs, and of labels

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
    better: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    worse: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    steps: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 3), np.int64))


def all_choices(dataset: Dataset) -> list[Choices]:
    """Problem by problem along plans, or of all labels where there is no plan."""
    made, end = [], 0
    h = dataset.column("h_star")
    for one in dataset.tasks:
        begin, end = end, end + len(one.states)
        labels = h[begin:end].astype(np.float64)
        if one.plan:
            known = {s.tobytes(): d for s, d in zip(one.states, labels.tolist(), strict=True)}
            made.append(choices_along(one.task, one.plan, known))
        else:
            made.append(Choices(one.task, one.states, labels))
    return made


def choices_along(task: Task, plan: Sequence[str], known: Mapping[bytes, float]) -> Choices:
    """`known` are distances to the goal by the bytes of a state. Beside an optimal plan all
    successors have one (the teacher "siblings"). Without them, successors that the plan visits
    later are not called worse."""
    path, remaining = follow(task, plan)
    states: list[State] = []
    distances: list[float] = []
    numbers: dict[bytes, int] = {}  # of rows; equal states share one
    pairs: list[tuple[int, int]] = []  # rows: better, worse
    steps: list[tuple[int, int, int]] = []

    def row(state: State, distance: float = math.nan) -> int:
        """Row number of a state; stores its distance if finite."""
        number = numbers.setdefault(state.tobytes(), len(states))
        if number == len(states):
            states.append(state)
            distances.append(math.nan)
        if math.isfinite(distance):
            distances[number] = distance
        return number

    place = {row(path[i], left): i for i, left in enumerate(remaining)}
    for i, state in enumerate(path[:-1]):
        here, following = row(state), row(path[i + 1])
        pairs.append((following, here))
        ops, successors = task.successors(state)
        ahead = [known.get(successor.tobytes(), math.nan) for successor in successors]
        rows = [row(*reached) for reached in zip(successors, ahead, strict=True)]
        step = int(ops[rows.index(following)]) if following in rows else None
        for op, there, distance in zip(ops.tolist(), rows, ahead, strict=True):
            if there in place:
                is_worse = remaining[place[there]] > remaining[i + 1] + ROUNDING
            else:
                is_worse = not distance <= remaining[i + 1] + ROUNDING
                if is_worse:
                    pairs.append((following, there))
                if distance > remaining[i] + ROUNDING:
                    pairs.append((here, there))
            # Artificial operators have no name, so nothing ranks them.
            if is_worse and step is not None and not any(map(task.core.is_artificial, (step, op))):
                steps.append((here, step, op))
    better, worse = np.array(pairs, np.int64).reshape(-1, 2).T
    ranked = np.array(steps, np.int64).reshape(-1, 3)
    return Choices(task, np.stack(states), np.array(distances), better, worse, ranked)

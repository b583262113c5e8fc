"""Choices: which states a heuristic should prefer to which, along plans and where a model failed.

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
from hstar.slots.teachers.states import follow

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
    better: NDArray[np.int64]
    worse: NDArray[np.int64]
    steps: NDArray[np.int64]


@dataclass
class ChoiceMaker:
    """Collects the choices of one task. Equal states have one row."""

    task: Task
    _states: list[State] = field(default_factory=list)
    _distances: list[float] = field(default_factory=list)
    _rows: dict[bytes, int] = field(default_factory=dict)
    pairs: list[tuple[int, int]] = field(default_factory=list)  # rows: better, worse
    _steps: list[tuple[int, int, int]] = field(default_factory=list)

    def row(self, state: State, distance: float = math.nan) -> int:
        """Row number of a state; stores its distance if finite."""
        row = self._rows.setdefault(state.tobytes(), len(self._states))
        if row == len(self._states):
            self._states.append(state)
            self._distances.append(math.nan)
        if math.isfinite(distance):
            self._distances[row] = distance
        return row

    def prefer_step(self, row: int, better: int, worse: int) -> None:
        """Operators in the state of a row. Artificial ones have no name, so nothing ranks them."""
        if not any(self.task.core.is_artificial(op) for op in (better, worse)):
            self._steps.append((row, better, worse))

    def choices(self) -> Choices:
        pairs = np.array(self.pairs, np.int64).reshape(-1, 2)
        return Choices(
            self.task,
            np.stack(self._states),
            np.array(self._distances),
            pairs[:, 0],
            pairs[:, 1],
            np.array(self._steps, np.int64).reshape(-1, 3),
        )


@dataclass(frozen=True, slots=True)
class Minima:
    """States where a model sees no better successor, as lists of their values, and the distances of
    their successors to the goal."""

    states: list[list[int]]
    values: list[list[float]]


def all_choices(dataset: Dataset, minima: Mapping[str, Minima]) -> list[Choices]:
    """Problem by problem along plans, or of all labels where there is no plan; then at minima."""
    made, end = [], 0
    h = dataset.column("h_star")
    for one in dataset.tasks:
        begin, end = end, end + len(one.states)
        labels = h[begin:end].astype(np.float64)
        if one.plan:
            known = {s.tobytes(): d for s, d in zip(one.states, labels.tolist(), strict=True)}
            made.append(choices_along(one.task, one.plan, known))
        else:
            none = np.zeros(0, np.int64)
            steps = np.zeros((0, 3), np.int64)
            made.append(Choices(one.task, one.states, labels, none, none, steps))
    at_minima = (
        choices_at(one.task, minima[one.name]) for one in dataset.tasks if one.name in minima
    )
    return [*made, *(one for one in at_minima if one is not None)]


def choices_along(task: Task, plan: Sequence[str], known: Mapping[bytes, float]) -> Choices:
    """`known` are distances to the goal by the bytes of a state. Beside an optimal plan all
    successors have one (the teacher "siblings"). Without them, successors that the plan visits
    later are not called worse."""
    path, remaining = follow(task, plan)
    made = ChoiceMaker(task)
    place = {made.row(path[i], left): i for i, left in enumerate(remaining)}
    for i, state in enumerate(path[:-1]):
        here, following = made.row(state), made.row(path[i + 1])
        made.pairs.append((following, here))
        ops, successors = task.successors(state)
        distances = [known.get(successor.tobytes(), math.nan) for successor in successors]
        rows = [made.row(*known) for known in zip(successors, distances, strict=True)]
        step = ops[rows.index(following)] if following in rows else None
        for op, there, distance in zip(ops, rows, distances, strict=True):
            if there in place:
                is_worse = remaining[place[there]] > remaining[i + 1] + ROUNDING
            else:
                is_worse = not distance <= remaining[i + 1] + ROUNDING
                if is_worse:
                    made.pairs.append((following, there))
                if distance > remaining[i] + ROUNDING:
                    made.pairs.append((here, there))
            if is_worse and step is not None:
                made.prefer_step(here, int(step), int(op))
    return made.choices()


def choices_at(task: Task, minima: Minima) -> Choices | None:
    """The nearest successor is better than the state, and than all that are farther from the goal.
    States of which a successor is unknown, or all are dead ends, say nothing. None without any."""
    made, is_empty = ChoiceMaker(task), True
    for listed, values in zip(minima.states, minima.values, strict=True):
        state = np.array(listed, np.int32)
        least = min(values, default=np.inf)
        if np.isnan(values).any() or not np.isfinite(least):
            continue
        is_empty = False
        ops, successors = task.successors(state)
        rows = [made.row(*known) for known in zip(successors, values, strict=True)]
        best, here = values.index(least), made.row(state)
        made.pairs.append((rows[best], here))
        for i, value in enumerate(values):
            if value > least:
                made.pairs.append((rows[best], rows[i]))
                made.prefer_step(here, int(ops[best]), int(ops[i]))
    return None if is_empty else made.choices()

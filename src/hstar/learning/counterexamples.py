"""Where a model goes wrong on training problems, and what it should have preferred there.

A model that follows an optimal plan may still fail beside it: one wrong step, and it sees states
that no plan has. So it walks on its own, always to the best successor. Where none is better than
the state itself, it is at a local minimum. There, searches tell how far the successors are from
the goal, as they do beside plans (Ross, Gordon and Bagnell, AISTATS 2011, call this DAgger).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.learning.attempts import (
    CHEAPEST,
    TOO_MUCH,
    Effort,
    distance_limits,
    grounded,
    raise_signals,
)
from hstar.learning.choices import ChoiceMaker, Choices
from hstar.learning.sibling_values import successor_values
from hstar.pddl import Problem
from hstar.planning.heuristics import bind_heuristic
from hstar.planning.task import Task
from hstar.runtime.resources import Budget
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import from_bytes

MOST_MINIMA = 20  # of one problem
STEPS = 3  # times as many as an optimal plan has


@dataclass(frozen=True, slots=True)
class Minima:
    """States as lists of their values, and the distances of their successors to the goal."""

    states: list[list[int]]
    values: list[list[float]]


def local_minima(
    task: Task, model: LearnedHeuristic, steps: int, budget: Budget
) -> NDArray[np.int32]:
    """States int32[n, V] where the model, on its way from the initial state, sees no better
    successor. It never returns to a state, and gives up where it can go nowhere else."""
    heuristic = bind_heuristic(model, task, "one", budget)
    assert isinstance(heuristic, _core.Heuristic)
    state, h = task.initial_state, float(heuristic.evaluate(task.initial_state[None])[0])
    visited = {state.tobytes()}
    found: list[NDArray[np.int32]] = []
    for _ in range(steps):
        if task.is_goal(state) or len(found) == MOST_MINIMA:
            break
        successors = task.successors(state)[1]
        fresh = [i for i, one in enumerate(successors) if one.tobytes() not in visited]
        if not fresh:
            break
        values = heuristic.evaluate(successors[fresh])
        best = int(np.argmin(values))
        if not values[best] < h:
            found.append(state)
        state, h = successors[fresh[best]], float(values[best])
        visited.add(state.tobytes())
    return np.array(found, np.int32).reshape(len(found), task.num_variables)


def find_counterexamples(
    name: Hashable, problem: Problem, model: bytes, plan_length: int, effort: Effort
) -> Minima:
    """A job for a worker process: local minima on the way of a model, none if limits were too
    tight. Raises OutOfResources for signals."""
    nothing = Minima([], [])
    try:
        task = grounded(name, problem, effort)
        if task is None:
            return nothing
        heuristic = LearnedHeuristic(from_bytes(model, "learned"), "learned")
        states = local_minima(task, heuristic, STEPS * plan_length, Budget())
        values = successor_values(task, states, CHEAPEST, *distance_limits(effort))
        return Minima(states.tolist(), values)
    except TOO_MUCH as error:
        raise_signals(error)
        return nothing


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
        made.prefer(rows[best], here)
        for i, value in enumerate(values):
            if value > least:
                made.prefer(rows[best], rows[i])
                made.prefer_step(here, int(ops[best]), int(ops[i]))
    return None if is_empty else made.choices()


def all_choices(tasks: Sequence[Task], found: Mapping[int, Minima]) -> list[Choices]:
    """Of problems by their number."""
    made = (choices_at(tasks[number], minima) for number, minima in sorted(found.items()))
    return [one for one in made if one is not None]

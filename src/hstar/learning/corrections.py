"""Where a model goes wrong on training problems, and what it should have preferred there.

A model that follows an optimal plan may still fail beside it: one wrong step, and it sees states
that no plan has. So it walks on its own, always to the best successor. Where none is better than
the state itself, it is at a local minimum. There, searches tell how far the successors are from
the goal, as they do beside plans (Ross, Gordon and Bagnell, AISTATS 2011, call this DAgger).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.learning.trials import TOO_MUCH, WORK, Effort, Start, grounded, raise_signals
from hstar.planning.heuristics import bind_heuristic
from hstar.planning.task import Task
from hstar.runtime.resources import Budget
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import from_bytes
from hstar.training.fit.choices import Minima
from hstar.training.teachers.siblings import distances

MOST_MINIMA = 20  # of one problem
STEPS = 3  # times as many as an optimal plan has


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


def find_minima(start: Start, model: bytes, plan_length: int, effort: Effort) -> Minima:
    """A job for a worker process: local minima on the way of a model, none if limits were too
    tight. Raises OutOfResources for signals."""
    nothing = Minima([], [])
    try:
        task = grounded(start, effort)
        if task is None:
            return nothing
        heuristic = LearnedHeuristic(from_bytes(model, "learned", trust=True), "learned")
        states = local_minima(task, heuristic, STEPS * plan_length, Budget())
        evaluations = None if effort.work is None else max(1, effort.work // WORK["lmcut"])
        successors = [task.successors(state)[1] for state in states]
        values = distances(task, successors, evaluations, effort.budget(), alike=True)
        return Minima(states.tolist(), values)
    except TOO_MUCH as error:
        raise_signals(error)
        return nothing

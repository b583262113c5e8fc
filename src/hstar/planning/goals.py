"""What can be said of a task's goal without search."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hstar.planning.heuristics import make_heuristic
from hstar.planning.task import Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REACH_GOAL = "(reach-goal)"  # artificial: it reaches one of several goals


def satisfies_goal(task: Task, state: NDArray[np.int32]) -> bool:
    """Whether a state is a goal, even if the task needs an artificial operator to notice it."""
    if task.is_goal(state):
        return True
    ops, states = task.successors(state)
    return any(
        task.operator_name(int(op)) == REACH_GOAL and task.is_goal(after)
        for op, after in zip(ops, states, strict=True)
    )


def is_dead_end(task: Task) -> bool:
    """Whether the initial state has no plan: without deletes there is none, or no step leads on."""
    if task.goal_is_false or len(task.successors(task.initial_state)[0]) == 0:
        return True
    h = make_heuristic(task, "ff", cost="one").evaluate(task.initial_state[None])
    return math.isinf(float(h[0]))

"""What can be said of a task's goal without search."""

from __future__ import annotations

import math

from hstar.planning.heuristics import make_heuristic
from hstar.planning.task import Task


def is_dead_end(task: Task) -> bool:
    """Whether the initial state has no plan: without deletes there is none, or no step leads on."""
    if task.goal_is_false or len(task.successors(task.initial_state)[0]) == 0:
        return True
    h = make_heuristic(task, "ff", cost="one").evaluate(task.initial_state[None])
    return math.isinf(float(h[0]))

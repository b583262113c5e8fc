"""The teacher "exhaustive": every reachable state of a small problem, with its h*."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from hstar import _core
from hstar.pddl import Problem
from hstar.planning.task import ground
from hstar.runtime.resources import Budget
from hstar.slots.teachers.attempt import TRIVIAL, Attempt, labelled
from hstar.slots.teachers.teacher import Teacher, positive_number, yes_or_no


def label_exhaustively(
    problem: Problem,
    budget: Budget,
    max_states: Annotated[int, positive_number, "the most that a problem may have"] = 100_000,
    dead_ends: Annotated[bool, yes_or_no, "whether to keep dead ends, with infinite h"] = True,
) -> Attempt:
    """Label all states that can be reached, if there are at most `max_states`. Dead ends get an
    infinite h, or are left out. Raises PddlError."""
    task = ground(problem, budget=budget)
    with budget.native():
        found = _core.explore(task.core, max_states, budget.deadline, budget.memory_bytes)
    if found is None:
        return Attempt("gave up")
    states, h, plan = found
    if not math.isfinite(h[0]):
        return Attempt("unsolvable")
    if not plan:
        return Attempt(TRIVIAL, plan_cost=0)
    if not dead_ends:
        states, h = states[np.isfinite(h)], h[np.isfinite(h)]
    values = h.astype(np.float64) / task.cost_scale
    return labelled(task, states, plan, task.unscaled(int(h[0])), h=values)


TEACHER = Teacher(
    "all reachable states of small problems with their h*",
    label_exhaustively,
    kinds=("exhaustive",),
)

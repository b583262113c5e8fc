"""The teacher "fsm": breadth-first regression from the goal, then walks away from it."""

from __future__ import annotations

from typing import Any

from hstar.pddl import Problem
from hstar.runtime.resources import Budget
from hstar.spaces.task import ground
from hstar.teachers.attempt import Attempt
from hstar.teachers.backward import COMPLETIONS, KINDS, attempt_of, sample_focused
from hstar.teachers.teacher import Option, Teacher, one_of, share, whole_number, yes_or_no


def label_by_walks(problem: Problem, budget: Budget, **options: Any) -> Attempt:
    """Label a problem; it is grounded for any initial state. Raises PddlError, ValueError."""
    task = ground(problem, keep_constant=True, budget=budget)
    return attempt_of(task, sample_focused(task, budget, **options))


TEACHER = Teacher(
    "states near the goal and along walks away from it, with upper bounds (FSM)",
    label_by_walks,
    kinds=KINDS,
    options={
        "states": Option(100_000, whole_number(1), "per problem"),
        "breadth_first": Option(0.1, share, "of the pre-images, found breadth-first"),
        "length": Option(0, whole_number(0), "depth at which walks end; 0: facts / mean effects"),
        "stride": Option(1, whole_number(1), "one set in so many along a walk is used"),
        "random": Option(0.2, share, "states drawn without a walk"),
        "completion": Option("exclusive", one_of(*COMPLETIONS), "how open facts are drawn"),
        "h2": Option(True, yes_or_no, "whether to use the mutexes of h^2"),
        "seed": Option(0, whole_number(0), "of all draws"),
    },
    replaces=False,
)

"""The teacher "regression": states around rollouts from the goal (RSL and N-RSL)."""

from __future__ import annotations

from typing import Any

from hstar.pddl import Problem
from hstar.runtime.resources import Budget
from hstar.spaces.task import ground
from hstar.teachers.attempt import Attempt
from hstar.teachers.backward import (
    COMPLETIONS,
    KINDS,
    NOVELTIES,
    attempt_of,
    sample_rollouts,
)
from hstar.teachers.teacher import Option, Teacher, one_of, share, whole_number, yes_or_no


def label_by_rollouts(problem: Problem, budget: Budget, **options: Any) -> Attempt:
    """Label a problem; it is grounded for any initial state. Raises PddlError, ValueError."""
    task = ground(problem, keep_constant=True, budget=budget)
    return attempt_of(task, sample_rollouts(task, budget, **options))


TEACHER = Teacher(
    "states around rollouts from the goal, with upper bounds (RSL, N-RSL)",
    label_by_rollouts,
    kinds=KINDS,
    options={
        "states": Option(100_000, whole_number(1), "per problem"),
        "rollouts": Option(5, whole_number(1), "from the goal"),
        "length": Option(500, whole_number(1), "steps of a rollout"),
        "novelty": Option("both", one_of(*NOVELTIES), "what a rollout prefers"),
        "random": Option(0.5, share, "states drawn without a rollout"),
        "completion": Option("atoms", one_of(*COMPLETIONS), "how open facts are drawn"),
        "h2": Option(False, yes_or_no, "whether to use the mutexes of h^2"),
        "seed": Option(0, whole_number(0), "of all draws"),
    },
    replaces=False,
)

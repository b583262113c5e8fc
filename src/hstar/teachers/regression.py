"""Teachers that search backwards from the goal: "regression" (RSL, N-RSL) and "fsm"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hstar.pddl import Problem
from hstar.runtime.resources import Budget
from hstar.spaces.task import ground
from hstar.teachers.attempt import Attempt
from hstar.teachers.backward import (
    COMPLETIONS,
    KINDS,
    NOVELTIES,
    FactSets,
    attempt_of,
    sample_focused,
    sample_rollouts,
)
from hstar.teachers.teacher import Option, Teacher, one_of, share, whole_number, yes_or_no


def labelling_by(sample: Callable[..., FactSets]) -> Callable[..., Attempt]:
    """A function that labels a problem, grounded for any initial state, with samples."""

    def label(problem: Problem, budget: Budget, **options: Any) -> Attempt:
        task = ground(problem, keep_constant=True, budget=budget)
        return attempt_of(task, sample(task, budget, **options))

    return label


def options_with(
    own: dict[str, Option], random: float, completion: str, h2: bool, improve: bool
) -> dict[str, Option]:
    """The options of a teacher: its own, and those that both have with their defaults."""
    return {
        "states": Option(100_000, whole_number(1), "per problem"),
        **own,
        "random": Option(random, share, "states drawn around no pre-image"),
        "completion": Option(completion, one_of(*COMPLETIONS), "how open facts are drawn"),
        "h2": Option(h2, yes_or_no, "whether to use the mutexes of h^2"),
        "improve": Option(
            improve, yes_or_no, "whether to look for shorter ways between pre-images"
        ),
        "seed": Option(0, whole_number(0), "of all draws"),
    }


ROLLOUTS = Teacher(
    "states around rollouts from the goal, with upper bounds (RSL, N-RSL)",
    labelling_by(sample_rollouts),
    kinds=KINDS,
    options=options_with(
        {
            "rollouts": Option(5, whole_number(1), "from the goal"),
            "length": Option(500, whole_number(1), "steps of a rollout"),
            "novelty": Option("both", one_of(*NOVELTIES), "what a rollout prefers"),
        },
        random=0.5,
        completion="atoms",
        h2=False,
        improve=False,
    ),
    replaces=False,
    sample=sample_rollouts,
)

FOCUSED = Teacher(
    "states near the goal and along walks away from it, with upper bounds (FSM)",
    labelling_by(sample_focused),
    kinds=KINDS,
    options=options_with(
        {
            "breadth_first": Option(0.1, share, "of the pre-images, found breadth-first"),
            "length": Option(0, whole_number(0), "where walks end; 0: facts / mean effects"),
            "stride": Option(1, whole_number(1), "one set in so many along a walk is used"),
        },
        random=0.2,
        completion="exclusive",
        h2=True,
        improve=True,
    ),
    replaces=False,
    sample=sample_focused,
)

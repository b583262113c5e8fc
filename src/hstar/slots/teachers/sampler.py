"""Teachers that sample labelled sets of facts of one task."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any

from hstar.pddl import Problem
from hstar.planning.task import ground
from hstar.runtime.resources import Budget
from hstar.slots.teachers.attempt import Attempt
from hstar.slots.teachers.backward import COMPLETIONS, attempt_of
from hstar.slots.teachers.labels import LabelRows
from hstar.slots.teachers.teacher import Teacher, one_of, share, whole_number, yes_or_no

# Options that several of them have.
StateCount = Annotated[int, whole_number(1), "per problem, at most"]
RandomShare = Annotated[float, share, "states drawn around no pre-image"]
Completion = Annotated[str, one_of(*COMPLETIONS), "how open facts are drawn"]
UseH2 = Annotated[bool, yes_or_no, "whether to use the mutexes of h^2"]
Improve = Annotated[bool, yes_or_no, "whether to look for shorter ways between pre-images"]
Seed = Annotated[int, whole_number(0), "of all draws"]


def sampling_teacher(
    description: str, sample: Callable[..., LabelRows], kinds: tuple[str, ...]
) -> Teacher:
    """The teacher of a function `sample(task, budget, *, states, seed, ...)`."""

    @functools.wraps(sample)  # for its options
    def label(problem: Problem, budget: Budget, **chosen: Any) -> Attempt:
        """The task is grounded for any initial state."""
        task = ground(problem, keep_constant=True, budget=budget)
        return attempt_of(task, sample(task, budget, **chosen))

    return Teacher(description, label, kinds, replaces=False)

"""Teachers that sample labelled sets of facts of one task. Whoever wants only the sets calls
`Teacher.sample`; for a folder of problems they become rows of a label file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from hstar.pddl import Problem
from hstar.planning.task import ground
from hstar.runtime.resources import Budget
from hstar.slots.teachers.attempt import Attempt
from hstar.slots.teachers.backward import COMPLETIONS, FactSets, attempt_of
from hstar.slots.teachers.teacher import Option, Teacher, one_of, share, whole_number, yes_or_no

Read = tuple[Callable[[str], Any], str]  # how a text is read, and what the option means
SHARED: dict[str, Read] = {
    "states": (whole_number(1), "per problem, at most"),
    "random": (share, "states drawn around no pre-image"),
    "completion": (one_of(*COMPLETIONS), "how open facts are drawn"),
    "h2": (yes_or_no, "whether to use the mutexes of h^2"),
    "improve": (yes_or_no, "whether to look for shorter ways between pre-images"),
    "seed": (whole_number(0), "of all draws"),
}


def sampling_teacher(
    description: str,
    sample: Callable[..., FactSets],
    kinds: tuple[str, ...],
    options: Mapping[str, Read],
) -> Teacher:
    """The teacher of a function `sample(task, budget, *, states, seed, ...)`.

    Its keyword arguments are the options, in their order and with their defaults; `options` says
    how to read those that are not SHARED.
    """
    known = SHARED | dict(options)
    arguments = inspect.signature(sample).parameters.values()
    keywords = [one for one in arguments if one.kind is one.KEYWORD_ONLY]

    def label(problem: Problem, budget: Budget, **chosen: Any) -> Attempt:
        """The task is grounded for any initial state."""
        task = ground(problem, keep_constant=True, budget=budget)
        return attempt_of(task, sample(task, budget, **chosen))

    return Teacher(
        description,
        label,
        kinds=kinds,
        options={one.name: Option(one.default, *known[one.name]) for one in keywords},
        replaces=False,
        sample=sample,
    )

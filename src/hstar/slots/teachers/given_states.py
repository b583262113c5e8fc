"""The teacher "given-states": states on plans from where random walks end (h^TSL).

Each walk goes forward from the initial state of the problem. A search without learning looks for a
plan from its last state, and each state of the plan is labelled with the steps that remain. A
state on several plans gets the smallest label.

Ferber, Helmert and Hoffmann 2020; Ferber et al. 2022. Their walks have 200 steps, and their search
is greedy with h^FF.
"""

from __future__ import annotations

from collections.abc import Iterator, Sized
from contextlib import contextmanager
from typing import Annotated

import numpy as np

from hstar import _core
from hstar.planning.heuristics import bind_heuristic
from hstar.planning.specification import DEFAULT_PLANNER, SearchSpecification
from hstar.runtime.resources import Budget, OutOfResources, stopped
from hstar.slots.teachers.backward import check_goal
from hstar.slots.teachers.labels import LabelRows
from hstar.slots.teachers.states import LatestStates, fact_sets
from hstar.slots.teachers.teacher import SamplingTask, one_of, sampling_teacher, whole_number

LABELLING_SEARCHES = {
    "default": DEFAULT_PLANNER,
    "ff": SearchSpecification("ff", "gbfs", cost="one"),
}
AT_ONCE = 8  # searches between two looks at the time and the number of states
SHARE = 0.1  # of the time left, for one search
END_SHARE = 0.05  # of the time, to hand over what was found


class NothingSolved(ValueError):
    """A teacher that needs plans found none; the message says what to do."""


def earlier(budget: Budget) -> Budget:
    """A budget that leaves some time to hand over what was found."""
    return budget.within((1 - END_SHARE) * budget.seconds_left)


@contextmanager
def ended_by_time(found: Sized) -> Iterator[None]:
    """The limit of time ends what is done inside, if something was found by then."""
    try:
        yield
    except OutOfResources as error:
        if error.status != "out of time" or not len(found):
            raise


def sample_given_states(
    wanted: SamplingTask,
    *,
    walks: Annotated[int, whole_number(0), "the most walks from the start"] = 1000,
    steps: Annotated[int, whole_number(0), "the most steps of a walk"] = 200,
    search: Annotated[
        str,
        one_of(*LABELLING_SEARCHES),
        "the search; default: that of hstar plan, others with h^FF",
    ] = "default",
    expansions: Annotated[int, whole_number(1), "the most per search"] = 100_000,
) -> LabelRows:
    """At most so many states, from plans of at most so many walks. The time limit ends it with the
    states so far. Raises NothingToRegress, NothingSolved, OutOfResources."""
    task, own = wanted.task, earlier(wanted.budget)
    check_goal(task)
    options = LABELLING_SEARCHES[search]
    settings = options.for_core(task)
    settings.max_expansions = expansions
    found = LatestStates(task, wanted.states)
    seeds = np.random.default_rng(wanted.seed)
    with ended_by_time(found):
        with own.native():
            bound = bind_heuristic(options.heuristics[0], task, options.value("cost"), own)
        assert isinstance(bound, _core.Heuristic)
        starts = task.initial_state[None]
        for walked in range(0, walks + AT_ONCE, AT_ONCE):
            left = own.deadline - _core.monotonic_seconds() if own.deadline else 0.0
            with own.native():
                on_plans, remaining, _ = _core.label_by_search(
                    task.core, starts, bound, settings, max(0.0, SHARE * left), *own.limits
                )
                found.add(on_plans, remaining)
                if walked >= walks or len(found) >= wanted.states or own.seconds_left <= 0:
                    break
                count, own_seed = min(AT_ONCE, walks - walked), int(seeds.integers(2**63))
                starts = _core.random_walks(task.core, count, steps, own_seed, *own.limits)
    if not len(found):
        if own.seconds_left <= 0:
            raise stopped("time")
        raise NothingSolved(
            "no plan was found from the initial state or from where walks end; if there may be "
            "one, allow more expansions"
        )
    labels = found.labels()
    return fact_sets(task, found.states(), labels, labels)


TEACHER = sampling_teacher(
    "states on plans from where random walks end, with upper bounds (h^TSL)",
    sample_given_states,
    ("plan",),
)

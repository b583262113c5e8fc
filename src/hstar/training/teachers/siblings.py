"""The teacher "siblings": an optimal plan, and how far from the goal the states beside it are.

A plan alone says only that its own steps are good. What the other steps are worth, searches from
the states behind them tell: some are as good, some lose time, and some lead to dead ends. Distances
near the goal are found in a moment, so they come first.

With the option `alike` states that no linear model on WL features will tell apart have the distance
of the first of them, which may not be their own: a model of other features must not learn from it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.pddl import Problem
from hstar.planning.heuristics import bind_heuristic
from hstar.planning.search import run
from hstar.planning.specification import SearchSpecification
from hstar.planning.task import Task, ground
from hstar.runtime.resources import Budget, OutOfResources
from hstar.slots.features.wl import WL, colour_counts
from hstar.slots.teachers.attempt import TRIVIAL, Attempt, labelled
from hstar.slots.teachers.states import follow
from hstar.slots.teachers.teacher import Teacher, positive_number, yes_or_no

CHEAPEST = SearchSpecification("lmcut", "astar")
EVALUATIONS = 3000  # of one search for a distance; enough for most states beside short plans
PLAN_SHARE = 0.5  # of the time that is left after grounding; distances have the rest
OPTIMAL, SIBLING = 0, 1  # kinds of labels

States = NDArray[np.int32]

# At least as fine as the features of every linear model that is learned from these labels.
ALIKE = {"rounds": 3, "hash": "multiset", "statics": True, "orders": True}


def label_with_siblings(
    problem: Problem,
    budget: Budget,
    max_evaluations: Annotated[
        int | None, positive_number, "the most per attempt, for plan and siblings"
    ] = None,
    alike: Annotated[bool, yes_or_no, "whether WL features decide what is searched once"] = False,
) -> Attempt:
    """`max_evaluations` limits the search for the plan, and all searches for distances together.
    What the limits leave unknown has no label. Raises PddlError, OutOfResources."""
    task = ground(problem, budget=budget)
    options = replace(CHEAPEST, max_evaluations=max_evaluations)
    result = run(task, options, budget.within(PLAN_SHARE * budget.seconds_left))
    if not result.plan:
        return Attempt(TRIVIAL if result.plan == [] else result.status)
    path, remaining = follow(task, result.plan)
    h = {state.tobytes(): left for state, left in zip(path, remaining, strict=True)}
    states, kinds = list(path), [OPTIMAL] * len(path)
    beside = [task.successors(state)[1] for state in path[-2::-1]]  # those near the goal first
    try:
        found = distances(task, beside, max_evaluations, budget, alike)
    except OutOfResources as error:
        if error.status not in ("out of time", "out of memory"):
            raise
        beside, found = [], []
    for successors, values in zip(beside[::-1], found[::-1], strict=True):
        for successor, value in zip(successors, values, strict=True):
            if not math.isnan(value) and successor.tobytes() not in h:
                h[successor.tobytes()] = value
                states.append(successor)
                kinds.append(SIBLING)
    return labelled(
        task, np.stack(states), result.plan, remaining[0], kind=kinds, h=list(h.values())
    )


def distances(
    task: Task, groups: Sequence[States], evaluations: int | None, budget: Budget, alike: bool
) -> list[list[float]]:
    """For each group of states int32[n, V] their distances to the goal: infinite in dead ends, NaN
    where the limits were too tight. All searches together have so many evaluations as given; the
    first states come first. States that are `alike` may share one search. Raises OutOfResources for
    signals."""
    lengths = [len(rows) for rows in groups]
    if not sum(lengths):
        return [[] for _ in lengths]
    states = np.concatenate(groups)
    keys = _colours(task, states) if alike else [state.tobytes() for state in states]
    number: dict[bytes, int] = {}  # of each kind of states
    kinds = [number.setdefault(key, len(number)) for key in keys]
    first = np.unique(kinds, return_index=True)[1]
    settings = replace(CHEAPEST, max_evaluations=EVALUATIONS).for_core(task)
    with budget.native():
        heuristic = bind_heuristic("lmcut", task, "normal", budget)
        assert isinstance(heuristic, _core.Heuristic)
        h = _core.distances(
            task.core,
            states[first],
            heuristic,
            settings,
            evaluations or 0,
            *budget.limits,
        )
    values = (h / task.cost_scale)[kinds]
    return [part.tolist() for part in np.split(values, np.cumsum(lengths)[:-1])]


def _colours(task: Task, states: States) -> list[bytes]:
    """Equal for states that colour refinement does not tell apart, such as those where two equal
    objects have changed places."""
    config = WL.configure([task], ALIKE, "one")
    starts, colours, counts = colour_counts(config, task, states)
    parts = [slice(starts[i], starts[i + 1]) for i in range(len(states))]
    return [colours[part].tobytes() + counts[part].tobytes() for part in parts]


TEACHER = Teacher(
    "A* with LM-cut; h* of the states of the plan and of those beside it",
    label_with_siblings,
    kinds=("optimal", "sibling"),
)

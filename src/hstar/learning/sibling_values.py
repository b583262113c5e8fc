"""Distances of the states beside an optimal plan to the goal.

A plan alone says only that its own steps are good. What the other steps are worth, searches from
the states behind them tell: some are as good, some lose time, and some lead to dead ends. Distances
near the goal are found in a moment, so they come first. States that no model will tell apart have
the distance of the first of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.planning.heuristics import bind_heuristic
from hstar.planning.specification import SearchSpecification
from hstar.planning.task import Task
from hstar.runtime.resources import Budget
from hstar.slots.features.wl import WL, colour_counts
from hstar.slots.teachers.following import follow

EVALUATIONS = 3000  # of one search; enough for most states beside short plans
States = NDArray[np.int32]

ALIKE = {"rounds": 3, "hash": "multiset", "statics": True, "orders": True}


def sibling_values(
    task: Task,
    plan: Sequence[str],
    optimal: SearchSpecification,
    evaluations: int | None,
    budget: Budget,
) -> list[list[float]]:
    """For each state of a plan, but the last, what successor_values says."""
    path = follow(task, plan)[0][:-1]
    return successor_values(task, path[::-1], optimal, evaluations, budget)[::-1]


def successor_values(
    task: Task,
    states: States,
    optimal: SearchSpecification,
    evaluations: int | None,
    budget: Budget,
) -> list[list[float]]:
    """For each of the states int32[n, V] the distances of its successors to the goal, in the order
    of task.successors: infinite in dead ends, NaN where the limits were too tight. All searches
    together have so many evaluations as given; the first states come first. Raises OutOfResources
    for signals."""
    successors = [task.successors(state)[1] for state in states]
    lengths = [len(rows) for rows in successors]
    if not sum(lengths):
        return [[] for _ in lengths]
    together = np.concatenate(successors)
    distinct, places = _alike(task, together)
    settings = optimal.for_core(task)
    settings.max_evaluations = EVALUATIONS
    with budget.native():
        heuristic = bind_heuristic(optimal.heuristics[0], task, optimal.value("cost"), budget)
        assert isinstance(heuristic, _core.Heuristic)
        h, _ = _core.distances(
            task.core, together[distinct], heuristic, settings, evaluations or 0, *budget.limits
        )
    values = (h / task.cost_scale)[places]
    return [part.tolist() for part in np.split(values, np.cumsum(lengths)[:-1])]


def _alike(task: Task, states: States) -> tuple[list[int], list[int]]:
    """The first state of each kind, and of which kind every state is. States that colour refinement
    does not tell apart, such as those where two equal objects have changed places, are alike. It
    goes at least as far as the features of every model (hstar.learning.candidates)."""
    config = WL.configure([task], ALIKE, "one")
    starts, colours, counts = colour_counts(config, task, states)
    kinds: dict[bytes, int] = {}
    distinct: list[int] = []
    places: list[int] = []
    for i in range(len(states)):
        part = slice(starts[i], starts[i + 1])
        kind = kinds.setdefault(colours[part].tobytes() + counts[part].tobytes(), len(kinds))
        if kind == len(distinct):
            distinct.append(i)
        places.append(kind)
    return distinct, places

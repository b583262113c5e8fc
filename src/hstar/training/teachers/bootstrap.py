"""The teacher "bootstrap": a network learns from plans that it finds itself (h^Boot).

    L = 5
    repeat
        draw states at most L regression steps away from the goal
        search for a plan from each, greedily, with the network
        label the states of each plan with the steps that remain
        train the network on the states labelled last
        if 95 % of the searches found a plan: double L, at most 8 times

Ferber et al. 2022. With `unsolved` a state from which no plan was found counts as well, with the
steps of its walk: they are a plan, too. Otherwise learning can get stuck, because a network that
knows only the nearest states finds no way to them from any other. All labels are upper bounds. With
few expansions, L would not grow: in plateaus even states two steps from the goal take thousands.
Where time is limited, a round trains for as long as it searches; there both go on in parallel.
"""

from __future__ import annotations

from itertools import count
from typing import Annotated

import numpy as np

from hstar import _core
from hstar.planning.specification import SearchSpecification
from hstar.planning.task import Task
from hstar.runtime.resources import stopped
from hstar.slots.teachers.backward import NothingToRegress
from hstar.slots.teachers.given_states import earlier, ended_by_time
from hstar.slots.teachers.labels import LabelRows
from hstar.slots.teachers.states import LatestStates, fact_sets
from hstar.slots.teachers.teacher import (
    SamplingTask,
    UseH2,
    sampling_teacher,
    share,
    whole_number,
    yes_or_no,
)
from hstar.training.native import FactNetwork
from hstar.training.teachers.goal_walks import GoalWalks

FIRST_LENGTH = 5
MOST_DOUBLINGS = 8
MOST_ROWS = 20_000  # that a round trains on
SEARCH_SHARE = 0.002  # of the time left, for one search


def sample_bootstrap(
    wanted: SamplingTask,
    *,
    rounds: Annotated[int, whole_number(1), "the most rounds"] = 200,
    searches: Annotated[int, whole_number(1), "how many a round has"] = 100,
    expansions: Annotated[int, whole_number(1), "the most per search"] = 10_000,
    solved: Annotated[float, share, "the share from which walks become longer"] = 0.95,
    batches: Annotated[int, whole_number(1), "how many a round trains on at least"] = 200,
    unsolved: Annotated[bool, yes_or_no, "whether states without a plan count"] = True,
    h2: UseH2 = True,
    network: FactNetwork | None = None,
) -> LabelRows:
    """The states labelled last, as many as wanted at most. The time limit ends it with those so
    far. A given network is the one that learns. Raises NothingToRegress, OutOfResources."""
    task, own = wanted.task, earlier(wanted.budget)
    walks = GoalWalks(task, own, h2=h2)
    network = network or FactNetwork(task, wanted.seed)
    settings = SearchSpecification(algorithm="gbfs", max_expansions=expansions).for_core(task)
    found = LatestStates(task, wanted.states)
    length, doublings, trainings = FIRST_LENGTH, 0, count()
    with ended_by_time(found):
        for number in range(rounds):
            starts, walked = walks.draw(searches, length, [wanted.seed, number])
            seconds = SEARCH_SHARE * own.seconds_left if own.deadline else 0.0
            began = _core.monotonic_seconds()
            with own.native():
                on_plans, steps, was_solved = _core.label_by_search(
                    task.core, starts, network.heuristic(), settings, seconds, *own.limits
                )
            searched = _core.monotonic_seconds() - began
            found.add(on_plans, steps)
            if len(was_solved) < len(starts):
                break
            if unsolved:
                found.add(starts[was_solved == 0], walked[was_solved == 0])
            if was_solved.sum() >= solved * len(starts) and doublings < MOST_DOUBLINGS:
                length, doublings = 2 * length, doublings + 1
            if len(found) >= 2:
                with own.native():
                    sets = rows_of(task, found, [wanted.seed, number])
                    end = _core.monotonic_seconds() + searched if own.deadline else 0.0
                    network.train(sets, batches, next(trainings), own.limits)
                    while _core.monotonic_seconds() < end:
                        network.train(sets, batches, next(trainings), own.limits)
    if not len(found):
        if own.seconds_left <= 0:
            raise stopped("time")
        raise NothingToRegress("every state around the goal leaves a variable open")
    labels = found.labels()
    return fact_sets(task, found.states(), labels, labels)


def rows_of(task: Task, found: LatestStates, seed: list[int]) -> LabelRows:
    """Some of the states labelled last."""
    states, labels = found.states(), found.labels()
    if len(states) > MOST_ROWS:
        chosen = np.random.default_rng(seed).choice(len(states), MOST_ROWS, replace=False)
        states, labels = states[chosen], labels[chosen]
    return fact_sets(task, states, labels, labels)


TEACHER = sampling_teacher(
    "states on plans that a growing network finds, with upper bounds (h^Boot)",
    sample_bootstrap,
    ("plan",),
)

"""The teacher "value-iteration": a network learns from its own values one step ahead (h^AVI).

    repeat
        draw states by regression from the goal
        label a goal with 0, another state with the minimum over its successors of 1 + network
        train the network on them

Ferber et al. 2022, after Agostinelli et al. 2019. In round r walks have at most 5 r steps, since
no value from much farther away can be right yet. Labels are no bounds. At the end the states drawn
last are labelled once more, with the last network.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np

from hstar import _core
from hstar.planning.task import Task
from hstar.runtime.resources import Budget
from hstar.slots.teachers.backward import NothingToRegress
from hstar.slots.teachers.given_states import earlier, ended_by_time
from hstar.slots.teachers.labels import LabelRows
from hstar.slots.teachers.states import LatestStates, States, fact_sets
from hstar.slots.teachers.teacher import Seed, StateCount, UseH2, sampling_teacher, whole_number
from hstar.training.fact_network import NETWORK, FactNetwork
from hstar.training.teachers.goal_walks import GoalWalks

GROWTH = 5
LABEL_SHARE = 0.1  # of the time, to label the states at the end


def sample_value_iteration(
    task: Task,
    budget: Budget,
    *,
    states: StateCount = 100_000,
    rounds: Annotated[int, whole_number(1), "of labels and training"] = 500,
    drawn: Annotated[int, whole_number(1), "states in a round"] = 1000,
    length: Annotated[int, whole_number(1), "steps of a walk from the goal, at most"] = 500,
    batches: Annotated[int, whole_number(1), "to train on, in a round"] = 100,
    h2: UseH2 = True,
    seed: Seed = 0,
) -> LabelRows:
    """The states drawn last, at most `states`. The time limit ends it with the states so far.

    Raises NothingToRegress, OutOfResources.
    """
    own = earlier(budget)
    training = own.within((1 - LABEL_SHARE) * own.seconds_left)
    walks = GoalWalks(task, training, h2=h2)
    network = FactNetwork(task, NETWORK, seed)
    found = LatestStates(task, states)
    with ended_by_time(found):
        for number in range(rounds):
            fresh, _ = walks.draw(drawn, min(length, GROWTH * (number + 1)), [seed, number])
            sets = labelled(task, fresh, network.heuristic(), training)
            found.add(fresh, np.zeros(len(fresh), np.float32))
            if len(sets) >= 2:
                with training.native():
                    network.train(sets, batches, number, training.limits)
    if not len(found):
        raise NothingToRegress("every state around the goal leaves a variable open")
    heuristic = network.heuristic()
    latest = found.states()[::-1]
    parts: list[LabelRows] = []
    with ended_by_time(parts):
        for first in range(0, len(latest), drawn):
            parts.append(labelled(task, latest[first : first + drawn], heuristic, own))
    rows = LabelRows.concatenate(parts)
    return replace(rows, problem=np.zeros_like(rows.problem))


def labelled(task: Task, states: States, heuristic: _core.Heuristic, budget: Budget) -> LabelRows:
    """The states that have a successor or are goals, with values one step ahead."""
    with budget.native():
        values = _core.bellman_values(task.core, states, heuristic, *budget.limits)
    known = np.isfinite(values)
    return fact_sets(task, states[known], values[known])


TEACHER = sampling_teacher(
    "states around the goal, with the value of a network one step ahead (h^AVI)",
    sample_value_iteration,
    ("lookahead",),
)

"""The teacher "value-iteration": a network learns from its own values one step ahead (h^AVI).

    L = 5
    repeat
        draw states at most L regression steps away from the goal
        label a goal with 0, another state with the minimum over its successors of 1 + network
        if the network is about that already, at these fresh states: double L
        train the network on them

Ferber et al. 2022, after Agostinelli et al. 2019. Here walks grow as those of h^Boot do: a round
carries values one step farther, so none from much farther away than L can be right yet. Where they
are not carried yet, the network is 1 off. States drawn before are labelled again and trained on as
well, because to draw them takes the most time. Labels are no bounds. At the end the states drawn
last are labelled once more, with the last network.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from hstar import _core
from hstar.planning.task import Task
from hstar.runtime.resources import Budget
from hstar.slots.teachers.backward import NothingToRegress
from hstar.slots.teachers.given_states import earlier, ended_by_time
from hstar.slots.teachers.labels import LabelRows
from hstar.slots.teachers.states import Floats, LatestStates, States, fact_sets
from hstar.slots.teachers.teacher import SamplingTask, UseH2, sampling_teacher, share, whole_number
from hstar.training.native import FactNetwork
from hstar.training.teachers.goal_walks import GoalWalks

FIRST_LENGTH = 5
MOST_ROWS = 10_000  # that a round trains on
LABEL_SHARE = 0.1  # of the time, to label the states at the end


def sample_value_iteration(
    wanted: SamplingTask,
    *,
    rounds: Annotated[int, whole_number(1), "the most rounds"] = 500,
    drawn: Annotated[int, whole_number(1), "how many states a round draws"] = 500,
    length: Annotated[int, whole_number(1), "the most steps of a walk from the goal"] = 500,
    batches: Annotated[int, whole_number(1), "how many a round trains on"] = 100,
    near: Annotated[float, share, "the mean error from which walks become longer"] = 0.3,
    h2: UseH2 = True,
    network: FactNetwork | None = None,
) -> LabelRows:
    """The states drawn last, as many as wanted at most. The time limit ends it with those so
    far. A given network is the one that learns. Raises NothingToRegress, OutOfResources."""
    task, own = wanted.task, earlier(wanted.budget)
    training = own.within((1 - LABEL_SHARE) * own.seconds_left)
    walks = GoalWalks(task, training, h2=h2)
    network = network or FactNetwork(task, wanted.seed)
    found = LatestStates(task, wanted.states)
    longest = min(length, FIRST_LENGTH)
    with ended_by_time(found):
        for number in range(rounds):
            fresh, _ = walks.draw(drawn, longest, [wanted.seed, number])
            found.add(fresh, np.zeros(len(fresh), np.float32))
            heuristic = network.heuristic()
            latest = found.states()[-MOST_ROWS:]
            values = values_of(task, latest, heuristic, training)
            sets = labelled(task, latest, values)
            error = mean_error(heuristic.evaluate(latest[-drawn:]), values[-drawn:])
            if error < near:
                longest = min(length, 2 * longest)
            if len(sets) >= 2:
                with training.native():
                    network.train(sets, batches, number, training.limits)
    if not len(found):
        raise NothingToRegress("every state around the goal leaves a variable open")
    heuristic = network.heuristic()
    latest = found.states()[::-1]
    ahead: list[Floats] = []
    with ended_by_time(ahead):
        for first in range(0, len(latest), drawn):
            ahead.append(values_of(task, latest[first : first + drawn], heuristic, own))
    return labelled(task, latest, np.concatenate(ahead))


def values_of(task: Task, states: States, heuristic: _core.Heuristic, budget: Budget) -> Floats:
    """One step ahead: infinite where there is no step and no goal."""
    with budget.native():
        return _core.bellman_values(task.core, states, heuristic, *budget.limits)


def mean_error(h: Floats, values: Floats) -> float:
    """Infinite if no value is known."""
    known = np.isfinite(values)
    return float(np.abs(h - values)[known].mean()) if known.any() else np.inf


def labelled(task: Task, states: States, values: Floats) -> LabelRows:
    """The first states, as many as there are values, without those whose value is infinite."""
    known = np.flatnonzero(np.isfinite(values))
    return fact_sets(task, states[known], values[known])


TEACHER = sampling_teacher(
    "states around the goal, with the value of a network one step ahead (h^AVI)",
    sample_value_iteration,
    ("lookahead",),
)

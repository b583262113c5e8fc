"""Sets of facts sampled backwards from the goal of one task, with bounds on their distance to it.

Everything per state runs in the core (cpp/regression). A completed state is a set of facts, which
are the `atoms` of its row: it may leave a variable of the task without a value, and it need not be
reachable. The depth of a pre-image that it contains is an upper bound on its distance. A state that
contains none gets a guess for h, more than any depth, and no bound; its kind is "random".

With `improve`, depths of pre-images are lowered first: if an operator leads from a pre-image to one
of smaller depth, no matter whether sampling took that step, it is at most one step farther away.
"""

from __future__ import annotations

from itertools import accumulate, combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.planning.task import Task
from hstar.runtime.resources import Budget
from hstar.slots.teachers.attempt import Attempt
from hstar.slots.teachers.labels import SOLVED, LabelRows

COMPLETIONS = ("atoms", "exclusive", "variables")
MOST_H2_SECONDS = 20.0
MOST_IMPROVE_SECONDS = 20.0
H2_SHARE = 0.05  # of the time left
IMPROVE_SHARE = 0.2  # of the time left: states must still be completed and labelled


class NothingToRegress(ValueError):
    """The goal of a task leaves nothing to sample; the message says why."""


def check_goal(task: Task) -> None:
    """Raises NothingToRegress if the goal holds nowhere or everywhere."""
    if task.goal_is_false:
        raise NothingToRegress("no reachable state satisfies the goal")
    if not task.goal:
        raise NothingToRegress("the goal is empty or holds in every state")


def regression_of(task: Task, budget: Budget, *, h2: bool) -> _core.Regression:
    """The task as seen from its goal. Raises NothingToRegress, OutOfResources."""
    check_goal(task)
    with budget.native():
        regression = _core.Regression(task.core, *budget.limits)
        if h2:
            regression.add_h2(h2_seconds(budget), *budget.limits)
    first = [0, *accumulate(task.domain_sizes)]
    goal = [first[variable] + value for variable, value in task.goal]
    for a, b in combinations_with_replacement(goal, 2):
        if regression.exclusive(a, b):
            parts = " and ".join(dict.fromkeys(task.core.atom_name(fact) for fact in (a, b)))
            raise NothingToRegress(f"no state can satisfy the goal: it asks for {parts}")
    return regression


def h2_seconds(budget: Budget) -> float:
    """For h^2, which is of no use before it is complete: the rest of the time is for the states."""
    return min(MOST_H2_SECONDS, max(0.0, H2_SHARE * budget.seconds_left))


def prepare(images: _core.PreImages, improve: bool, budget: Budget) -> None:
    """Raises NothingToRegress if there is only the goal. Improves depths if asked to."""
    if len(images) and images.depth.max() == 0:
        raise NothingToRegress(
            "no operator can be regressed from the goal: each one that helps has conditional "
            "effects, or contradicts another part of the goal"
        )
    if improve:
        with budget.native():  # what is improved when the time is over is kept
            seconds = max(0.0, IMPROVE_SHARE * budget.seconds_left)
            images.improve(min(MOST_IMPROVE_SECONDS, seconds), *budget.limits)


def completed(
    images: _core.PreImages,
    chosen: NDArray[np.int32],
    completion: str,
    seed: int,
    budget: Budget,
) -> LabelRows:
    """Complete pre-images and label each state by the nearest pre-image that it contains."""
    limits = budget.limits
    with budget.native():
        starts, facts = images.complete(chosen, completion, seed, *limits)
        depths = images.smallest_depths(starts, facts, *limits)
    is_random = depths < 0
    h, upper = (np.where(is_random, far, depths) for far in (images.depth.max() + 1, np.nan))
    return LabelRows.of_one_problem(starts, facts, h=h, upper=upper, kind=is_random)


def attempt_of(task: Task, sets: LabelRows) -> Attempt:
    """The sets as labels of a problem. There is no plan, because a set need not be reachable."""
    names = [task.core.atom_name(fact) for fact in range(task.num_facts)]
    return Attempt(SOLVED, atoms=names, has_open=True, rows=sets)

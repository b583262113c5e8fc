"""Whole states around the goal of a task: random regression from the goal, completed at random."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hstar.planning.task import Task
from hstar.runtime.resources import Budget
from hstar.slots.teachers.backward import NothingToRegress, regression_of
from hstar.slots.teachers.states import states_of_facts

MOST_STEPS = 2000  # of all walks of a draw, which then takes no longer than training


class GoalWalks:
    """Raises NothingToRegress if nothing leads to the goal."""

    def __init__(self, task: Task, budget: Budget, *, h2: bool) -> None:
        self.task, self.budget = task, budget
        self.regression = regression_of(task, budget, h2=h2)

    def draw(
        self, count: int, length: int, seed: list[int]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """At most `count` states int32[S, V], each after 0 to `length` steps, all equally likely,
        and the numbers of steps, which are upper bounds on the distances to the goal.

        Of long walks there are few, and several states are from each. A walk that ends early counts
        with its last set. A completion that leaves a variable open is left out. Such states need
        not be reachable from the initial state.
        """
        limits = self.budget.limits
        draws = np.random.default_rng(seed)
        number = int(draws.integers(2**63))
        with self.budget.native():
            most = max(1, min(count, MOST_STEPS // length))
            images = self.regression.backward_walks(most, length, "none", number, *limits)
        if images.depth.max() == 0:
            raise NothingToRegress("no operator without conditional effects leads to the goal")
        ends = np.append(np.flatnonzero(np.diff(images.walk)), len(images) - 1)
        begins = np.append(0, ends[:-1] + 1)
        walk = np.arange(count) % len(ends)
        steps = draws.integers(0, length, size=count, endpoint=True)
        chosen = np.minimum(begins[walk] + steps, ends[walk]).astype(np.int32)
        with self.budget.native():
            starts, facts = images.complete(chosen, "variables", number, *limits)
        states = states_of_facts(self.task, starts, facts)
        is_whole = (states >= 0).all(axis=1)
        return states[is_whole], images.depth[chosen][is_whole]

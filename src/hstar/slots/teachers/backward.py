"""Sets of facts sampled backwards from the goal of one task, with bounds on their distance to it.

    regression   rollouts from the goal, completed to whole states (O'Toole et al. 2022: RSL, N-RSL)
    fsm          breadth-first regression and walks from its leaves (Bettker et al. 2024)

Everything per state runs in the core (cpp/regression). A completed state is a set of facts: it may
leave a variable of the task without a value, and it need not be reachable. The depth of a
pre-image that it contains is an upper bound on its distance. A state that contains none gets a
guess for h, more than any depth, and no bound; its kind is "random".

With `improve`, depths of pre-images are lowered first: if an operator leads from a pre-image to one
of smaller depth, no matter whether sampling took that step, it is at most one step farther away.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.planning.task import Task
from hstar.runtime.resources import Budget
from hstar.slots.teachers.attempt import Attempt
from hstar.slots.teachers.labels import SOLVED, LabelRows

KINDS = ("regression", "random")
NOVELTIES = ("none", "preconditions", "adds", "deletes", "both")
COMPLETIONS = ("atoms", "exclusive", "variables")
MOST_H2_SECONDS = 20.0
MOST_IMPROVE_SECONDS = 20.0
H2_SHARE = 0.05  # of the time left


class NothingToRegress(ValueError):
    """The goal of a task leaves nothing to sample; the message says why."""


@dataclass(frozen=True, slots=True)
class FactSets:
    """Labelled sets of facts. Set i holds `facts[starts[i]:starts[i + 1]]`; NaN means unknown."""

    starts: NDArray[np.int64]
    facts: NDArray[np.int32]
    h: NDArray[np.float32]
    upper: NDArray[np.float32]
    kind: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.h)


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


def sample_rollouts(
    task: Task,
    budget: Budget,
    *,
    states: int = 100_000,
    rollouts: int = 5,
    length: int = 500,
    novelty: str = "both",
    random: float = 0.5,
    completion: str = "atoms",
    h2: bool = False,
    improve: bool = False,
    seed: int = 0,
) -> FactSets:
    """States around rollouts from the goal. The defaults are the published settings of N-RSL."""
    regression = regression_of(task, budget, h2=h2)
    with budget.native():
        images = regression.backward_walks(rollouts, length, novelty, seed, *budget.limits)
    _prepare(images, improve, budget)
    return _completed(
        images, _by_depth(images.depth, states, random, seed), completion, seed, budget
    )


def sample_focused(
    task: Task,
    budget: Budget,
    *,
    states: int = 100_000,
    breadth_first: float = 0.1,
    length: int = 0,
    stride: int = 1,
    random: float = 0.2,
    completion: str = "exclusive",
    h2: bool = True,
    improve: bool = True,
    seed: int = 0,
) -> FactSets:
    """States near the goal and along walks away from it, at most `length` steps deep.

    By default that is the number of facts divided by the mean number of effects. A stride over 1
    spreads the states over more walks.
    """
    regression = regression_of(task, budget, h2=h2)
    count = max(1, round(states * (1 - random)))
    with budget.native():
        images = regression.focused(count, breadth_first, length, stride, seed, *budget.limits)
    _prepare(images, improve, budget)
    unlabelled = np.full(round(len(images) * random / (1 - random)), -1)
    chosen = np.concatenate([np.arange(len(images)), unlabelled]).astype(np.int32)
    return _completed(images, chosen, completion, seed, budget)


def _prepare(images: _core.PreImages, improve: bool, budget: Budget) -> None:
    """Raises NothingToRegress if there is only the goal. Improves depths if asked to."""
    if len(images) and images.depth.max() == 0:
        raise NothingToRegress(
            "no operator can be regressed from the goal: each one that helps has conditional "
            "effects, or contradicts another part of the goal"
        )
    if improve:
        with budget.native():  # what is improved when the time is over is kept
            images.improve(_improve_seconds(budget), *budget.limits)


def _improve_seconds(budget: Budget) -> float:
    """At most a fifth of the time left: states must still be completed and labelled."""
    return min(MOST_IMPROVE_SECONDS, max(0.0, budget.seconds_left / 5))


def _by_depth(depth: NDArray[np.int32], states: int, random: float, seed: int) -> NDArray[np.int32]:
    """Which pre-image to complete, for each state; -1 for none.

    The same number of states is drawn for each depth i, from all pre-images of depth at most i.
    """
    draws = np.random.default_rng(seed)
    order = np.argsort(depth, kind="stable")
    slots = np.arange(states, dtype=np.int64) * (int(depth.max()) + 1) // states
    fitting = np.searchsorted(depth[order], slots, side="right")
    drawn = order[(draws.random(states) * fitting).astype(np.int64)]
    return np.where(draws.random(states) < random, -1, drawn).astype(np.int32)


def _completed(
    images: _core.PreImages,
    chosen: NDArray[np.int32],
    completion: str,
    seed: int,
    budget: Budget,
) -> FactSets:
    """Complete pre-images and label each state by the nearest pre-image that it contains."""
    limits = budget.limits
    with budget.native():
        starts, facts = images.complete(chosen, completion, seed, *limits)
        depths = images.smallest_depths(starts, facts, *limits)
    is_random = depths < 0
    beyond = images.depth.max() + 1
    return FactSets(
        starts,
        facts,
        np.where(is_random, beyond, depths).astype(np.float32),
        np.where(is_random, np.nan, depths).astype(np.float32),
        is_random.astype(np.uint8),
    )


def attempt_of(task: Task, sets: FactSets) -> Attempt:
    """The sets as labels of a problem. There is no plan, because a set need not be reachable."""
    names = [task.core.atom_name(fact) for fact in range(task.num_facts)]
    unknown = np.full(len(sets), np.nan, dtype=np.float32)
    rows = LabelRows(
        np.zeros(len(sets), np.int32),
        sets.starts,
        sets.facts,
        sets.h,
        unknown,
        sets.upper,
        sets.kind,
    )
    return Attempt(SOLVED, atoms=names, has_open=True, rows=rows)

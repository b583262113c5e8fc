"""Teachers that search backwards from the goal of one task.

regression   walks from the goal, completed to whole states (O'Toole et al. 2022: RSL, N-RSL)
fsm          breadth-first regression and walks from its leaves (Bettker et al. 2024)
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from hstar.slots.teachers.backward import completed, prepare, regression_of
from hstar.slots.teachers.labels import LabelRows
from hstar.slots.teachers.teacher import (
    Completion,
    Improve,
    RandomShare,
    SamplingTask,
    UseH2,
    one_of,
    sampling_teacher,
    share,
    whole_number,
    yes_or_no,
)

KINDS = ("regression", "random")
NOVELTIES = ("none", "preconditions", "deletes", "both")


def sample_walks(
    wanted: SamplingTask,
    *,
    walks: Annotated[int, whole_number(1), "how many go back from the goal"] = 5,
    length: Annotated[int, whole_number(1), "the most steps of a walk"] = 500,
    novelty: Annotated[str, one_of(*NOVELTIES), "what a walk prefers"] = "both",
    random: RandomShare = 0.5,
    even: Annotated[bool, yes_or_no, "whether all depths get equally many states"] = False,
    completion: Completion = "atoms",
    h2: UseH2 = False,
    improve: Improve = False,
) -> LabelRows:
    """States around walks from the goal. The defaults are the published settings of N-RSL."""
    budget, seed = wanted.budget, wanted.seed
    regression = regression_of(wanted.task, budget, h2=h2)
    with budget.native():
        images = regression.backward_walks(walks, length, novelty, seed, *budget.limits)
    prepare(images, improve, budget)
    chosen = by_depth(images.depth, wanted.states, random, seed, even=even)
    return completed(images, chosen, completion, seed, budget)


def sample_focused(
    wanted: SamplingTask,
    *,
    breadth_first: Annotated[float, share, "the share of sets found breadth-first"] = 0.1,
    length: Annotated[int, whole_number(0), "where walks end; 0: facts / mean effects"] = 0,
    stride: Annotated[int, whole_number(1), "one set in so many along a walk is used"] = 1,
    random: RandomShare = 0.2,
    completion: Completion = "exclusive",
    h2: UseH2 = True,
    improve: Improve = True,
) -> LabelRows:
    """States near the goal and along walks away from it, at most `length` steps deep.

    By default that is the number of facts divided by the mean number of effects. A stride over 1
    spreads the states over more walks.
    """
    budget, seed = wanted.budget, wanted.seed
    regression = regression_of(wanted.task, budget, h2=h2)
    count = max(1, round(wanted.states * (1 - random)))
    with budget.native():
        images = regression.focused(count, breadth_first, length, stride, seed, *budget.limits)
    prepare(images, improve, budget)
    unlabelled = np.full(round(len(images) * random / (1 - random)), -1)
    chosen = np.concatenate([np.arange(len(images)), unlabelled]).astype(np.int32)
    return completed(images, chosen, completion, seed, budget)


def by_depth(
    depth: NDArray[np.int32], states: int, random: float, seed: int, *, even: bool = False
) -> NDArray[np.int32]:
    """Which pre-image to complete, for each state; -1 for none.

    The same number of states is drawn for each depth i: if `even`, from the pre-images of depth i,
    else from all of depth at most i, as the authors' code has it, which favours the shallow ones.
    """
    draws = np.random.default_rng(seed)
    order = np.argsort(depth, kind="stable")
    slots = np.arange(states, dtype=np.int64) * (int(depth.max()) + 1) // states
    end = np.searchsorted(depth[order], slots, side="right")
    begin = np.searchsorted(depth[order], slots) if even else np.zeros_like(end)
    drawn = order[begin + (draws.random(states) * (end - begin)).astype(np.int64)]
    return np.where(draws.random(states) < random, -1, drawn).astype(np.int32)


WALKS = sampling_teacher(
    "states around walks from the goal, with upper bounds (RSL, N-RSL)", sample_walks, KINDS
)
FOCUSED = sampling_teacher(
    "states near the goal and along walks away from it, with upper bounds (FSM)",
    sample_focused,
    KINDS,
)

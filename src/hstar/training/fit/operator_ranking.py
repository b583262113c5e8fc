"""Which operators of a state to try first: a rank-SVM on their colours (cpp/wl/operators.hpp)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.runtime.resources import Budget
from hstar.slots.features.feature import Config
from hstar.slots.features.wl import operator_colours
from hstar.training.fit.choices import Choices

Colours = NDArray[np.uint64]


def rank_operators(
    choices: Sequence[Choices], config: Config, budget: Budget
) -> tuple[dict[str, Any], NDArray[np.float32]] | None:
    """Actions and colours of operators, and weights float32[C]. None if no two operators that were
    chosen between look different. Raises OutOfResources."""
    used = [one for one in choices if len(one.steps)]
    if not used:
        return None
    actions = [action.name for action in used[0].task.problem.domain.actions]
    parts = [_colours_of_steps(config, one, actions) for one in used]
    better, worse = (np.concatenate(side) for side in zip(*parts, strict=True))
    pairs = np.unique(np.concatenate([better, worse], axis=1), axis=0)
    better, worse = np.split(pairs, 2, axis=1)  # [Q, rounds + 2] each
    pairs = pairs[(better != worse).any(axis=1)]
    if not len(pairs):
        return None
    colours, places = np.unique(pairs, return_inverse=True)
    rows = _differences(*np.split(places.reshape(pairs.shape), 2, axis=1))
    with budget.native():
        weights, _, _ = _core.rank_svm(
            *rows, len(colours), deadline=budget.deadline, memory_bytes=budget.memory_bytes
        )
    kept = np.flatnonzero(weights)
    described = {"actions": actions, "colours": [f"{colour:016x}" for colour in colours[kept]]}
    return described, weights[kept].astype(np.float32)


def _colours_of_steps(
    config: Config, one: Choices, actions: Sequence[str]
) -> tuple[Colours, Colours]:
    """Of the better and of the worse operator of each step, uint64[Q, rounds + 2]."""
    rows, better, worse = one.steps.T
    both = np.concatenate([np.stack([rows, better], 1), np.stack([rows, worse], 1)])
    distinct, places = np.unique(both, axis=0, return_inverse=True)
    states = one.states[distinct[:, 0]]
    found = operator_colours(config, one.task, states, distinct[:, 1], actions)
    better, worse = np.split(places.reshape(-1), 2)
    return found[better], found[worse]


def _differences(
    better: NDArray[np.int64], worse: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """The colours of worse operators minus those of better ones, as sparse rows: starts, columns,
    values. Colours of different rounds differ, so two operators share one in the same round only.
    """
    differ = np.concatenate([better != worse] * 2, axis=1)
    columns = np.concatenate([better, worse], axis=1)
    values = np.concatenate([-np.ones(better.shape), np.ones(worse.shape)], axis=1)
    order = np.argsort(columns, axis=1, kind="stable")
    differ, columns, values = (
        np.take_along_axis(one, order, axis=1) for one in (differ, columns, values)
    )
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(differ.sum(axis=1))])
    return starts, columns[differ].astype(np.int32), values[differ].astype(np.float32)

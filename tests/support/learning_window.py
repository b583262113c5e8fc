"""Looks into an environment of reinforcement learning and its learner, many states at a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from hstar import _core


def about(
    world: _core.Environment, problems: Iterable[int], states: Iterable[int]
) -> dict[str, Any]:
    """Arrays: h, and whether a state is a goal and a dead end."""
    found = [world.about(int(p), int(s)) for p, s in zip(problems, states, strict=True)]
    h, goals, dead_ends = zip(*found, strict=True)
    return {
        "h": np.array(h, np.float32),
        "goals": np.array(goals),
        "dead_ends": np.array(dead_ends),
    }


def expand(world: _core.Environment, problems: Iterable[int], states: Iterable[int]) -> Any:
    """Where the steps of each state begin, operators, and the numbers of successors."""
    found = [world.expand(int(p), int(s)) for p, s in zip(problems, states, strict=True)]
    starts = np.cumsum([0, *(len(ops) for ops, _ in found)])
    ops = [op for ops, _ in found for op in ops]
    return starts, np.array(ops, np.int32), np.array([s for _, to in found for s in to], np.int64)


def inputs(world: _core.Environment, problems: Iterable[int], states: Iterable[int]) -> Any:
    """A batch as `_core.nlm_forward` takes it: sizes, starts, entries and values."""
    found = [world.inputs(int(p), int(s)) for p, s in zip(problems, states, strict=True)]
    starts = np.cumsum([0, *(len(values) for _, _, values in found)]).astype(np.int64)
    entries = np.array([pair for _, pairs, _ in found for pair in pairs], np.int32).reshape(-1, 2)
    values = np.array([x for _, _, values in found for x in values], np.float32)
    return np.array([size for size, _, _ in found], np.int32), starts, entries, values


def network_values(
    learner: _core.RtdpLearner, problems: Iterable[int], states: Iterable[int]
) -> Any:
    pairs = zip(problems, states, strict=True)
    return np.array([learner.value(int(p), int(s)) for p, s in pairs], np.float32)

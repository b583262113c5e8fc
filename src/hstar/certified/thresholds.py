"""Choosing what is decoded and what is an exception, so that bytes buy as much mean as they can.

Each level k has a threshold t: it is accepted where P(class < k) <= t. A larger t adds states whose
value is k or more (the mean rises) and states whose value is less (each an exception, of about
log2(states / exceptions) + 1.5 bits). One sweep counts both for every t of a grid. For a price of a
bit, every level by itself takes the t with the largest gain less price; a search over prices finds
the best thresholds for a number of bytes or for a mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hstar.certified.decoding import ONE, Decoding, ratio_of
from hstar.certified.model import ExceptionSet, LearnedDatabase
from hstar.certified.sweep import AnySweep, LevelCounts

MOST_ATTEMPTS = 6
# 0, and from 2^-32 to 1 eight steps an octave.
GRID = sorted({0, ONE, *(math.floor(2 ** (step / 8)) for step in range(32 * 8))})


@dataclass(frozen=True, slots=True)
class Choice:
    """Thresholds and what they are expected to give: exceptions, their bytes, and the mean."""

    thresholds: tuple[int, ...]
    exceptions: float
    num_bytes: float
    mean: float


def frontier(counts: LevelCounts, values: tuple[int, ...], states: int) -> list[Choice]:
    """The best choices from the fewest bytes to the largest mean; `states` of the whole space."""
    scale = states / max(counts.states, 1)
    steps = np.diff(np.asarray(values, dtype=np.float64))[:, None]
    gain = np.cumsum(counts.within, axis=1)[:, :-1] * steps * scale
    harm = np.cumsum(counts.just + counts.below, axis=1)[:, :-1] * scale
    choices: dict[tuple[int, ...], Choice] = {}
    for price in np.geomspace(1e3, 1e-4, 160):  # of an exception, in units of value
        cells = np.argmax(gain - price * harm, axis=1)
        thresholds = tuple(GRID[cell] for cell in cells)
        exceptions = float(_pick(harm, cells).sum())
        total = float(_pick(gain, cells).sum())
        bits = exceptions * (math.log2(max(states / max(exceptions, 1.0), 1.0)) + 1.6)
        mean = values[0] + total / max(states, 1)
        choices[thresholds] = Choice(thresholds, exceptions, bits / 8, mean)
    return sorted(choices.values(), key=lambda choice: (choice.num_bytes, choice.mean))


def make_strict(
    model: LearnedDatabase,
    sweep: AnySweep,
    size_of: Callable[[LearnedDatabase], int],
    *,
    budget: int | None = None,
    mean: float | None = None,
    temperature: float = 1.0,
    share: int = 1,
) -> tuple[LearnedDatabase, Choice]:
    """The model with thresholds and exceptions: no state is overestimated any more.

    With a `budget`, the strongest that fits into so many bytes; with a `mean`, the smallest that
    reaches it; with neither, the exceptions may take an eighth of what the network takes. `size_of`
    says what the file of a model takes. `share` looks at one in so many states to choose
    thresholds. Raises ValueError if the network alone exceeds the budget or the mean is out of
    reach.
    """
    classes = model.network.num_classes
    open_model = replace(
        model,
        decoding=Decoding((ONE,) * (classes - 1), ratio_of(temperature)),
        exceptions=(),
    )
    counts = sweep.count_levels(open_model, GRID, share)
    reached = sum(sweep.exact_counts)
    choices = frontier(counts, model.values, reached)
    own = size_of(open_model)
    room = own / 8 if budget is None else float(budget - own)
    if room < 0:
        raise ValueError(f"the network alone takes {own} bytes of a budget of {budget}")
    best: tuple[LearnedDatabase, Choice] | None = None
    wanted, scale = mean, 1.0  # scale: what exceptions really take of what was expected
    tried: set[tuple[int, ...]] = set()
    for _ in range(MOST_ATTEMPTS):
        choice = _choose(choices, room / scale, wanted)
        if choice.thresholds in tried:
            break
        tried.add(choice.thresholds)
        strict = with_exceptions(open_model, choice, sweep)
        if mean is not None:
            reached_mean = _mean(strict, sweep)
            if reached_mean >= mean:
                return strict, choice
            wanted = (wanted or mean) + 1.1 * (mean - reached_mean)
            continue
        if budget is None:
            return strict, choice
        taken = size_of(strict) - own
        if taken <= room and (best is None or choice.mean > best[1].mean):
            best = (strict, choice)
        if 0.98 * room <= taken <= room:
            break
        scale = max(taken, 1) / max(choice.num_bytes, 1.0) * (1.02 if taken > room else 1.0)
    if best is None:
        wish = f"fit into {budget} bytes" if mean is None else f"reach a mean of {mean}"
        raise ValueError(f"no thresholds that were tried make the file {wish}")
    return best


def with_exceptions(model: LearnedDatabase, choice: Choice, sweep: AnySweep) -> LearnedDatabase:
    """The model with these thresholds, and every state it then overestimates as an exception."""
    decoding = Decoding(choice.thresholds, model.decoding.ratio)
    bare = replace(model, decoding=decoding, exceptions=())
    lists = sweep.find_overestimates(bare)
    return replace(bare, exceptions=tuple(ExceptionSet.encode(one) for one in lists))


def _mean(model: LearnedDatabase, sweep: AnySweep) -> float:
    counts = sweep.count_values(model)
    total = sum(
        value * int(count) for value, count in zip(model.values, counts.classes, strict=True)
    )
    return total / max(counts.states, 1)


def _choose(choices: list[Choice], room: float, mean: float | None) -> Choice:
    if mean is not None:
        fitting = [choice for choice in choices if choice.mean >= mean]
        if not fitting:
            raise ValueError(f"the network cannot reach a mean of {mean}")
        return min(fitting, key=lambda choice: choice.num_bytes)
    fitting = [choice for choice in choices if choice.num_bytes <= max(room, 0.0)]
    return max(fitting, key=lambda choice: choice.mean) if fitting else choices[0]


def _pick(table: NDArray[np.float64], cells: NDArray[np.intp]) -> NDArray[np.float64]:
    picked: NDArray[np.float64] = np.take_along_axis(table, cells[:, None], axis=1)[:, 0]
    return picked

"""Choosing what is decoded and what is an exception, so that bytes buy as much mean as they can.

Each level k has a threshold t: it is accepted where P(class < k) <= t. A larger t adds states whose
value is k or more (the mean rises) and states whose value is less (exceptions, of about
log2(indices / exceptions) + 1.5 bits each). One sweep counts both for every t of a grid. For a
price of a bit, every level takes the t with the largest gain less price; a search over prices finds
the best thresholds for a number of bytes or for a mean.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hstar.slots.pattern_network import ONE, Decoding, ExceptionSet, LearnedDatabase, ratio_of
from hstar.training.certified.sweep import AnySweep, LevelCounts

MOST_ATTEMPTS = 6
# Eight steps an octave, from 2^-32 up and from 1 - 2^-32 down: CEA trains networks to put much of
# their mass below the exact class, so that large risks must be told apart as well as small ones.
_STEPS = [math.floor(2 ** (step / 8)) for step in range(32 * 8)]
GRID = sorted({0, ONE, *_STEPS, *(ONE - step for step in _STEPS)})


@dataclass(frozen=True, slots=True)
class Choice:
    """Thresholds, and what is expected of them: the bytes of their exceptions, and the mean."""

    thresholds: tuple[int, ...]
    num_bytes: float
    mean: float


def frontier(
    counts: LevelCounts, values: tuple[int, ...], states: int, indices: int
) -> list[Choice]:
    """The best choices from the fewest bytes to the largest mean; `states` and `indices` are those
    of the whole space."""
    scale = states / max(counts.states, 1)
    steps = np.diff(np.asarray(values, dtype=np.float64))[:, None]
    gain = np.cumsum(counts.within, axis=1)[:, :-1] * steps * scale
    harm = np.cumsum(counts.just + counts.below, axis=1)[:, :-1] * scale
    levels = np.arange(len(steps))
    choices: dict[tuple[int, ...], Choice] = {}
    for price in np.geomspace(1e5, 1e-4, 200):  # of an exception, in units of value
        cells = np.argmax(gain - price * harm, axis=1)
        thresholds = tuple(GRID[cell] for cell in cells)
        exceptions, total = (float(table[levels, cells].sum()) for table in (harm, gain))
        bits = exceptions * (math.log2(max(indices / max(exceptions, 1.0), 1.0)) + 1.5)
        mean = values[0] + total / max(states, 1)
        choices[thresholds] = Choice(thresholds, bits / 8, mean)
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
) -> LearnedDatabase:
    """The model with thresholds and exceptions: no state is overestimated any more.

    With a `budget`, the strongest that fits into so many bytes; with a `mean`, the smallest that
    reaches it; with neither, the exceptions may take about an eighth of what the network takes.
    `size_of` says what the file of a model takes. Thresholds are chosen by one in `share` states.
    Raises ValueError if the network alone exceeds the budget or the mean is out of reach.
    """
    classes = model.network.num_classes
    decoding = Decoding((ONE,) * (classes - 1), ratio_of(temperature))
    plain = replace(model, decoding=decoding, exceptions=())
    counts = sweep.count_levels(plain, GRID, share)
    choices = frontier(counts, model.values, sum(sweep.exact_counts), sweep.cells)
    own = size_of(plain)
    if mean is not None:
        return _smallest(plain, choices, sweep, mean)
    if budget is None:
        return with_exceptions(plain, choices[_last_within(choices, own / 8)], sweep)
    if own > budget:
        raise ValueError(f"the network alone takes {own} bytes of a budget of {budget}")
    return _strongest(plain, choices, sweep, lambda strict: size_of(strict) - own, budget - own)


def _strongest(
    model: LearnedDatabase,
    choices: list[Choice],
    sweep: AnySweep,
    taken_by: Callable[[LearnedDatabase], int],
    room: int,
) -> LearnedDatabase:
    """The last choice whose exceptions fit: sizes are expected first, then known exactly, and what
    is known of one corrects what is expected of the others."""
    best: LearnedDatabase | None = None
    fits, too_large = -1, len(choices)
    scale = 1.0
    for attempt in range(MOST_ATTEMPTS):
        if too_large - fits < 2:
            break
        number = min(max(_last_within(choices, room / scale), fits + 1), too_large - 1)
        if best is None and attempt == MOST_ATTEMPTS - 1:
            number = 0
        strict = with_exceptions(model, choices[number], sweep)
        taken = taken_by(strict)
        scale = max(taken, 1) / max(choices[number].num_bytes, 1.0)
        if taken > room:
            too_large = number
            continue
        best, fits = strict, number
        if taken > 0.98 * room:
            break
    if best is None:
        raise ValueError(f"there is no room for the fewest exceptions within {room} bytes")
    return best


def _smallest(
    model: LearnedDatabase, choices: list[Choice], sweep: AnySweep, mean: float
) -> LearnedDatabase:
    """The first choice that reaches a mean, which is counted and not only expected."""
    wanted = mean
    for _ in range(MOST_ATTEMPTS):
        choice = next((one for one in choices if one.mean >= wanted), choices[-1])
        strict = with_exceptions(model, choice, sweep)
        counts = sweep.count_values(strict)
        total = int(np.dot(model.values, counts.classes.astype(np.int64)))
        reached = total / max(counts.states, 1)
        if reached >= mean:
            return strict
        if choice is choices[-1]:
            break
        wanted = max(wanted, choice.mean) + 1.1 * (mean - reached)
    raise ValueError(f"the network does not reach a mean of {mean}")


def _last_within(choices: list[Choice], num_bytes: float) -> int:
    """The number of the last choice that is expected to take so much at most; the first if none."""
    return max(bisect_right(choices, num_bytes, key=lambda choice: choice.num_bytes) - 1, 0)


def with_exceptions(model: LearnedDatabase, choice: Choice, sweep: AnySweep) -> LearnedDatabase:
    """The model with these thresholds, and every state it then overestimates as an exception."""
    decoding = Decoding(choice.thresholds, model.decoding.ratio)
    bare = replace(model, decoding=decoding, exceptions=())
    lists = sweep.find_overestimates(bare)
    return replace(bare, exceptions=tuple(ExceptionSet.encode(one) for one in lists))

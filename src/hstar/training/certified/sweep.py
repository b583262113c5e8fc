"""Going over every state of a pattern in the core, a range of indices at a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.pdb import PatternDatabase
from hstar.planning.space import Space
from hstar.runtime.progress import Progress
from hstar.runtime.resources import Budget
from hstar.slots.pattern_network import LearnedDatabase

if TYPE_CHECKING:
    from hstar.training.certified.device_sweep import DeviceSweep

AnySweep: TypeAlias = "Sweep | DeviceSweep"
Counts = NDArray[np.uint64]
_Part = TypeVar("_Part")


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """`batch` states go through the network at once. Neither number changes any result."""

    threads: int = 0  # 0: all cores
    batch: int = 4096
    progress: Callable[[str, int], Progress] | None = None  # title, total
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        if self.threads < 0 or self.batch < 1:
            raise ValueError("threads and batch are positive")

    @property
    def num_threads(self) -> int:
        return self.threads or len(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """`classes` counts results; `overestimates` [exact class, result] those that are too large."""

    classes: Counts
    overestimates: Counts
    states: int
    unreached: int

    @classmethod
    def of(cls, found: Counts, unreached: int) -> ValueCounts:
        """From the numbers of states [exact class, result]."""
        return cls(found.sum(axis=0), np.triu(found, 1), int(found.sum()), unreached)


@dataclass(frozen=True, slots=True)
class LevelCounts:
    """[levels, cells], of each cell of the grid; see cpp/learned/learned_sweep.hpp."""

    below: Counts
    just: Counts
    within: Counts
    states: int


class Sweep:
    """Over all states of a pattern, in the core. Raises ValueError unless the exact database is one
    of the space."""

    def __init__(self, exact: PatternDatabase, space: Space, options: SweepOptions) -> None:
        self.exact = exact.bind(space)
        self.space = space
        self.cells = exact.layout.cells
        self.exact_counts, _ = exact.histogram
        self.options = options

    def count_values(self, model: LearnedDatabase, title: str = "sweep") -> ValueCounts:
        """Every state's result."""
        core = model.bind(self.space)
        parts = self._sweep(title, lambda order: core.count_values(self.exact, order))
        return ValueCounts(**_totals(parts))

    def count_levels(self, model: LearnedDatabase, grid: list[int], share: int = 1) -> LevelCounts:
        """Of one in about `share` states: enough to choose thresholds by."""
        core = model.bind(self.space)
        parts = self._sweep(
            "levels", lambda order: core.count_levels(self.exact, order, grid), share
        )
        counted = _totals(parts)
        del counted["unreached"]
        return LevelCounts(**counted)

    def find_overestimates(self, model: LearnedDatabase) -> list[Counts]:
        """Sorted indices: list j those whose class is too large by more than j."""
        core = model.bind(self.space)
        found = self._sweep("exceptions", lambda order: core.find_overestimates(self.exact, order))
        none = np.zeros(0, dtype=np.uint64)
        return [np.concatenate(parts) for parts in zip_longest(*found, fillvalue=none)]

    def _sweep(
        self, title: str, work: Callable[[_core.SweepOrder], _Part], share: int = 1
    ) -> list[_Part]:
        """What `work` finds in each range. Ranges are long enough to keep all threads busy; one in
        `share` of them, evenly spread, is looked at. Raises OutOfResources, also within a range."""
        smallest = self.options.num_threads * self.options.batch
        ranges = max(1, min(self.cells // smallest, 64 * share))
        edges = [self.cells * number // ranges for number in range(ranges + 1)]
        options, budget = self.options, self.options.budget
        shown = None if options.progress is None else options.progress(title, self.cells)
        parts = []
        for number in range(0, ranges, share):
            first, end = edges[number], edges[number + 1]
            order = _core.SweepOrder(first, end, options.num_threads, options.batch, *budget.limits)
            with budget.native():
                parts.append(work(order))
            if shown is not None:
                shown.update(edges[min(number + share, ranges)])
        if shown is not None:
            shown.close()
        return parts


def _totals(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Numbers and arrays of all parts, summed by name."""
    return {name: sum(part[name] for part in parts) for name in parts[0]}

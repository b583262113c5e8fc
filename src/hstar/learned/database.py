"""A learned pattern database: network, decoding, exceptions and base, on any space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.learned.levels import Decoding
from hstar.models.integer_network import Network
from hstar.pdb import Layout, PatternDatabase
from hstar.pdb.database import PDDL
from hstar.spaces.puzzle import Puzzle, make_puzzle
from hstar.spaces.task import Task, state_rows


@dataclass(frozen=True, slots=True)
class ExceptionSet:
    """Sorted indices, Golomb-Rice coded; see cpp/learned/rice_set.hpp."""

    count: int
    parameter: int
    code: bytes = field(repr=False)

    def opened(self, universe: int) -> _core.RiceSet:
        """The set, of indices below `universe`. Raises ValueError for a damaged code."""
        code = np.frombuffer(self.code, dtype=np.uint8)
        return _core.RiceSet(universe, self.count, self.parameter, code)

    @classmethod
    def encode(cls, members: NDArray[np.uint64] | Sequence[int]) -> ExceptionSet:
        """Of ascending indices."""
        numbers = np.asarray(members, dtype=np.uint64)
        parameter, code = _core.encode_set(numbers.tolist())
        return cls(len(numbers), parameter, code)


@dataclass(frozen=True)
class LearnedDatabase:
    """What replaces a pattern database whose layout is `layout`.

    Class c of the network means the value values[c]; the class is lowered by one for each of the
    leading exception sets that hold the state's index. `base` is added, as in a difference.
    """

    layout: Layout
    network: Network
    decoding: Decoding
    values: tuple[int, ...]
    exceptions: tuple[ExceptionSet, ...] = ()
    base: PatternDatabase | None = None

    def bind(self, space: Puzzle | Task) -> _core.LearnedPdb:
        """The heuristic in the core. Raises ValueError if it is one of another space."""
        thresholds = self.decoding.thresholds
        index = PatternDatabase(self.layout, np.zeros(0, dtype=np.uint8)).index(space)
        sets: list[Any] = [
            (one.count, one.parameter, np.frombuffer(one.code, dtype=np.uint8))
            for one in self.exceptions
        ]
        return _core.LearnedPdb(
            index=index,
            network=self.network.core,
            ratio=self.decoding.ratio,
            thresholds=None if thresholds is None else list(thresholds),
            values=list(self.values),
            exceptions=sets,
            base=None if self.base is None else self.base.bind(space),
        )

    @cached_property
    def core(self) -> _core.LearnedPdb:
        """Of a puzzle: the heuristic in the core. Raises ValueError for one of a task."""
        if self.layout.space == PDDL:
            raise ValueError("a heuristic of a planning task needs the task: use bind(task)")
        return self.bind(make_puzzle(self.layout.space))

    def lookup(self, states: NDArray[np.int32]) -> NDArray[np.float32]:
        """Of a puzzle: float32[B] from whole states int32[B, V]."""
        return self.core.lookup(state_rows(states))


def check_learnable(database: PatternDatabase) -> None:
    """Raises ValueError for databases that no network is learned from."""
    layout = database.layout
    if layout.grouping != "none" or layout.order != "mr" or layout.levels:
        raise ValueError(
            "learn from the database itself, a difference or symmetry classes, not a compressed one"
        )
    if layout.symmetric and database.base is not None:
        raise ValueError(
            "differences of symmetry classes are not learned; learn the difference itself"
        )

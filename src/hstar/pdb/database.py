"""A pattern database: its table and its layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.planning.puzzle import make_puzzle
from hstar.planning.space import Space, state_rows
from hstar.planning.task import Task
from hstar.runtime.resources import Budget

PDDL = "pddl"  # the space of a database of a planning task


@dataclass(frozen=True, slots=True)
class Layout:
    """How to find the value of a state: the pattern, the order of indices, grouping, storage.

    `space` is a puzzle's name or "pddl"; `pattern` lists variables. `order` is "mr"
    (Myrvold-Ruskey, piece 0 least significant) or "lex"; `symmetric` means one index per class of
    symmetric states. `grouping` is "none", "div" (neighbours: index // number) or "mod" (index %
    number); a cell holds the minimum of its group. The `cells` have `bits` bits; with 2 bits they
    choose one of the four `levels`. `additive` tables of disjoint patterns may be added. For tasks,
    `cost` is "normal" or "one", and `fingerprint` identifies the task.
    """

    space: str
    pattern: tuple[int, ...]
    cells: int
    bits: int
    order: str = "mr"
    symmetric: bool = False
    grouping: str = "none"
    number: int = 1
    levels: tuple[int, ...] = ()
    additive: bool = False
    cost: str = "normal"
    fingerprint: str = ""

    @classmethod
    def of(cls, described: dict[str, Any]) -> Layout:
        """From `asdict` as JSON. Raises KeyError and TypeError."""
        known = {one.name: described[one.name] for one in fields(cls)}
        return cls(**known | {name: tuple(known[name]) for name in ("pattern", "levels")})


class PatternHeuristic:
    """A pattern database, or a network that was learned from one."""

    layout: Layout

    def bind(self, space: Space) -> _core.Pdb | _core.LearnedPdb:
        """In the core. Raises ValueError if it is one of another space."""
        raise NotImplementedError

    @cached_property
    def core(self) -> _core.Pdb | _core.LearnedPdb:
        """Of a puzzle, in the core. Raises ValueError for one of a task."""
        if self.layout.space == PDDL:
            raise ValueError("a pattern of a planning task needs the task: use bind(task)")
        return self.bind(make_puzzle(self.layout.space))

    def lookup(self, states: NDArray[np.int32]) -> NDArray[np.float32]:
        """Of a puzzle: float32[B] from whole states int32[B, V]; infinity if unreachable."""
        return self.core.lookup(state_rows(states))


@dataclass(frozen=True)
class PatternDatabase(PatternHeuristic):
    """A table uint8[bytes] and its layout; the values of `base`, if any, are added."""

    layout: Layout
    table: NDArray[np.uint8]
    base: PatternDatabase | None = None

    def __repr__(self) -> str:
        layout = self.layout
        return (
            f"<PatternDatabase {layout.space}:{','.join(map(str, layout.pattern))}, "
            f"{layout.cells} entries of {layout.bits} bits>"
        )

    def __getstate__(self) -> dict[str, object]:
        """Without the core's form, which is rebuilt when needed."""
        return {"layout": self.layout, "table": self.table, "base": self.base}

    def index(self, space: Space) -> _core.PatternIndex:
        """The numbering of the pattern's states. Raises ValueError if the space is another one."""
        layout = self.layout
        name, mark = identity(space)
        if layout.space != name:
            own, other = ("a planning task" if one == PDDL else one for one in (layout.space, name))
            raise ValueError(f"the pattern database is one of {own}, not of {other}")
        if layout.fingerprint != mark:
            raise ValueError("the pattern database was built for another task")
        return make_index(space, layout.pattern, layout.order, layout.symmetric)

    def bind(self, space: Space) -> _core.Pdb:
        layout = self.layout
        return _core.Pdb(
            index=self.index(space),
            grouping=layout.grouping,
            number=layout.number,
            table=self.table,
            bits=layout.bits,
            levels=list(layout.levels),
            base=None if self.base is None else self.base.bind(space),
        )

    @cached_property
    def histogram(self) -> tuple[list[int], int]:
        """How many cells have each value (without the base), and how many are unreachable. A cell
        of symmetric states counts once per state."""
        layout = self.layout
        with Budget().native():  # no limits; only signals stop it
            counts = _core.table_histogram(
                self.table, layout.cells, layout.bits, list(layout.levels), self.multiplicities
            )
        return counts[:-1], counts[-1]

    @property
    def multiplicities(self) -> list[int]:
        """Cell i stands for multiplicities[i % len(multiplicities)] symmetric states."""
        layout = self.layout
        if not layout.symmetric or layout.grouping != "none":
            return [1]
        return self.index(make_puzzle(layout.space)).multiplicities

    @property
    def mean(self) -> float:
        """The mean over all reachable cells; for a difference, without the base."""
        counts, _ = self.histogram
        return sum(value * count for value, count in enumerate(counts)) / max(sum(counts), 1)

    @property
    def num_bytes(self) -> int:
        """Size of the tables, including that of the base."""
        return self.table.nbytes + (self.base.num_bytes if self.base else 0)


def make_index(
    space: Space, pattern: Sequence[int], order: str = "mr", symmetric: bool = False
) -> _core.PatternIndex:
    """The numbering of a pattern: rank(states) and unrank(ranks). Raises ValueError."""
    return _core.PatternIndex(space.core, list(pattern), order, symmetric)


def build_pdb(
    space: Space,
    pattern: Sequence[int],
    *,
    additive: bool = False,
    cost: str = "normal",
    budget: Budget | None = None,
) -> PatternDatabase:
    """The distances of all abstract states to the goal.

    `pattern` lists variables. For tiles the blank is added as the first piece, unless `additive`:
    then only moves of the pattern's tiles count. For tasks, `cost` is what an operator costs:
    "normal" or "one". Raises ValueError, and OutOfResources.
    """
    budget = budget or Budget()
    pieces = list(pattern)
    name, mark = identity(space)
    is_tiles = name.startswith("tiles-")
    if additive and name == PDDL:
        raise ValueError("databases of planning tasks are not additive")
    if additive and not is_tiles:
        raise ValueError(f"{name} has no additive databases, because a move shifts many pieces")
    if additive and 0 in pieces:
        raise ValueError("the blank (piece 0) cannot be in an additive pattern")
    if is_tiles and not additive and 0 not in pieces:
        pieces = [0, *pieces]
    index = make_index(space, pieces)
    if cost not in ("normal", "one"):
        raise ValueError(f"unknown cost '{cost}'; choose normal or one")
    with budget.native():
        table, bits = index.build(additive, cost, *budget.limits)
    kinds: dict[str, Any] = {"additive": additive, "cost": cost, "fingerprint": mark}
    return PatternDatabase(Layout(name, tuple(pieces), index.size, bits, **kinds), table)


def identity(space: Space) -> tuple[str, str]:
    """The `space` and `fingerprint` of its layouts."""
    return (PDDL, fingerprint(space)) if isinstance(space, Task) else (space.name, "")


def fingerprint(task: Task) -> str:
    """A digest of the variables, operators, costs and goal of a task."""
    return f"{_core.task_fingerprint(task.core):016x}"

"""What a learned heuristic has to beat at equal size: all that classical compressions make of a
pattern database. Means are over all states; "total" includes the value of the base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar.pdb.compression import best_levels, compress
from hstar.pdb.database import PatternDatabase, build_pdb
from hstar.pdb.pattern import parse_pattern
from hstar.planning.puzzle import Puzzle

SLICE = 2**20


@dataclass(frozen=True, slots=True)
class Compressions:
    """Which tables are made: of the pattern and of each `smaller` one (for a difference, that may
    be the pattern without base), minima over groups of every factor and of what fits into `budgets`
    (bytes), in both orders, in whole values and in 2 bits. `modulo` is a factor of the modulo
    grouping; `symmetric` adds tables of symmetry classes."""

    factors: Sequence[int] = ()
    budgets: Sequence[int] = ()
    smaller: Sequence[str] = ()
    modulo: int | None = None
    symmetric: bool = False


def list_compressions(
    database: PatternDatabase, puzzle: Puzzle, pattern: str, asked: Compressions
) -> Iterator[dict[str, Any]]:
    """A row for each table that is asked for, the mean counted over every state. `pattern` is what
    the rows call that of the database."""
    own = _Source(database, pattern, puzzle)
    yield from own.rows(asked.factors, asked.budgets)
    if asked.modulo is not None:
        yield own.row(asked.modulo, mod=-(database.layout.cells // -asked.modulo))
    if asked.symmetric:
        classes = compress(database, symmetric=True)
        yield from _Source(database, pattern, puzzle, classes).rows((1,), asked.budgets)
    for text in asked.smaller:
        smaller = build_pdb(puzzle, parse_pattern(puzzle, text))
        yield from _Source(smaller, text, puzzle).rows((1,), asked.budgets)


@dataclass(frozen=True)
class _Source:
    """A table that smaller ones are made of; `classes` is its symmetric form, if that is meant."""

    database: PatternDatabase
    pattern: str
    puzzle: Puzzle
    classes: PatternDatabase | None = None

    def rows(self, factors: Sequence[int], budgets: Sequence[int]) -> Iterator[dict[str, Any]]:
        """Minima over groups of every factor, and of those that fit into the budgets."""
        layout = (self.classes or self.database).layout
        fixed = self.database.base.num_bytes if self.database.base else 0
        for bits in (layout.bits, 2):
            size = layout.cells * bits / 8
            fitting = {max(1, -int(size // -(budget - fixed))) for budget in budgets}
            for factor in sorted({*factors, *fitting}):
                # Symmetry classes have an order of their own; single entries need none.
                for order in ("mr",) if factor == 1 or self.classes else ("mr", "lex"):
                    options: dict[str, Any] = {"div": factor} if factor > 1 else {}
                    options |= {"order": order} if order != "mr" else {}
                    options |= {"symmetric": True} if self.classes else {}
                    yield self.row(factor, levels="best" if bits == 2 else None, **options)

    def row(self, factor: int, levels: str | None = None, **options: Any) -> dict[str, Any]:
        small = compress(self.database, **options) if options or levels else self.database
        if levels:  # chosen for states: neither for classes nor for entries of no state
            small = compress(small, levels=best_levels(self._value_counts(small)))
        counts = self._value_counts(small)
        mean = sum(value * count for value, count in enumerate(counts)) / max(sum(counts), 1)
        return {
            "pattern": self.pattern,
            "grouping": "mod" if "mod" in options else "div",
            "factor": factor,
            "order": options.get("order", "mr"),
            "bits": small.layout.bits,
            "levels": list(small.layout.levels),
            "symmetric": small.layout.symmetric,
            "entries": small.layout.cells,
            "bytes": small.num_bytes,
            "mean": mean,
            "total": mean + (small.base.mean if small.base else 0.0),
        }

    def _value_counts(self, small: PatternDatabase) -> list[int]:
        """How many states have each value, without the base's."""
        if not (small.layout.symmetric or self.database.histogram[1]):
            return small.histogram[0]  # all entries stand for equally many states
        assert small.base is None
        states, weights = self._weighted_states
        counts = np.zeros(256)
        for first in range(0, len(weights), SLICE):
            part = slice(first, first + SLICE)
            values = small.lookup(states[part]).astype(np.int64)
            counts += np.bincount(values, weights[part], minlength=len(counts))
        return [int(count) for count in np.trim_zeros(counts, "b")]

    @cached_property
    def _weighted_states(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Whole states, and how many states each stands for: all of a puzzle as one each, or one
        of each symmetry class."""
        if self.classes is None:
            every = self.puzzle.unrank(np.arange(self.puzzle.num_states or 0, dtype=np.int64))
            return every, np.ones(len(every), dtype=np.int64)
        index = self.classes.index(self.puzzle)
        sizes = np.array(index.multiplicities, dtype=np.int64)
        entries = np.arange(index.size, dtype=np.int64)
        # No look-up sees the pieces outside the pattern; they are as in the goal.
        states = np.tile(self.puzzle.goal, (len(entries), 1))
        states[:, list(self.database.layout.pattern)] = index.unrank(entries)
        return states, sizes[entries % len(sizes)]


def describe_compression(row: dict[str, Any]) -> str:
    """Such as "edges:0-5, minimum of 6 (lex), 2 bits 0,6,7,8"."""
    parts = [str(row["pattern"])]
    if row["symmetric"]:
        parts.append("symmetry classes")
    if row["factor"] > 1:
        how = "modulo" if row["grouping"] == "mod" else row["order"]
        parts.append(f"minimum of {row['factor']} ({how})")
    if row["levels"]:
        parts.append(f"2 bits {','.join(map(str, row['levels']))}")
    return ", ".join(parts)


def strongest(rows: list[dict[str, Any]], num_bytes: float) -> dict[str, Any] | None:
    """The classical table with the largest mean within so many bytes."""
    fitting = [row for row in rows if row["bytes"] <= num_bytes]
    return max(fitting, key=lambda row: float(row["total"]), default=None)


def table_row(database: PatternDatabase, seconds: float) -> dict[str, Any]:
    """What an exact table holds. `states` are those that can reach the goal."""
    counts, _ = database.histogram
    return {
        "states": sum(counts),
        "mean": database.mean,
        "total": database.mean + (database.base.mean if database.base else 0.0),
        "bytes": database.num_bytes,
        "table_bytes": database.table.nbytes,
        "counts": counts,
        "seconds": round(seconds, 2),
    }

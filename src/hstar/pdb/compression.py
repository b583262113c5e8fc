"""Smaller databases. Compression only lowers values, so a heuristic stays admissible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from hstar.pdb.database import PDDL, PatternDatabase, build_pdb, make_index
from hstar.pdb.pattern import parse_pattern
from hstar.planning.puzzle import Puzzle, make_puzzle
from hstar.planning.space import Space
from hstar.runtime.resources import Budget

LARGEST_LEVEL = 255


def compress(
    database: PatternDatabase,
    *,
    div: int | None = None,
    mod: int | None = None,
    order: str | None = None,
    symmetric: bool = False,
    levels: Sequence[int] | str | None = None,
    space: Space | None = None,
    budget: Budget | None = None,
) -> PatternDatabase:
    """A database with fewer or smaller cells.

    `div` takes the minimum over that many neighbours; `mod` over all indices that are equal modulo
    that many cells. `order` "lex" first reorders the indices. `symmetric` keeps one entry per class
    of symmetric states (all corners of cube3; nothing is lost). `levels` stores 2 bits: each value
    is rounded down to one of four ascending values, or of the "best" four (the largest mean).
    Raises ValueError, and OutOfResources when the budget is spent. A database of a task needs that
    task as `space`.
    """
    budget = budget or Budget()
    if div is not None and mod is not None:
        raise ValueError("choose div or mod, not both")
    if any(number is not None and number < 1 for number in (div, mod)):
        raise ValueError("div and mod must be at least 1")
    layout = database.layout
    order = order or layout.order
    if div or mod or symmetric or order != layout.order:
        grouping, number = ("div", div) if div else ("mod", mod) if mod else ("none", 1)
        where = _space(database, space)
        bound = database.bind(where)
        index = make_index(where, layout.pattern, order, symmetric)
        with budget.native():
            table, bits = bound.regrouped(index, grouping, number, *budget.limits)
        layout = replace(
            layout,
            bits=bits,
            levels=(),
            order=order,
            symmetric=symmetric,
            grouping=grouping,
            number=number,
            cells=-(-index.size // number) if grouping != "mod" else min(index.size, number),
        )
        database = PatternDatabase(layout, table, database.base)
    if levels is not None:
        chosen = best_levels(database.histogram[0]) if isinstance(levels, str) else tuple(levels)
        _check_levels(chosen, database)
        bound = database.bind(_space(database, space))
        with budget.native():
            table, bits = bound.quantized(list(chosen), *budget.limits)
        layout = replace(database.layout, bits=bits, levels=chosen)
        database = PatternDatabase(layout, table, database.base)
    return database


def subtract(
    database: PatternDatabase,
    base: PatternDatabase,
    space: Space | None = None,
    budget: Budget | None = None,
) -> PatternDatabase:
    """The difference of a database and a smaller one, whose pieces are some of its pieces.

    A look-up adds the values of both. Raises ValueError and OutOfResources.
    """
    budget = budget or Budget()
    if database.layout.grouping != "none" or database.layout.symmetric:
        raise ValueError(
            "this database is compressed; subtract from the original, then compress the difference"
        )
    if base.layout.space != database.layout.space or base.layout.cost != database.layout.cost:
        raise ValueError("the base belongs to another space or has other costs")
    if base.layout.additive != database.layout.additive:
        raise ValueError("only one of the two databases is additive; both must be, or neither")
    where = _space(database, space)
    bound = base.bind(where)
    with budget.native():
        table, bits = database.bind(where).subtracted(bound, *budget.limits)
    return PatternDatabase(replace(database.layout, bits=bits, levels=()), table, base)


def best_levels(counts: Sequence[int]) -> tuple[int, int, int, int]:
    """The four values with the largest mean when all values are rounded down to them."""
    present = [value for value, count in enumerate(counts) if count]
    if not present or present[-1] > LARGEST_LEVEL:
        raise ValueError(f"levels need values of at most {LARGEST_LEVEL}")
    lowest, *others = present
    others += [present[-1]] * (3 - len(others))

    def total(levels: tuple[int, ...]) -> int:
        return sum(
            counts[value] * max(level for level in (lowest, *levels) if level <= value)
            for value in present
        )

    return (lowest, *max(combinations(others, 3), key=total))


def _check_levels(levels: Sequence[int], database: PatternDatabase) -> None:
    lowest = next((value for value, count in enumerate(database.histogram[0]) if count), 0)
    if len(levels) != 4 or list(levels) != sorted(levels) or levels[0] < 0:
        raise ValueError("levels must be four values in ascending order")
    if levels[0] > lowest or levels[-1] > LARGEST_LEVEL:
        raise ValueError(
            f"the first level must be at most {lowest}, the last at most {LARGEST_LEVEL}"
        )


def _space(database: PatternDatabase, space: Space | None) -> Space:
    if space is None and database.layout.space == PDDL:
        raise ValueError("to compress a database of a planning task, give the task as `space`")
    return space or make_puzzle(database.layout.space)


def build_difference(puzzle: Puzzle, pattern: str, base: str | None = None) -> PatternDatabase:
    """The exact table of a pattern, less that of a smaller one if there is a base."""
    database = build_pdb(puzzle, parse_pattern(puzzle, pattern))
    if base is None:
        return database
    return subtract(database, build_pdb(puzzle, parse_pattern(puzzle, base)), puzzle)

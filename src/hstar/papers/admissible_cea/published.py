"""The numbers printed in the admissible-cea paper, read from published.toml. Sizes are in MB."""

from __future__ import annotations

from typing import NamedTuple

from hstar.papers.experiment import read_published

MB = 1e6


class PublishedTable(NamedTuple):
    """A row of Table 1."""

    mean: float
    states: int
    size: float


class PublishedHeuristic(NamedTuple):
    """A row of Table 2 or 5: `rate` is the share of overestimated states."""

    mean: float
    rate: float
    size: float


class PublishedComparison(NamedTuple):
    """Table 2 for one database: networks with both losses and the compressed table, which keeps
    the minimum of `factor` neighbours."""

    cea: PublishedHeuristic
    ce: PublishedHeuristic
    compressed: PublishedHeuristic
    factor: int


class PublishedModel(NamedTuple):
    """A row of Table 5, which is about 8-corner."""

    hidden: int
    width: int
    result: PublishedHeuristic


_HELD = read_published(__file__)
TABLE_1 = {name: PublishedTable(**row) for name, row in _HELD["table_1"].items()}
TABLE_2 = {
    name: PublishedComparison(
        **{k: PublishedHeuristic(*row[k]) for k in ("cea", "ce", "compressed")},
        factor=row["factor"],
    )
    for name, row in _HELD["table_2"].items()
}
TABLE_3 = {name: tuple(counts) for name, counts in _HELD["table_3"].items()}
TABLE_4: dict[str, tuple[float, float]] = {k: tuple(pair) for k, pair in _HELD["table_4"].items()}
TABLE_5 = [
    PublishedModel(hidden, width, PublishedHeuristic(*result))
    for hidden, width, *result in _HELD["table_5"]["models"]
]
FIGURE_OF = {"6-edge": 6, "8-corner": 7, "delta-6-4": 8, "7-edge": 9}

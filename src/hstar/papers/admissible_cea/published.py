"""The numbers printed in "Learning admissible heuristics for A*: theory and practice".

Tables 1, 2, 3 and 5, and of Table 4 what the figures refer to. Figures 2 and 5 to 9 have curves and
boxes but no numbers that the text repeats. Databases are named as this package names their models;
"delta-6-4" is the difference of six edges and the first four of them.

Table 1 calls a table of 3,041,280 states "4-edge"; that is the number of states, and 6.75 the mean,
of five edges. Four edges (190,080 states) are the base in Table 3's last column.
"""

from __future__ import annotations

from dataclasses import dataclass

MB = 1e6


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A row of Table 1: sizes in MB."""

    mean: float
    states: int
    size: float


@dataclass(frozen=True, slots=True)
class PublishedHeuristic:
    """A row of Table 2 or 5: `rate` is the share of overestimated states, `size` in MB."""

    mean: float
    rate: float
    size: float


@dataclass(frozen=True, slots=True)
class PublishedComparison:
    """Table 2 for one database: networks with both losses and the compressed table."""

    cea: PublishedHeuristic
    ce: PublishedHeuristic
    compressed: PublishedHeuristic
    factor: int  # neighbours of which the compressed table keeps the minimum


@dataclass(frozen=True, slots=True)
class PublishedModel:
    """A row of Table 5."""

    hidden: int
    width: int
    result: PublishedHeuristic


TABLE_1: dict[str, PublishedTable] = {
    "5-edge": PublishedTable(6.75, 3_041_280, 1.52),
    "6-edge": PublishedTable(7.65, 42_577_920, 21.29),
    "8-corner": PublishedTable(8.76, 88_179_840, 44.09),
    "7-edge": PublishedTable(8.51, 510_935_040, 255.47),
}

TABLE_2: dict[str, PublishedComparison] = {
    "7-edge": PublishedComparison(
        PublishedHeuristic(7.45, 2e-5, 3.75),
        PublishedHeuristic(8.44, 1.4e-2, 3.75),
        PublishedHeuristic(6.83, 0.0, 3.65),
        70,
    ),
    "8-corner": PublishedComparison(
        PublishedHeuristic(8.76, 3e-7, 1.89),
        PublishedHeuristic(8.76, 2e-3, 1.89),
        PublishedHeuristic(6.84, 0.0, 1.91),
        23,
    ),
    "6-edge": PublishedComparison(
        PublishedHeuristic(6.92, 9e-5, 1.95),
        PublishedHeuristic(7.46, 9e-2, 1.95),
        PublishedHeuristic(6.68, 0.0, 1.93),
        11,
    ),
    "delta-6-4": PublishedComparison(
        PublishedHeuristic(1.31, 3e-6, 3.20),
        PublishedHeuristic(1.89, 15e-2, 3.20),
        PublishedHeuristic(1.05, 0.0, 3.04),
        7,
    ),
}

# States at each distance, from 0 up.
TABLE_3: dict[str, tuple[int, ...]] = {
    "8-corner": (
        *(1, 18, 243, 2_874, 28_000, 205_416, 1_168_516, 5_402_628),
        *(20_776_176, 45_391_616, 15_139_616, 64_736),
    ),
    "7-edge": (
        *(1, 15, 191, 2_455, 30_519, 356_462, 3_766_700, 32_719_467),
        *(186_297_009, 274_719_633, 13_042_507, 81),
    ),
    "6-edge": (
        *(1, 15, 184, 2_256, 25_909, 266_101, 2_239_790, 12_567_043),
        *(24_415_346, 3_061_105, 170),
    ),
    "delta-6-4": (1_076_354, 11_389_507, 21_759_383, 7_581_788, 742_213, 28_240, 428, 7),
}

# beta and eta that Table 4 gives; Figure 5 shows how training came to them.
TABLE_4: dict[str, tuple[float, float]] = {
    "8-corner": (1.0, 0.01),
    "7-edge": (0.6, 0.001),
    "6-edge": (0.7, 0.001),
    "delta-6-4": (0.9, 0.001),
}

TABLE_5: tuple[PublishedModel, ...] = (
    PublishedModel(1000, 300, PublishedHeuristic(8.76, 3e-7, 1.89)),
    PublishedModel(800, 250, PublishedHeuristic(8.76, 3e-7, 1.28)),
    PublishedModel(600, 200, PublishedHeuristic(8.75, 3e-7, 0.86)),
    PublishedModel(400, 150, PublishedHeuristic(8.57, 2e-5, 0.51)),
    PublishedModel(200, 100, PublishedHeuristic(8.24, 1e-3, 0.24)),
)
TABLE_5_DATABASE = "8-corner"

FIGURE_OF = {"6-edge": 6, "8-corner": 7, "delta-6-4": 8, "7-edge": 9}

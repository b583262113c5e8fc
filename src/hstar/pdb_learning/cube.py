"""The certified networks of the 3x3x3 cube: what they learn, how, and within how many bytes.

Widths are multiples of 64, which suits matrix products on a GPU. Fewer bits per weight allow more
weights within the same bytes. Corners are learned up to symmetry: a network then has one state in
about 41 to know, and exceptions are stored once per class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hstar.pdb import PatternDatabase, build_pdb, compress, parse_pattern, subtract
from hstar.pdb_learning.objective import Loss
from hstar.pdb_learning.options import LearnOptions
from hstar.puzzles import Puzzle


@dataclass(frozen=True, slots=True)
class CubeGoal:
    """A pattern, less what a smaller `base` knows, in symmetry classes or not; `budget` is what the
    whole file may take."""

    pattern: str
    budget: int
    options: LearnOptions
    base: str | None = None
    symmetric: bool = False

    def table(self, cube: Puzzle) -> PatternDatabase:
        """The exact values."""
        database = build_pdb(cube, parse_pattern(cube, self.pattern))
        if self.symmetric:
            return compress(database, symmetric=True)
        if self.base is not None:
            return subtract(database, build_pdb(cube, parse_pattern(cube, self.base)), cube)
        return database


CORNERS = LearnOptions(
    hidden=512,
    width=192,
    blocks=2,
    bits=6,
    batch=40_000,
    steps=60_000,
    learning_rate=3e-3,
    loss=Loss("cea", 1.0, 0.3),
    evaluate_every=2000,
    quantize_from=0.5,
)
EDGES = replace(CORNERS, hidden=1536, width=512, blocks=3, bits=5, loss=Loss("cea", 1.0, 0.1))

GOALS = {
    "8-corner": CubeGoal("corners", 450_000, CORNERS, symmetric=True),
    "8-corner-small": CubeGoal("corners", 240_000, replace(CORNERS, bits=5), symmetric=True),
    "6-edge": CubeGoal("edges:0-5", 1_950_000, EDGES),
    "7-edge": CubeGoal("edges:0-6", 3_750_000, replace(EDGES, width=576)),
    "delta-6-4": CubeGoal(
        "edges:0-5",
        3_200_000,
        replace(EDGES, bits=6, loss=Loss("cea", 0.5, 0.1)),
        base="edges:0-3",
    ),
}

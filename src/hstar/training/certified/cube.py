"""The certified networks of the 3x3x3 cube: what they learn, how, and within how many bytes.

Widths are multiples of 64, which suits matrix products on a GPU. docs/pattern_databases.md says why
corners are read by symmetry class, and why the smaller network goes on from the larger one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hstar.pdb import PatternDatabase, build_difference, compress
from hstar.planning.puzzle import Puzzle
from hstar.slots.objectives import make_objective
from hstar.training.options import TABLE_DEFAULTS, TrainOptions


@dataclass(frozen=True, slots=True)
class CubeGoal:
    """A pattern, less what a smaller `base` knows, in symmetry classes or not; `budget` is what the
    whole file may take, `start` the goal whose network training goes on from."""

    pattern: str
    budget: int
    options: TrainOptions
    base: str | None = None
    symmetric: bool = False
    start: str | None = None

    def table(self, cube: Puzzle) -> PatternDatabase:
        """The exact values."""
        database = build_difference(cube, self.pattern, self.base)
        return compress(database, symmetric=True) if self.symmetric else database


CORNERS = TrainOptions(
    **{
        **TABLE_DEFAULTS,
        "model_options": {"hidden": 512, "width": 192, "blocks": 2},
        "objective": make_objective("cea", beta=1.0, eta=0.3),
        "decode": "strict",
        "bits": 6,
        "batch": 40_000,
        "steps": 60_000,
        "evaluate_every": 2000,
        "quantize_from": 0.5,
    }
)
EDGES = replace(
    CORNERS,
    model_options={"hidden": 1536, "width": 512, "blocks": 3},
    bits=5,
    objective=make_objective("cea", beta=1.0, eta=0.1),
)
WIDER_EDGES = replace(EDGES, model_options={"hidden": 1536, "width": 576, "blocks": 3})

GOALS = {
    "8-corner": CubeGoal("corners", 450_000, CORNERS, symmetric=True),
    "8-corner-small": CubeGoal(
        "corners",
        240_000,
        replace(
            CORNERS, coarser=1.3, steps=4000, batch=4096, learning_rate=2e-4, evaluate_every=250
        ),
        symmetric=True,
        start="8-corner",
    ),
    "6-edge": CubeGoal("edges:0-5", 1_950_000, EDGES),
    "7-edge": CubeGoal("edges:0-6", 3_750_000, WIDER_EDGES),
    "delta-6-4": CubeGoal(
        "edges:0-5",
        3_200_000,
        replace(EDGES, bits=6, objective=make_objective("cea", beta=0.5, eta=0.1)),
        base="edges:0-3",
    ),
}

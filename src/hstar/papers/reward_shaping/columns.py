"""The columns of the tables: each a heuristic and a way to search with it.

The paper's blind heuristic is 0 everywhere, so its greedy search is breadth-first; hstar's is 1 at
states that are no goals, which orders them alike. Without a potential there is nothing that the
network corrects: H^blind.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hstar.planning.specification import DEFAULT_PLANNER, SearchSpecification
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import read_model


@dataclass(frozen=True, slots=True)
class Column:
    """`learner` makes the heuristic, one for each seed if it `has_seeds`. `beside` are heuristics
    with a queue of their own, or all there are without a learner. `base` is the column that it is
    measured against."""

    learner: str | None = None
    beside: tuple[str, ...] = ()
    algorithm: str = "gbfs"
    preferred_by: str | None = None
    decode: str | None = None
    base: str | None = None
    has_seeds: bool = False

    def search(self, model: Path, max_evaluations: int | None) -> SearchSpecification:
        """How to search with the model file. Raises ModelFileError."""
        heuristics: list[str | LearnedHeuristic] = list(self.beside)
        if self.learner is not None:
            learned = LearnedHeuristic(read_model(model), str(model), self.decode)
            heuristics.insert(0, learned)
        if not heuristics:
            return DEFAULT_PLANNER
        return SearchSpecification(
            heuristics,
            self.algorithm,
            cost="one",
            preferred_by=self.preferred_by,
            max_evaluations=max_evaluations,
        )


DEFAULT = "plan"  # what 'hstar plan' runs; only time limits it
BASES = ("h^blind", "h^add", "h^FF")
SHAPED = {"H^blind": "h^blind", "H^add": "h^add", "H^FF": "h^FF"}  # learned column -> its base
OWN, BESIDE_BASE = "own H", "own H + h^FF"
FIRST_BASE, FIRST_OWN = "h^FF, first", "own H, first"  # with the search first-improvement
LAZY_BASE, LAZY_OWN = "h^FF, lazy", "own H + h^FF, lazy"  # with h^FF's preferred operators
ROLLOUTS, LABELS = "rollouts", "label + train"
PEERS = ("GBFS-HGN", "GBFS-H", "GBFS-V", "GBFLS-H", "GBFLS-V")

COLUMNS: dict[str, Column] = {
    **{name: Column(beside=(h,)) for name, h in zip(BASES, ("blind", "hadd", "ff"), strict=True)},
    **{name: Column(name, base=base, has_seeds=True) for name, base in SHAPED.items()},
    "GBFS-HGN": Column("hgn"),
    "GBFS-H": Column("gnn", decode="h-adjusted"),
    "GBFS-V": Column("gnn", decode="policy-value"),
    "GBFLS-H": Column("gnn", algorithm="gbfls", decode="h-adjusted"),
    "GBFLS-V": Column("gnn", algorithm="gbfls", decode="policy-value"),
    OWN: Column("own", base="h^FF", has_seeds=True),
    BESIDE_BASE: Column("own", beside=("ff",), base="h^FF", has_seeds=True),
    FIRST_BASE: Column(beside=("ff",), algorithm="first-improvement", base="h^FF"),
    FIRST_OWN: Column("own", algorithm="first-improvement", base="h^FF", has_seeds=True),
    LAZY_BASE: Column(None, ("ff",), "lazy", "ff", base="h^FF"),
    LAZY_OWN: Column("own", ("ff",), "lazy", "ff", base="h^FF", has_seeds=True),
    ROLLOUTS: Column("rollouts"),
    LABELS: Column("label + train"),
    DEFAULT: Column(),
}

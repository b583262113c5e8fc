"""The admissible-learning paper on spaces of a few hundred states, for tests."""

from __future__ import annotations

from dataclasses import replace

from small_patterns import OPTIONS

from hstar.papers.admissible_cea.scales import (
    Generalisation,
    Learning,
    PatternScale,
    PatternStudied,
)
from hstar.pdb import Compressions
from hstar.slots.objectives import make_objective

PANCAKES = PatternStudied(
    "pancakes", "pancake-5", "0-4", compressions=Compressions((1, 2, 5), (20,), ("0-2",), 2)
)
TILES = PatternStudied(
    "tiles", "tiles-2x3", "1-5", compressions=Compressions((1, 2, 4, 8), smaller=("1-2",))
)
DIFFERENCE = PatternStudied(
    "difference",
    "cube3",
    "edges:0-2",
    "edges:0-1",
    compressions=Compressions((1, 3), (2000,), modulo=3),
)
QUICK = replace(OPTIONS, steps=30, batch=128, evaluate_every=10)
PHASES = make_objective("cea", pace="phases", patience=1)
TINY = PatternScale(
    subjects=(PANCAKES, TILES, DIFFERENCE),
    learnings=(
        Learning("tiles", "cea", QUICK),
        Learning("tiles", "ce", replace(QUICK, objective=make_objective("ce"))),
        Learning(
            "pancakes",
            "phases",
            replace(QUICK, objective=PHASES),
        ),
        Learning("pancakes", "model-1", QUICK),
        Learning("difference", "cea", QUICK),
    ),
    generalisations=(Generalisation("pancakes", (10, 60), (0, 1), QUICK),),
    boards=3,
)
PAIR = replace(
    TINY,
    subjects=(PANCAKES,),
    learnings=tuple(one for one in TINY.learnings if one.subject == "pancakes"),
    generalisations=(),
)

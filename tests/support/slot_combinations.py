"""Which entries of the slots fit together, and which combinations to run: those in which two
entries meet for the first time, or all with --all."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import pytest

from hstar.slots.features import FEATURES
from hstar.slots.models import MODELS
from hstar.slots.objectives import OBJECTIVES, make_objective

# Options of these names, wherever an entry has them, make its network small.
SMALL = {"hidden": 6, "width": 4, "blocks": 1, "depth": 2, "breadth": 2, "steps": 2}

PIECES = list(itertools.product(MODELS, FEATURES, OBJECTIVES))
FITTING = [piece for piece in PIECES if piece[1] in MODELS.find(piece[0]).features]


def every_pair(*slots: Iterable[Any]) -> list[Any]:
    """The combinations with one entry of each slot. One that brings together no two entries that
    have not met before runs only with --all."""
    met: set[Any] = set()
    chosen = []
    for combination in itertools.product(*slots, FITTING):
        flat = (*combination[:-1], *combination[-1])
        pairs = set(itertools.combinations(enumerate(flat), 2))
        marks = () if pairs - met else (pytest.mark.exhaustive,)
        chosen.append(pytest.param(*flat, marks=marks))
        met |= pairs
    return chosen


def small(model: str, features: str) -> dict[str, Any]:
    known = {**MODELS.find(model).options, **FEATURES.find(features).options}
    return {name: value for name, value in SMALL.items() if name in known}


def with_open_variables(features: str, objective: str) -> tuple[str | None, dict[str, str] | None]:
    """For states with open variables: the message about these pieces, if there is one, and the
    options with which they work, if there are any."""
    held = OBJECTIVES.find(objective)
    if not FEATURES.find(features).reads_open:
        return "need whole states; choose features", None
    if held.batches == "pairs":
        return "these labels have none; choose another", None
    without = {key: "none" for key in ("base", "lower") if key in held.__dataclass_fields__}
    constants = make_objective(objective).constants()
    if {constants["base"], constants["lower"]} == {"none"}:
        return None, without
    return "give --base none --lower none", without

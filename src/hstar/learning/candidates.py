"""What `hstar learn FOLDER` chooses from: models, and ways of searching with or without them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hstar.learning.instance import Way, way_text
from hstar.learning.linear_model import OBJECTIVES
from hstar.slots.model_file import ModelFile


@dataclass(frozen=True, slots=True)
class Recipe:
    """Of a linear model: options of the features "wl", and the objective."""

    features: Mapping[str, Any]
    objective: str = OBJECTIVES[0]

    @property
    def label(self) -> str:
        """Such as "2 rounds, orders"."""
        chosen = [name for name, value in self.features.items() if value is True]
        others = [self.objective] if self.objective != OBJECTIVES[0] else []
        return ", ".join([f"{self.features['rounds']} rounds", *chosen, *others])


RECIPES = (
    Recipe({"rounds": 2, "orders": True}),
    Recipe({"rounds": 1, "orders": True}),
    Recipe({"rounds": 2, "orders": True, "statics": True}),
    Recipe({"rounds": 1, "orders": True, "statics": True}),
    Recipe({"rounds": 2}),
    Recipe({"rounds": 3, "orders": True}),
    Recipe({"rounds": 3, "orders": True, "statics": True}),
    Recipe({"rounds": 0, "orders": True}),
    Recipe({"rounds": 2, "orders": True}, "l-gbfs"),
    Recipe({"rounds": 2, "orders": True}, "squared"),
)
WITH_MODEL: tuple[Way, ...] = (
    {"algorithm": "gbfs"},
    {"algorithm": "first-improvement"},
    {"algorithm": "gbfs", "preferred_by": "ff", "batch": 32},
    {"algorithm": "lazy", "preferred_by": "ff", "batch": 32},
    {"algorithm": "lazy", "preferred_by": "ff", "batch": 32, "look_ahead": True},
    {"algorithm": "first-improvement", "ranked": True},
    {"algorithm": "lazy", "preferred": False, "ranked": True},
)
# A domain may need another search than the default planner's, and no model.
WITHOUT_MODEL: tuple[Way, ...] = (
    {"algorithm": "lazy", "heuristic": "ff", "batch": 32, "look_ahead": True},
)
WAYS = WITH_MODEL + WITHOUT_MODEL


@dataclass(frozen=True, slots=True)
class Candidate:
    """The number of a way of searching in WAYS, and the name of its model if it needs one."""

    model: str | None
    number: int

    @property
    def way(self) -> Way:
        return WAYS[self.number]

    @property
    def label(self) -> str:
        return f"{self.model or 'no model'}, {way_text(self.way)}"


UNTRAINED = tuple(Candidate(None, len(WITH_MODEL) + i) for i in range(len(WITHOUT_MODEL)))


def candidates_with(name: str, file: ModelFile) -> list[Candidate]:
    """All ways of searching that a model can be used in."""
    ranks = "operators" in file.metadata
    numbers = [i for i, way in enumerate(WITH_MODEL) if ranks or not way.get("ranked")]
    return [Candidate(name, number) for number in numbers]

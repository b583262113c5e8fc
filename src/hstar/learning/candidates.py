"""What `hstar learn FOLDER` chooses from: models, and ways of searching with or without them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hstar.learning.instance import Way, way_text

FEATURES: tuple[Mapping[str, Any], ...] = (
    {"rounds": 2, "orders": True},
    {"rounds": 1, "orders": True},
    {"rounds": 2, "orders": True, "statics": True},
    {"rounds": 1, "orders": True, "statics": True},
    {"rounds": 2},
    {"rounds": 3, "orders": True},
    {"rounds": 3, "orders": True, "statics": True},
    {"rounds": 0, "orders": True},
)
WITH_MODEL: tuple[Way, ...] = (
    {"algorithm": "gbfs"},
    {"algorithm": "first"},
    {"algorithm": "gbfs", "preferred_by": "ff", "batch": 32},
    {"algorithm": "lazy", "preferred_by": "ff", "batch": 32},
    {"algorithm": "lazy", "preferred_by": "ff", "batch": 32, "follow": True},
)
# A domain may need another search than the default planner's, and no model.
WITHOUT_MODEL: tuple[Way, ...] = (
    {"algorithm": "lazy", "heuristic": "ff", "batch": 32, "follow": True},
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


def candidates_with(model: str) -> list[Candidate]:
    return [Candidate(model, number) for number in range(len(WITH_MODEL))]


def feature_text(features: Mapping[str, Any]) -> str:
    """Such as "2 rounds, orders"."""
    chosen = [name for name, value in features.items() if value is True]
    return ", ".join([f"{features['rounds']} rounds", *chosen])

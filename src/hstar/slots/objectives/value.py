"""Objectives of models with one output per state: h(s) = output + base(s)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from hstar.slots.objectives.likelihood import BASES, check_known
from hstar.slots.objectives.objective import Objective


@dataclass(frozen=True)
class ValueObjective(Objective):
    """`base` is what the model corrects, or "none"."""

    form: ClassVar[str] = "value"
    decodes: ClassVar[tuple[str, ...]] = ("value", "floor")

    base: str = "none"

    def __post_init__(self) -> None:
        check_known("base", self.base, BASES)

    @property
    def outputs(self) -> int:
        return 1

    def constants(self) -> dict[str, Any]:
        return {"base": self.base, "lower": "none", "cap": None}

"""One number per state: its distance to h*, or to what is known of h*.

squared    (h - h*)^2
interval   -log P(l <= H <= u), H logistic around h; a missing bound leaves its side open

with h = output + base(s). Bounds are widened by half a step, since distances are whole numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from hstar.objectives.likelihood import BASES, LOWER_BOUNDS, check_known
from hstar.objectives.objective import Objective, Targets

if TYPE_CHECKING:
    from torch import Tensor

HALF_STEP = 0.5


@dataclass(frozen=True)
class Squared(Objective):
    """The squared error. `base` is what the model corrects."""

    name: ClassVar[str] = "squared"
    form: ClassVar[str] = "value"
    score: ClassVar[str] = "mse"
    decodes: ClassVar[tuple[str, ...]] = ("value", "floor")

    base: str = "none"

    def __post_init__(self) -> None:
        check_known("base", self.base, BASES)

    @property
    def outputs(self) -> int:
        return 1

    def loss(self, outputs: Tensor, targets: Targets) -> Tensor:
        error: Tensor = outputs[:, 0] + targets["base"] - targets["h_star"]
        return error**2

    def constants(self) -> dict[str, Any]:
        return {"base": self.base, "lower": "none", "cap": None}


@dataclass(frozen=True)
class Interval(Objective):
    """The likelihood of the bounds. `lower` is an admissible heuristic; the upper bound is that of
    the label. `scale` is that of the logistic distribution."""

    name: ClassVar[str] = "interval"
    form: ClassVar[str] = "value"
    decodes: ClassVar[tuple[str, ...]] = ("value", "floor")

    base: str = "none"
    lower: str = "hmax"
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_known("base", self.base, BASES)
        check_known("lower bound", self.lower, LOWER_BOUNDS)
        if not 0 < self.scale < math.inf:
            raise ValueError(f"the scale must be positive and finite, not {self.scale}")

    @property
    def outputs(self) -> int:
        return 1

    def loss(self, outputs: Tensor, targets: Targets) -> Tensor:
        import torch

        softplus = torch.nn.functional.softplus
        mu = outputs[:, 0] + targets["base"]
        lower, upper = targets["lower"] - HALF_STEP, targets["upper"] + HALF_STEP
        a, b = (lower - mu) / self.scale, (upper - mu) / self.scale
        width = (upper - lower) / self.scale
        return softplus(a) + softplus(-b) - torch.log(-torch.expm1(-width))

    def constants(self) -> dict[str, Any]:
        return {"base": self.base, "lower": self.lower, "cap": None}

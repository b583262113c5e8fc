"""One number per state: its distance to h*, or to what is known of h*.

squared    (h - h*)^2
interval   -log P(l <= H <= u), H logistic around h

with h = output + base(s). l is an admissible heuristic and u the cost of a plan; where h* is known,
both are h*. A missing bound leaves its side open. Bounds are widened by half a step, since
distances are whole numbers.

Rankings compare h of the states on a plan with that of others (Chrestien et al. 2023).

l-gbfs   mean softplus(h(better) - h(worse))
l-star   mean softplus(g(better) + h(better) - g(worse) - h(worse))
rank-svm mean max(0, 1 + h(better) - h(worse))^2, as the linear models of `hstar learn` have it
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from hstar.slots.objectives.objective import LOWER_BOUNDS, Targets, ValueObjective, check_heuristic

if TYPE_CHECKING:
    from torch import Tensor


HALF_STEP = 0.5


@dataclass(frozen=True)
class Squared(ValueObjective):
    """The squared error."""

    name: ClassVar[str] = "squared"
    score: ClassVar[str] = "mse"
    fits: ClassVar[tuple[str, ...]] = ("torch", "mlp", "linear")

    def loss(self, outputs: Tensor, targets: Targets) -> Tensor:
        error: Tensor = outputs[:, 0] + targets["base"] - targets["h_star"]
        return error**2


@dataclass(frozen=True)
class Interval(ValueObjective):
    """The likelihood of the bounds. `lower` is an admissible heuristic. `scale` is that of the
    logistic distribution."""

    name: ClassVar[str] = "interval"
    fits: ClassVar[tuple[str, ...]] = ("torch", "mlp")
    takes_bounds: ClassVar[bool] = True

    lower: str = "lmcut"
    scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_heuristic("lower bound", self.lower, LOWER_BOUNDS)
        if not 0 < self.scale < math.inf:
            raise ValueError(f"the scale must be positive and finite, not {self.scale}")

    def loss(self, outputs: Tensor, targets: Targets) -> Tensor:
        import torch

        softplus = torch.nn.functional.softplus
        mu = outputs[:, 0] + targets["base"]
        lower, upper = targets["h_star"] - HALF_STEP, targets["h_star"] + HALF_STEP
        if "is_bound" in targets:
            lower = torch.where(targets["is_bound"], targets["lower"] - HALF_STEP, lower)
        a, b = (lower - mu) / self.scale, (upper - mu) / self.scale
        width = (upper - lower) / self.scale
        return softplus(a) + softplus(-b) - torch.log(-torch.expm1(-width))

    def constants(self) -> dict[str, Any]:
        return {**super().constants(), "lower": self.lower}


@dataclass(frozen=True)
class LGbfs(ValueObjective):
    """h(s) = output + base(s). Targets: `better` and `worse` are numbers of states int64[P], `g` is
    the cost of reaching every state."""

    name: ClassVar[str] = "l-gbfs"
    batches: ClassVar[str] = "pairs"
    fits: ClassVar[tuple[str, ...]] = ("torch", "mlp", "linear")
    # A step sees one problem, so evaluating on all validation problems costs many steps' time.
    training: ClassVar[dict[str, Any]] = {"learning_rate": 1e-3, "evaluate_every": 500}

    base: str = "ff"

    def loss(self, outputs: Tensor, targets: Targets) -> Tensor:
        value = self.order(outputs[:, 0] + targets["base"], targets["g"])
        return self.penalty(value[targets["better"]] - value[targets["worse"]]).mean()

    def penalty(self, difference: Tensor) -> Tensor:
        """Of the better state's value minus the worse one's."""
        import torch

        return torch.nn.functional.softplus(difference)

    def order(self, h: Tensor, g: Tensor) -> Tensor:
        """What the search orders states by."""
        return h


@dataclass(frozen=True)
class LStar(LGbfs):
    """For A*, which orders by g + h."""

    name: ClassVar[str] = "l-star"
    fits: ClassVar[tuple[str, ...]] = ("torch",)

    def order(self, h: Tensor, g: Tensor) -> Tensor:
        return h + g


@dataclass(frozen=True)
class RankSvm(LGbfs):
    """Worse states should be at least 1 above better ones."""

    name: ClassVar[str] = "rank-svm"
    fits: ClassVar[tuple[str, ...]] = ("torch", "linear")

    def penalty(self, difference: Tensor) -> Tensor:
        return (1 + difference).clamp(min=0).square()

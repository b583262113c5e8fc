"""Rankings: h of the states on a plan against h of the states beside it (Chrestien et al. 2023).

l-gbfs   mean softplus(h(better) - h(worse))
l-star   mean softplus(g(better) + h(better) - g(worse) - h(worse))
rank-svm mean max(0, 1 + h(better) - h(worse))^2, as the linear models of `hstar learn` have it
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from hstar.slots.objectives.objective import Targets, ValueObjective

if TYPE_CHECKING:
    from torch import Tensor


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

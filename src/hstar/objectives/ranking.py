"""Rankings: h of the states on a plan against h of the states beside it (Chrestien et al. 2023).

l-gbfs   mean softplus(h(better) - h(worse))
l-star   mean softplus(g(better) + h(better) - g(worse) - h(worse))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from hstar.objectives.objective import Targets
from hstar.objectives.value import ValueObjective

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class LGbfs(ValueObjective):
    """h(s) = output + base(s). Targets: `better` and `worse` are numbers of states int64[P], `g` is
    the cost of reaching every state."""

    name: ClassVar[str] = "l-gbfs"
    batches: ClassVar[str] = "pairs"
    # A step sees one problem, so evaluating on all validation problems costs many steps' time.
    training: ClassVar[dict[str, Any]] = {"learning_rate": 1e-3, "evaluate_every": 500}

    base: str = "ff"

    def loss(self, outputs: Tensor, targets: Targets) -> Tensor:
        import torch

        value = self.order(outputs[:, 0] + targets["base"], targets["g"])
        difference = value[targets["better"]] - value[targets["worse"]]
        return torch.nn.functional.softplus(difference).mean()

    def order(self, h: Tensor, g: Tensor) -> Tensor:
        """What the search orders states by."""
        return h


@dataclass(frozen=True)
class LStar(LGbfs):
    """For A*, which orders by g + h."""

    name: ClassVar[str] = "l-star"

    def order(self, h: Tensor, g: Tensor) -> Tensor:
        return h + g

"""bellman: one number per state, its value less its potential (Gehring et al. 2022).

With a reward of -1 a step and discount gamma, a state with h* steps to the goal has the value
-h*_gamma, where h_gamma = (1 - gamma^h) / (1 - gamma). Its potential is -base_gamma(s), or -base(s)
if it is naive. The loss is half the squared difference to the value less the potential.

Reinforcement learning (training/reinforcement) puts a backup of the model's own values in place of
h*_gamma; the outputs mean the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from hstar.slots.objectives.objective import Targets, ValueObjective

if TYPE_CHECKING:
    from torch import Tensor


def discounted(steps: Tensor, gamma: float) -> Tensor:
    """What so many steps cost, in double precision."""
    import math

    import torch

    return -torch.expm1(steps.double() * math.log(gamma)) / (1 - gamma)


@dataclass(frozen=True)
class Bellman(ValueObjective):
    """`base` is the heuristic behind the potential, or "none"."""

    name: ClassVar[str] = "bellman"
    form: ClassVar[str] = "shaped-value"
    score: ClassVar[str] = "mse"
    decodes: ClassVar[tuple[str, ...]] = ("shaped",)

    base: str = "ff"
    gamma: float = 0.999999
    naive: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.gamma < 1:
            raise ValueError(f"gamma must be between 0 and 1, not {self.gamma}")

    def loss(self, outputs: Tensor, targets: Targets) -> Tensor:
        base = targets["base"]
        potential = base.double() if self.naive else discounted(base, self.gamma)
        value = potential - discounted(targets["h_star"], self.gamma)
        return 0.5 * (outputs[:, 0].double() - value) ** 2

    def constants(self) -> dict[str, Any]:
        return {**super().constants(), "gamma": self.gamma, "naive": int(self.naive)}

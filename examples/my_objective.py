"""An objective of your own: the pinball loss, whose minimum is a quantile of h*.

    hstar train labels.parquet -l my_objective:Pinball --option level=0.2 -o low.safetensors

A state that is estimated too high costs more than one that is estimated too low, so the model
learns to stay below most labels.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch

from hstar.slots.objectives.objective import Objective


@dataclass(frozen=True)
class Pinball(Objective):
    """The output is the `level` quantile of h* - base."""

    form: ClassVar = "value"
    score: ClassVar = "mse"
    decodes: ClassVar = ("value",)

    base: str = "ff"
    level: float = 0.1

    @property
    def outputs(self):
        return 1

    def loss(self, outputs, targets):
        below = targets["h_star"] - (outputs[:, 0] + targets["base"])
        return torch.maximum(self.level * below, (self.level - 1) * below)

    def constants(self):
        return {"base": self.base, "lower": "none", "cap": None}

"""A linear model on four features of the relaxed plan (Gomoluch et al. 2017).

The features are the number of open goals, h^FF, the deletes that the relaxed plan ignores, and
those per step of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

NUM_FEATURES = 4


class Linear(nn.Module):
    """float32[B, outputs] from features float32[B, 4]."""

    def __init__(self, config: dict[str, Any], generator: torch.Generator | None = None) -> None:
        super().__init__()
        outputs = int(config["outputs"])
        bound = 1 / math.sqrt(NUM_FEATURES)
        self.weight = nn.Parameter(torch.empty(outputs, NUM_FEATURES))
        self.bias = nn.Parameter(torch.empty(outputs))
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.uniform_(-bound, bound, generator=generator)

    def forward(self, features: NDArray[np.float32]) -> Tensor:
        x = torch.from_numpy(np.ascontiguousarray(features)).to(self.weight.device)
        return nn.functional.linear(x, self.weight, self.bias)

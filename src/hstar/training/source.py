"""Where training batches come from. The loop knows no more of a source than this.

A step has two parts. `draw` chooses a batch on the host; `loss` computes on the device what the
optimiser minimises. Where all batches have the same shapes, `draw` returns tensors only, and a GPU
can replay a recorded step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hstar.slots.decode import Decode
from hstar.slots.features.feature import Config, Feature
from hstar.slots.models.model import Model
from hstar.slots.objectives.objective import Objective, Targets

Metrics = dict[str, float]


class BatchSource:
    """`objective` may be replaced between steps."""

    is_recordable = False
    is_exact_in_tf32 = False  # whether inputs are whole numbers up to 127

    def __init__(self, objective: Objective, device: torch.device) -> None:
        self.objective = objective
        self.device = device

    def record(self, model: Model, network: torch.nn.Module) -> None:
        """Prepare for replaying steps on a GPU, if all batches have the same shapes."""

    def draw(self, step: int) -> Any:
        """The batch of a step; it depends on the seed and the step alone."""
        raise NotImplementedError

    def loss(self, network: torch.nn.Module, drawn: Any) -> tuple[Tensor, list[Tensor]]:
        """The loss of a batch, and the statistics of the objective as double scalars."""
        raise NotImplementedError

    def evaluate(self, network: torch.nn.Module) -> Metrics:
        """How well a network does on all of the source: "loss" and whatever else applies."""
        raise NotImplementedError

    def inputs(self, drawn: Any) -> Tensor:
        """The inputs of a drawn batch as one matrix; only models that can be rounded need it."""
        raise NotImplementedError

    def _statistics(self, outputs: Tensor, targets: Targets) -> list[Tensor]:
        with torch.no_grad():
            found = self.objective.statistics(outputs, targets)
        return [found[name] for name in self.objective.statistic_names]


@dataclass(frozen=True)
class RowOptions:
    """What sources of labelled states have in common."""

    objective: Objective
    decode: Decode
    decode_options: Config
    features: Feature
    feature_config: Config
    batch: int
    seed: int


def on_device(inputs: Any, device: torch.device) -> Any:
    """What a network takes: plain arrays become tensors."""
    if isinstance(inputs, np.ndarray):
        inputs = torch.from_numpy(np.ascontiguousarray(inputs))
    return inputs.to(device) if isinstance(inputs, Tensor) else inputs

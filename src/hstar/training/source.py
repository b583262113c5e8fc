"""Where training batches come from. The loop knows no more of a source than this.

A step has two parts. `draw` chooses a batch on the host; `loss` computes on the device what the
optimiser minimises. Where all batches have the same shapes, `draw` returns tensors only, and a GPU
can replay a recorded step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from hstar.features.feature import Feature
from hstar.learned.decode import Decode
from hstar.objectives.objective import Objective

Metrics = dict[str, float]


class Source(Protocol):
    """`objective` may be replaced between steps. `statistics` names what `loss` returns besides."""

    objective: Objective
    device: torch.device
    is_recordable: bool
    is_exact_in_tf32: bool  # inputs are whole numbers up to 127
    statistics: tuple[str, ...]

    def draw(self, step: int) -> Any:
        """The batch of a step; it depends on the seed and the step alone."""

    def loss(self, network: torch.nn.Module, drawn: Any) -> tuple[Tensor, list[Tensor]]:
        """The loss of a batch, and its statistics as double scalars."""

    def evaluate(self, network: torch.nn.Module) -> Metrics:
        """How well a network does on all of the source: "loss" and whatever else applies."""

    def inputs(self, drawn: Any) -> Tensor:
        """The inputs of a drawn batch as one matrix; only models that can be rounded need it."""


@dataclass(frozen=True)
class RowOptions:
    """What sources of labelled states have in common."""

    objective: Objective
    decode: Decode
    decode_options: dict[str, Any]
    features: Feature
    feature_config: dict[str, Any]
    batch: int
    seed: int


def on_device(inputs: Any, device: torch.device) -> Any:
    """What a network takes: plain arrays become tensors."""
    import numpy as np

    if isinstance(inputs, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(inputs)).to(device)
    return inputs

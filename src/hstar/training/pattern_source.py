"""Batches drawn on the device from all states of a pattern, whose exact values are a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hstar.pdb import PatternDatabase
from hstar.slots.features.digits import first_rows, one_hot
from hstar.slots.features.pattern_states import PatternStates, states_to_learn
from hstar.slots.objectives.objective import Objective, Targets
from hstar.training.draws import Draws
from hstar.training.options import Sampling
from hstar.training.source import BatchSource


@dataclass(frozen=True)
class TableData:
    """A table of exact values and the space it is of. Training sees the states `known`, or all."""

    database: PatternDatabase
    space: Any
    known: PatternStates | None = None

    def states(self, device: torch.device) -> PatternStates:
        return self.known or states_to_learn(self.database, self.space, device)


class PatternSource(BatchSource):
    """Draws indices; digits and labels are gathered on the device."""

    is_recordable = True
    is_exact_in_tf32 = True

    def __init__(
        self, states: PatternStates, objective: Objective, sampling: Sampling, batch: int, seed: int
    ) -> None:
        super().__init__(objective, states.device)
        self.states = states
        self.draws = Draws(states, sampling, batch, seed)
        self.first_rows = torch.from_numpy(first_rows(states.domain_sizes)).to(self.device)
        self.width = sum(states.domain_sizes)
        self.values = torch.tensor(states.values, dtype=torch.float32, device=self.device)

    def draw(self, step: int) -> list[Tensor]:
        return [self.draws.at(step)]

    def loss(self, network: torch.nn.Module, drawn: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        x, targets = self.inputs(drawn), self._targets(drawn[0])
        # Whole numbers up to 127 are exact in bfloat16, also those of the rounded network.
        with torch.autocast(
            self.device.type, torch.bfloat16, self.device.type == "cuda", cache_enabled=False
        ):
            outputs = network(x)
        loss = self.objective.loss(outputs, targets).mean()
        return loss, self._statistics(outputs, targets)

    def inputs(self, drawn: list[Tensor]) -> Tensor:
        on_gpu = self.device.type == "cuda"
        rows = self.states.digits(drawn[0]) + self.first_rows
        return one_hot(rows, self.width, torch.bfloat16 if on_gpu else torch.float32)

    def _targets(self, index: Tensor) -> Targets:
        exact = self.states.exact(index)
        if self.objective.form == "logits":
            return {"class": exact}
        h_star = self.values[exact]
        none = torch.full_like(h_star, torch.inf)
        return {"h_star": h_star, "base": torch.zeros_like(h_star), "lower": -none, "upper": none}

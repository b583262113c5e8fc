"""Batches drawn on the device from all states of a pattern, whose exact values are a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hstar.pdb import PatternDatabase
from hstar.slots.features.digits import first_rows, one_hot
from hstar.slots.features.pattern_states import UNREACHED, PatternStates, states_to_learn
from hstar.slots.objectives.objective import Objective, Targets
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


class Draws:
    """Batches of indices int64[B] on the device. Every step has random numbers of its own, so a
    resumed run draws what an undisturbed one does.

    "uniform" draws every index alike. "proportional" gives each class its share of the batch, at
    least one place, and draws uniformly within it, as the paper does. "tempered" gives class c the
    share n_c^alpha / sum of all: alpha 1 is proportional, alpha 0 treats all classes alike.
    """

    def __init__(self, states: PatternStates, sampling: Sampling, batch: int, seed: int) -> None:
        self.states = states
        self.batch = batch
        self.seed = seed
        self.generator = torch.Generator(device=states.device)
        self.order: Tensor | None = None  # the indices to draw from; None means all
        self.sizes: Tensor | None = None  # of the class that each place of a batch draws from
        if sampling.mode != "uniform":
            alpha = 1.0 if sampling.mode == "proportional" else sampling.alpha
            parts = [torch.nonzero(states.labels == c)[:, 0] for c in range(len(states.values))]
            self.order = torch.cat(parts)
            if states.cells < 2**31:
                self.order = self.order.int()
            sizes = torch.tensor(states.class_sizes, dtype=torch.int64)
            counts = quotas([float(size) ** alpha for size in states.class_sizes], batch)
            each = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
            firsts = torch.cumsum(sizes, 0) - sizes
            self.sizes = sizes[each].to(states.device)
            self.firsts = firsts[each].to(states.device)
        elif sum(states.class_sizes) < states.cells:
            self.order = torch.nonzero(states.labels != UNREACHED)[:, 0].int()

    def at(self, step: int) -> Tensor:
        """The batch of a step."""
        self.generator.manual_seed((self.seed << 32) + step)
        device = self.states.device
        if self.sizes is not None:
            shares = torch.rand(
                self.batch, generator=self.generator, device=device, dtype=torch.float64
            )
            drawn = self.firsts + torch.minimum((shares * self.sizes).long(), self.sizes - 1)
        else:
            size = self.states.cells if self.order is None else len(self.order)
            drawn = torch.randint(size, (self.batch,), generator=self.generator, device=device)
        return drawn if self.order is None else self.order[drawn].long()


def quotas(weights: list[float], batch: int) -> list[int]:
    """How many places of a batch each class gets: its share, rounded, and at least one."""
    if batch < len(weights):
        raise ValueError(f"a batch needs a place for each of the {len(weights)} classes")
    total = sum(weights)
    counts = [max(1, int(batch * weight / total)) for weight in weights]
    largest = max(range(len(weights)), key=lambda number: counts[number])
    counts[largest] += batch - sum(counts)
    if counts[largest] < 1:
        raise ValueError("the batch is too small for this many classes")
    return counts

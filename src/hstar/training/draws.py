"""Which states a batch holds: uniform over all, in proportion to classes, or tempered.

"uniform" draws every index alike. "proportional" gives each class its share of the batch, at least
one place, and draws uniformly within it, as the paper does. "tempered" gives class c the share
n_c^alpha / sum of all: alpha 1 is proportional, alpha 0 treats all classes alike.

Every step has random numbers of its own, so a resumed run draws what an undisturbed one does.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hstar.slots.features.pattern_states import UNREACHED, PatternStates
from hstar.training.options import Sampling


class Draws:
    """Batches of indices int64[B] on the device."""

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

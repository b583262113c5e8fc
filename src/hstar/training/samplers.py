"""Which states a batch holds: of labelled ones, or of those of a table."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hstar.slots.features.pattern_states import UNREACHED, PatternStates
from hstar.training.options import Sampling


class Sampler(Protocol):
    """Which states a batch holds. It depends on the seed and its number only, so training resumes
    anywhere. `weights` float32[B], or one for all, correct the loss."""

    seed: int
    weights: NDArray[np.float32]

    def rows(self, step: int) -> NDArray[np.int64]:
        """int64[B]: the states of batch number `step`."""


class ShuffledSampler:
    """All states in an order shuffled anew in every pass, a batch after the other; the last of a
    pass is smaller."""

    def __init__(self, sizes: NDArray[np.int64], batch: int, seed: int) -> None:
        self.states, self.batch, self.seed = len(sizes), batch, seed
        self.weights = np.ones(1, np.float32)
        self.order = 0, np.random.default_rng([seed, 0]).permutation(self.states)

    def rows(self, step: int) -> NDArray[np.int64]:
        number, place = divmod(step, -(-self.states // self.batch))
        if self.order[0] != number:
            rng = np.random.default_rng([self.seed, number])
            self.order = number, rng.permutation(self.states)
        return self.order[1][place * self.batch : (place + 1) * self.batch]


class StratifiedSampler:
    """Batches in which every size of state has a fixed share.

    So no batch is larger than another, and a GPU can replay one recorded step for all of them. Each
    size runs through its states in an order shuffled anew in every pass. A size that would round
    away gets one place; `weights` corrects the loss for such roundings. A batch depends only on the
    seed and its number, so training resumes anywhere.
    """

    def __init__(self, sizes: NDArray[np.int64], batch: int, seed: int) -> None:
        self.orders: dict[int, tuple[int, NDArray[np.int64]]] = {}  # group -> its last pass
        values, counts = np.unique(sizes, return_counts=True)
        batch = min(batch, len(sizes))
        self.seed = seed
        self.groups = [np.flatnonzero(sizes == value) for value in values]
        self.quotas = _quotas(counts, batch)
        shares = counts / counts.sum()
        weights = shares / (self.quotas / self.quotas.sum())
        self.weights = np.repeat(weights, self.quotas).astype(np.float32)

    def rows(self, step: int) -> NDArray[np.int64]:
        """int64[B]: the states of batch number `step`, sizes in the same order always."""
        parts = []
        for group, (members, quota) in enumerate(zip(self.groups, self.quotas, strict=True)):
            first = step * int(quota)
            positions = np.arange(first, first + int(quota))
            passes, places = np.divmod(positions, len(members))
            for number in np.unique(passes).tolist():
                parts.append(self._order(group, number)[places[passes == number]])
        return np.concatenate(parts)

    def _order(self, group: int, number: int) -> NDArray[np.int64]:
        """The states of a size as a pass has them."""
        if self.orders.get(group, (-1,))[0] != number:
            rng = np.random.default_rng([self.seed, group, number])
            self.orders[group] = number, rng.permutation(self.groups[group])
        return self.orders[group][1]


def _quotas(counts: NDArray[np.int64], batch: int) -> NDArray[np.int64]:
    """Places per size: at least one each, otherwise in proportion (largest remainders)."""
    ideal = counts / counts.sum() * batch
    quotas: NDArray[np.int64] = np.maximum(np.floor(ideal).astype(np.int64), 1)
    remainders = np.where(quotas > ideal, -1.0, ideal - quotas)
    missing = batch - int(quotas.sum())
    if missing > 0:
        quotas[np.argsort(-remainders, kind="stable")[:missing]] += 1
    return quotas


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
            weights = [float(size) ** alpha if size else 0.0 for size in states.class_sizes]
            counts = quotas(weights, batch)
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
    """How many places of a batch each class gets: its share, rounded, and at least one; none if it
    has no weight."""
    if batch < len(weights):
        raise ValueError(f"a batch needs a place for each of the {len(weights)} classes")
    total = sum(weights)
    counts = [max(1, int(batch * weight / total)) if weight else 0 for weight in weights]
    largest = max(range(len(weights)), key=lambda number: counts[number])
    counts[largest] += batch - sum(counts)
    if counts[largest] < 1:
        raise ValueError("the batch is too small for this many classes")
    return counts

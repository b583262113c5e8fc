"""Which states make up which training batch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class StratifiedSampler:
    """Batches in which every size of state has a fixed share.

    So no batch is larger than another, and a GPU can replay one recorded step for all of them. Each
    size runs through its states in an order shuffled anew in every pass. A size that would round
    away gets one place; `weights` corrects the loss for such roundings. A batch depends only on the
    seed and its number, so training resumes anywhere.
    """

    def __init__(self, sizes: NDArray[np.int64], batch: int, seed: int) -> None:
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
            for number in np.unique(passes):
                order = np.random.default_rng([self.seed, group, int(number)]).permutation(members)
                parts.append(order[places[passes == number]])
        return np.concatenate(parts)


def _quotas(counts: NDArray[np.int64], batch: int) -> NDArray[np.int64]:
    """Places per size: at least one each, otherwise in proportion (largest remainders)."""
    ideal = counts / counts.sum() * batch
    quotas: NDArray[np.int64] = np.maximum(np.floor(ideal).astype(np.int64), 1)
    remainders = np.where(quotas > ideal, -1.0, ideal - quotas)
    missing = batch - int(quotas.sum())
    if missing > 0:
        quotas[np.argsort(-remainders, kind="stable")[:missing]] += 1
    return quotas

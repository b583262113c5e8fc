"""Going over states drawn at random, where a sweep over every state would take too long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hstar.slots.models.integer_network import Network
from hstar.slots.pattern_network import LearnedDatabase
from hstar.training.certified.sweep import ValueCounts

if TYPE_CHECKING:
    from torch import Tensor

    from hstar.slots.features.pattern_states import PatternStates

SLICE = 2**16


class SampledSweep:
    """Over so many states of a pattern, or over all if there are no more. An even stride would
    favour some places of a piece."""

    def __init__(self, states: PatternStates, sampled: int) -> None:
        self.states = states
        self.drawn = np.arange(states.cells)
        if sampled < states.cells:
            self.drawn = np.random.default_rng(0).integers(states.cells, size=sampled)

    def count_values(self, model: LearnedDatabase) -> ValueCounts:
        """The likeliest classes, and which of them are too large."""
        import torch

        classes = model.network.num_classes
        found = np.zeros((classes, classes), dtype=np.uint64)
        unreached = 0
        for first in range(0, len(self.drawn), SLICE):
            index = torch.from_numpy(self.drawn[first : first + SLICE])
            exact = self.states.exact(index).numpy()
            reached = exact < classes
            unreached += int((~reached).sum())
            guess = predict(model.network, self.states, index)[reached]
            np.add.at(found, (exact[reached], guess), 1)
        return ValueCounts(found.sum(axis=0), np.triu(found, 1), int(found.sum()), unreached)


def predict(network: Network, states: PatternStates, index: Tensor) -> NDArray[np.intp]:
    """The likeliest class of each index; of equals the first, as in the core."""
    digits = states.digits(index).cpu().numpy().astype(np.int32)
    likeliest: NDArray[np.intp] = network.forward(digits).argmax(axis=1)
    return likeliest

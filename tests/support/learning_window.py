"""What the network of a learner says of states."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.planning.task import Task
from hstar.slots.features.atoms import ATOMS
from hstar.training.reinforcement.rtdp import Rtdp


def inputs(learner: Rtdp, task: Task, states: NDArray[np.int32]) -> Any:
    """A batch as `_core.nlm_forward` takes it: sizes, starts, entries and values."""
    batch = ATOMS.encoder(learner.features, task)(states)
    return batch.sizes, batch.starts, batch.entries, batch.values


def network_values(learner: Rtdp, task: Task, states: NDArray[np.int32]) -> Any:
    theta = learner.memory()[0]["theta"]
    return _core.nlm_forward(learner.network.shape(), theta, *inputs(learner, task, states), 1)[
        :, 0
    ]

"""Features "relaxed-plans": four numbers of the relaxed plan (Gomoluch et al. 2017).

They are the number of open goals, h^FF, the deletes that the relaxed plan ignores, and those per
step of it. They have the same meaning in tasks of any size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar.planning.heuristics import make_heuristic
from hstar.planning.task import Task
from hstar.slots.features.feature import Config, Feature


class RelaxedPlanFeature(Feature):
    """It has no options; operators cost what the labels count."""

    name = "relaxed-plans"

    def configure(self, tasks: Sequence[Task], options: Config, cost: str) -> Config:
        return {"cost": cost, "width": 4}

    def encoder(self, config: Config, space: Task) -> Callable[[Any], Any]:
        heuristic = make_heuristic(space, "ff", config["cost"])

        def encode(states: NDArray[np.int32]) -> NDArray[np.float32]:
            features = heuristic.plan_features(states)
            features[:, 1] /= space.cost_scale
            return large_where_infinite(features)

        return encode

    def native(self, config: Config, space: Task) -> Config:
        return {"input": "relaxed-plan"}


def large_where_infinite(values: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Dead ends get a number that is worse than any other, since losses cannot take infinity."""
    finite = np.isfinite(values)
    largest = np.max(values, initial=0.0, where=finite)
    return np.where(finite, values, 2 * largest + 1).astype(np.float32)


RELAXED_PLANS = RelaxedPlanFeature()

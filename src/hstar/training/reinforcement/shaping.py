"""Rewards of planning, and potentials that make them dense (the core's reinforcement/shaping.hpp).

Shaping adds gamma phi(s') - phi(s) to the reward of a step from s to s'. Optimal policies stay
optimal, and optimal values become smaller by phi(s) (Ng, Harada and Russell, ICML 1999). The
potential of Gehring et al. (ICAPS 2022) is the discounted value of a heuristic, phi = -h_gamma with

    h_gamma = 1 + gamma + ... + gamma^(h - 1) = (1 - gamma^h) / (1 - gamma).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Of a step, and of one that reaches the goal.
REWARDS = {"step": (-1.0, -1.0), "free-last": (-1.0, 0.0), "goal": (0.0, 1.0)}
POTENTIALS = {"none": "0", "naive": "-h", "discounted": "-h_gamma"}


@dataclass(frozen=True)
class Shaping:
    """What a step earns, and the potential that shaping adds. Raises ValueError."""

    gamma: float = 0.999999
    reward: str = "step"
    potential: str = "discounted"

    def __post_init__(self) -> None:
        if isinstance(self.gamma, bool) or not isinstance(self.gamma, int | float):
            raise ValueError(f"gamma must be a number, not {self.gamma!r}")
        if not 0 < self.gamma < 1:
            raise ValueError(
                f"gamma must be above 0 and below 1, not {self.gamma!r}; "
                "at 1, a plan that never ends would cost infinitely much"
            )
        for slot, value, known in (
            ("reward", self.reward, REWARDS),
            ("potential", self.potential, POTENTIALS),
        ):
            if value not in list(known):
                raise ValueError(f"no {slot} is called {value!r}; there are: {', '.join(known)}")

    @property
    def limit(self) -> float:
        """What endless steps cost."""
        return 1 / (1 - self.gamma)

    def discounted(self, h: ArrayLike) -> NDArray[np.float64]:
        """h_gamma, float64 in the shape of h. expm1 keeps it exact where gamma^h is close to 1."""
        steps = np.asarray(h, dtype=np.float64)
        return -np.expm1(steps * math.log(self.gamma)) / (1 - self.gamma)

    def phi(self, h: ArrayLike) -> NDArray[np.float64]:
        """The potentials of states with these heuristic values; infinity gets the limit."""
        steps = np.asarray(h, dtype=np.float64)
        if self.potential == "none":
            return np.zeros_like(steps)
        if self.potential == "discounted":
            return -self.discounted(steps)
        return -np.minimum(steps, self.limit)

"""Which problems to play on: small ones first, larger ones once those are solved.

Most episodes on large problems reach no goal at first. They teach nothing, and what they add to a
gradient is noise. So problems are put into groups by h^FF of their initial states. A group opens
when most of the last episodes on the one before reached the goal. Of the open groups those that are
sometimes solved teach most, and are drawn more often: p (1 - p) for a share p of solved episodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_GROUPS = 10
FORGETTING = 0.05  # of means over episodes
SOLVED = 0.6  # the share that opens the next group; half of it is expected there
LEAST = 0.02  # of p (1 - p): nothing that was learned may be forgotten


class Curriculum:
    """`sizes` are those of the problems. By group, `solved` is the share of the last episodes that
    reached the goal and `gained` their mean return; both are 0 until it opens."""

    def __init__(self, sizes: Sequence[float]) -> None:
        order = np.argsort(np.array(sizes), kind="stable")
        self.groups = np.array_split(order, min(MOST_GROUPS, len(sizes)))
        self.group_of = np.empty(len(sizes), dtype=np.int64)
        for number, group in enumerate(self.groups):
            self.group_of[group] = number
        self.solved, self.gained = np.zeros((2, len(self.groups)))
        self.open = 1

    def draw(self, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Numbers of so many problems, one after the other."""
        p = self.solved[: self.open]
        weights = np.maximum(p * (1 - p), LEAST)
        drawn = rng.choice(self.open, size=count, p=weights / weights.sum())
        return np.array([rng.choice(self.groups[number]) for number in drawn])

    def learn(self, drawn: NDArray[np.int64], returns: Sequence[float]) -> None:
        """What episodes on these problems earned; 0 if they did not reach the goal."""
        for number, earned in zip(self.group_of[drawn].tolist(), returns, strict=True):
            self.solved[number] += FORGETTING * ((earned > 0) - self.solved[number])
            self.gained[number] += FORGETTING * (earned - self.gained[number])
        if self.open < len(self.groups) and self.solved[self.open - 1] >= SOLVED:
            self.solved[self.open] = SOLVED / 2
            self.open += 1

    def state(self) -> dict[str, Any]:
        """For checkpoints; JSON keeps every bit."""
        return {"open": self.open, "solved": self.solved.tolist(), "gained": self.gained.tolist()}

    def restore(self, held: dict[str, Any]) -> None:
        self.open = held["open"]
        self.solved, self.gained = np.array(held["solved"]), np.array(held["gained"])

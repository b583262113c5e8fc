"""beta and eta of CEA over time.

The paper's Appendix J: begin with beta 1 and eta 0.1; whenever neither the loss nor the share of
overestimated states has fallen for a while, halve both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

FIRST_BETA, FIRST_ETA = 1.0, 0.1
LEAST_BETA, LEAST_ETA = 0.05, 1e-4
PROGRESS = 0.995  # what counts as falling: to less than this share of the best so far


@dataclass(slots=True)
class Phases:
    """The phase a run is in; all of it goes into checkpoints."""

    beta: float = FIRST_BETA
    eta: float = FIRST_ETA
    best_loss: float = math.inf
    best_rate: float = math.inf
    stalled: int = 0

    def observe(self, loss: float, rate: float, patience: int) -> bool:
        """After an evaluation; True if a new phase begins."""
        improved = loss < PROGRESS * self.best_loss or rate < PROGRESS * self.best_rate
        self.best_loss = min(self.best_loss, loss)
        self.best_rate = min(self.best_rate, rate)
        self.stalled = 0 if improved else self.stalled + 1
        if self.stalled < patience or (self.beta, self.eta) == (LEAST_BETA, LEAST_ETA):
            return False
        self.beta = max(self.beta / 2, LEAST_BETA)
        self.eta = max(self.eta / 2, LEAST_ETA)
        self.best_loss = math.inf  # another beta is another loss
        self.stalled = 0
        return True

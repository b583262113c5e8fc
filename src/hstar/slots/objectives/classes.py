"""Losses on classes in ascending order of value: cross-entropy, and CEA, which forgives low ones.

CEA (eq. 5 of "Learning admissible heuristics for A*") of a state with exact class h:

    -log(sum over k <= h of w(k, h) p_k) - eta log p_h,    w(k, h) = ((v_k + s) / (v_h + s))^beta

The paper has no shift s: its weights are (k / h)^beta from k = 1 on, which leaves value 0 without
weight and h = 0 undefined. So a shift of 0 means the paper's weights, with w(0, 0) = 1.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hstar.slots.objectives.objective import Objective, Targets, check_known

if TYPE_CHECKING:
    import torch
    from torch import Tensor

MOST_CLASSES = 64
PACES = ("fixed", "phases")
# Of CEA with the pace "phases" (the paper's Appendix J).
FIRST_BETA, FIRST_ETA = 1.0, 0.1
LEAST_BETA, LEAST_ETA = 0.05, 1e-4
PROGRESS = 0.995  # what counts as falling: to less than this share of the best so far


@dataclass(frozen=True)
class CrossEntropy(Objective):
    """`values` are those of the classes, ascending; the training labels decide them."""

    name: ClassVar[str] = "ce"
    form: ClassVar[str] = "logits"
    decodes: ClassVar[tuple[str, ...]] = ("argmax", "quantile", "strict")
    statistic_names: ClassVar[tuple[str, ...]] = ("accuracy", "overestimates")

    values: tuple[int, ...] = ()

    @property
    def outputs(self) -> int:
        return len(self.values)

    def fitted(self, columns: dict[str, NDArray[np.float32]]) -> CrossEntropy:
        values = np.unique(columns["h_star"])
        if len(values) > MOST_CLASSES:
            raise ValueError(
                f"the labels have {len(values)} different values; "
                f"a model has at most {MOST_CLASSES} classes"
            )
        if not np.array_equal(values, np.round(values)):
            raise ValueError(
                "classes need labels that are whole numbers; take --cost one, or another teacher"
            )
        return replace(self, values=tuple(int(value) for value in values))

    def classes_of(self, h: NDArray[np.float32]) -> NDArray[np.int64]:
        """The class of each value; a value between two classes counts as the lower one."""
        place = np.searchsorted(np.array(self.values), h, side="right") - 1
        return np.maximum(place, 0).astype(np.int64)

    def loss(self, outputs: Tensor, targets: Targets) -> Tensor:
        import torch

        exact = targets["class"]
        return torch.nn.functional.cross_entropy(outputs.float(), exact, reduction="none")

    def statistics(self, outputs: Tensor, targets: Targets) -> dict[str, Tensor]:
        guess, exact = outputs.argmax(dim=1), targets["class"]
        return {
            "accuracy": (guess == exact).double().mean(),
            "overestimates": (guess > exact).double().mean(),
        }

    def constants(self) -> dict[str, Any]:
        return {"base": "none", "lower": "none", "cap": None, "values": list(self.values)}


@dataclass(frozen=True, slots=True)
class Phases:
    """The phase a run is in: whenever neither the loss nor the share of overestimated states has
    fallen for a while, beta and eta are halved."""

    beta: float = FIRST_BETA
    eta: float = FIRST_ETA
    best_loss: float = math.inf
    best_rate: float = math.inf
    stalled: int = 0

    def after(self, loss: float, rate: float, patience: int) -> Phases:
        """The phase after an evaluation."""
        improved = loss < PROGRESS * self.best_loss or rate < PROGRESS * self.best_rate
        stalled = 0 if improved else self.stalled + 1
        best_rate = min(self.best_rate, rate)
        if stalled < patience or (self.beta, self.eta) == (LEAST_BETA, LEAST_ETA):
            best_loss = min(self.best_loss, loss)
            return Phases(self.beta, self.eta, best_loss, best_rate, stalled)
        beta, eta = max(self.beta / 2, LEAST_BETA), max(self.eta / 2, LEAST_ETA)
        return Phases(beta, eta, best_rate=best_rate)  # another beta is another loss


@dataclass(frozen=True)
class Cea(CrossEntropy):
    """`shift` is added to values in weights (0: the paper's). `pace` "phases" begins with beta 1
    and eta 0.1 and lowers both when neither the loss nor the share of overestimates has fallen for
    `patience` evaluations (the paper's Appendix J); "fixed" keeps beta and eta as given. `phase` is
    what "phases" remembers."""

    name: ClassVar[str] = "cea"

    beta: float = 1.0
    eta: float = 0.01
    shift: float = 1.0
    pace: str = "fixed"
    patience: int = 5
    phase: Phases | None = None

    def __post_init__(self) -> None:
        if self.beta < 0 or self.eta < 0 or self.shift < 0:
            raise ValueError("beta, eta and shift are at least 0")
        check_known("pace", self.pace, PACES)
        if self.patience < 1:
            raise ValueError("the patience is at least 1")
        if self.pace == "phases":
            phase = self.phase or Phases()
            for name, value in (("phase", phase), ("beta", phase.beta), ("eta", phase.eta)):
                object.__setattr__(self, name, value)

    def after(self, metrics: dict[str, float]) -> Cea:
        if self.phase is None:
            return self
        seen = metrics["train_loss"], metrics["overestimates"]
        return replace(self, phase=self.phase.after(*seen, self.patience))

    def schedule(self) -> dict[str, float]:
        return {"beta": self.beta, "eta": self.eta}

    def loss(self, outputs: Tensor, targets: Targets) -> Tensor:
        weights = admissible_weights(self.values, self.shift, outputs.device)
        return cea(outputs, targets["class"], weights, self.beta, self.eta)

    def to_dict(self) -> dict[str, Any]:
        """Without the phase: it is how far a run is, not what it is."""
        described = super().to_dict()
        del described["phase"]
        return described


def cea(
    logits: Tensor, exact: Tensor, weights: Tensor, beta: Tensor | float, eta: Tensor | float
) -> Tensor:
    """float[B], of exact classes int64[B]; `weights` as `admissible_weights` makes them."""
    log_p = logits.float().log_softmax(dim=1)
    rows = weights[exact]
    # 0 * -inf would be NaN where beta is 0, so the classes above are masked after weighing.
    above = rows.isinf()
    weighed = log_p + rows.masked_fill(above, 0.0) * beta
    admissible = weighed.masked_fill(above, float("-inf")).logsumexp(dim=1)
    own = log_p.gather(1, exact[:, None])[:, 0]
    return -(admissible + eta * own)


@functools.lru_cache(maxsize=16)
def admissible_weights(values: tuple[int, ...], shift: float, device: torch.device) -> Tensor:
    """log((v_k + s) / (v_h + s)), float32 [h, k]; minus infinity where k > h. Kept, because a
    recorded step must find the same tensor again."""
    import torch

    logs = torch.log(torch.tensor(values, dtype=torch.float64) + shift)
    table = (logs[None, :] - logs[:, None]).fill_diagonal_(0.0)
    above = torch.ones_like(table, dtype=torch.bool).triu(1)
    return table.masked_fill(above, float("-inf")).float().to(device)

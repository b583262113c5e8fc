"""Losses on classes in ascending order of value: cross entropy, and CEA, which forgives low ones.

CEA (eq. 5 of "Learning admissible heuristics for A*") of a state with exact class h:

    -log(sum over k <= h of w(k, h) p_k) - eta log p_h,    w(k, h) = ((v_k + 1) / (v_h + 1))^beta

The paper weighs with (k / h)^beta from k = 1 on, which leaves value 0 without weight and h = 0
undefined; adding 1 to both values defines them (then w(0, 0) = 1) and hardly changes the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

LOSSES = ("cea", "ce")


@dataclass(frozen=True, slots=True)
class Loss:
    """`beta` and `eta` of CEA; plain cross entropy has neither."""

    name: str = "cea"
    beta: float = 1.0
    eta: float = 0.01

    def __post_init__(self) -> None:
        if self.name not in LOSSES:
            raise ValueError(f"unknown loss '{self.name}'; choose one of {', '.join(LOSSES)}")
        if self.beta < 0 or self.eta < 0:
            raise ValueError("beta and eta are at least 0")


def admissible_weights(values: Sequence[int], device: torch.device) -> Tensor:
    """log((v_k + 1) / (v_h + 1)), float32 [h, k]; minus infinity where k > h."""
    logs = torch.log(torch.tensor(values, dtype=torch.float64) + 1)
    table = logs[None, :] - logs[:, None]
    above = torch.ones_like(table, dtype=torch.bool).triu(1)
    return table.masked_fill(above, float("-inf")).float().to(device)


def cross_entropy(logits: Tensor, exact: Tensor) -> Tensor:
    """The mean over a batch: logits [B, C], exact classes int64[B]."""
    return torch.nn.functional.cross_entropy(logits.float(), exact)


def cea(
    logits: Tensor, exact: Tensor, weights: Tensor, beta: Tensor | float, eta: Tensor | float
) -> Tensor:
    """The mean CEA over a batch; `weights` as `admissible_weights` makes them."""
    log_p = torch.log_softmax(logits.float(), dim=1)
    rows = weights[exact]
    # 0 * -inf would be NaN where beta is 0, so the classes above are masked after weighing.
    weighed = log_p + torch.where(torch.isinf(rows), 0.0, rows) * beta
    admissible = torch.logsumexp(weighed.masked_fill(torch.isinf(rows), float("-inf")), dim=1)
    own = log_p.gather(1, exact[:, None])[:, 0]
    return -(admissible + eta * own).mean()

"""What training minimises, and how a network's outputs become a heuristic value.

Distributions of h* given a state (Núñez-Molina et al. 2024):

    mu = output 0 + base(s),  sigma = 0.1 + 10 sigmoid(output 1)  or a constant
    gaussian             -log N(h* | mu, sigma)
    truncated-gaussian   -log TN(h* | mu, sigma, l - epsilon, u + epsilon)

with l an admissible heuristic and u the cost of a known plan, where there is one. With a cap the
base is min(base(s), cap l(s)) (cap.py). Ranking losses (Chrestien et al. 2023) compare h of the
states on a plan with that of states beside it:

    l-gbfs   mean softplus(h(better) - h(worse))
    l-star   mean softplus(g(better) + h(better) - g(worse) - h(worse))
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from hstar.objectives.distributions import Gaussian, TruncatedGaussian

LOSSES = ("gaussian", "truncated-gaussian", "l-gbfs", "l-star")
RANKING = ("l-gbfs", "l-star")
BASES = ("none", "ff", "lmcut", "hmax", "hadd", "goalcount")
LOWER_BOUNDS = ("lmcut", "hmax", "blind", "none")

# The paper says 1/sqrt(2); its runs used sqrt(2). For a Gaussian both give squared errors.
FIXED_SIGMA = math.sqrt(2)
LEAST_SIGMA, SIGMA_RANGE = 0.1, 10.0


@dataclass(frozen=True, slots=True)
class Objective:
    """Which loss, of what. `sigma` is a constant, or None where the network learns it; `cap` says
    how many times the lower bound the base may be, None that it may be anything."""

    loss: str = "truncated-gaussian"
    sigma: float | None = None
    base: str = "ff"
    lower: str = "lmcut"
    epsilon: float = 0.1
    cap: float | None = None

    def __post_init__(self) -> None:
        for value, known, what in (
            (self.loss, LOSSES, "loss"),
            (self.base, BASES, "base"),
            (self.lower, LOWER_BOUNDS, "lower bound"),
        ):
            if value not in known:
                raise ValueError(f"unknown {what} '{value}'; choose one of {', '.join(known)}")
        if self.sigma is not None and not 0 < self.sigma < math.inf:
            raise ValueError(f"sigma must be positive and finite, not {self.sigma}")
        if not 0 < self.epsilon < math.inf:
            raise ValueError(f"epsilon must be positive and finite, not {self.epsilon}")
        if self.cap is not None and not 1 <= self.cap < math.inf:
            raise ValueError(f"a cap must be finite and at least 1, not {self.cap}")
        if self.cap is not None and not self.can_be_capped:
            raise ValueError(
                "a cap takes a base, a lower bound other than blind, and a distribution of h*; "
                "change these or leave out the cap"
            )

    @staticmethod
    def from_dict(fields: dict[str, Any]) -> Objective:
        return Objective(**fields)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def outputs(self) -> int:
        """How many numbers the network gives per state."""
        return 1 if self.sigma is not None or self.loss in RANKING else 2

    @property
    def can_be_capped(self) -> bool:
        """Whether there is a base, and a bound that tells how far from the goal a state is."""
        bounded = self.lower not in ("none", "blind")
        return self.base != "none" and bounded and self.loss not in RANKING

    @property
    def decode(self) -> str:
        """How search turns outputs into a heuristic value unless told otherwise."""
        if self.loss in RANKING:
            return "value"
        return "mean" if self.loss == "gaussian" else "truncated-mean"


@dataclass(frozen=True, slots=True)
class Targets:
    """Columns of a batch, float[B] each. `base` is capped already, if it is to be; `upper` is
    infinite where no plan is known; `weight` makes up for sampling some states more often."""

    h_star: Tensor
    base: Tensor
    lower: Tensor
    upper: Tensor
    weight: Tensor


def location_and_scale(
    outputs: Tensor, base: Tensor, objective: Objective
) -> tuple[Tensor, Tensor]:
    """mu and sigma, float[B] each, from the outputs float[B, K]."""
    mu = outputs[:, 0] + base
    if objective.sigma is not None:
        return mu, torch.full_like(mu, objective.sigma)
    return mu, LEAST_SIGMA + SIGMA_RANGE * torch.sigmoid(outputs[:, 1])


def negative_log_likelihood(outputs: Tensor, targets: Targets, objective: Objective) -> Tensor:
    """float[B]"""
    mu, sigma = location_and_scale(outputs, targets.base, objective)
    if objective.loss == "gaussian":
        return -Gaussian(mu, sigma).log_prob(targets.h_star)
    return -_truncated(mu, sigma, targets, objective).log_prob(targets.h_star)


def decoded(outputs: Tensor, targets: Targets, objective: Objective, decode: str) -> Tensor:
    """The heuristic values float[B] that search would use."""
    if objective.loss in RANKING:
        return outputs[:, 0] + targets.base
    mu, sigma = location_and_scale(outputs, targets.base, objective)
    if decode == "clip":
        return torch.minimum(torch.maximum(mu, targets.lower), targets.upper)
    if decode == "truncated-mean":
        return _truncated(mu, sigma, targets, objective).mean
    return mu


def _truncated(
    mu: Tensor, sigma: Tensor, targets: Targets, objective: Objective
) -> TruncatedGaussian:
    epsilon = objective.epsilon
    return TruncatedGaussian(
        mu, sigma, targets.lower - epsilon, targets.upper + epsilon, validate=False
    )


@dataclass(frozen=True, slots=True)
class Pairs:
    """State numbers int64[P] of which the first ought to be better, and g of every state."""

    better: Tensor
    worse: Tensor
    g: Tensor


def ranking_loss(h: Tensor, pairs: Pairs, kind: str) -> Tensor:
    """The mean over pairs, given h of every state."""
    value = h + pairs.g if kind == "l-star" else h
    return torch.nn.functional.softplus(value[pairs.better] - value[pairs.worse]).mean()

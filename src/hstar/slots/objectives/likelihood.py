"""Distributions of h* given a state (Núñez-Molina et al. 2024).

    mu = output 0 + base(s),  sigma = least + range sigmoid(output 1)  or a constant
    gaussian             -log N(h* | mu, sigma)
    truncated-gaussian   -log TN(h* | mu, sigma, l - epsilon, u + epsilon)

with l an admissible heuristic and u the cost of a known plan, where there is one. Where a plan is
all that is known of h*, it is censored: h* lies in [l, u], and the Gaussian's mass there counts,

    truncated-gaussian   -log P(l - epsilon <= X <= u + epsilon),  X ~ N(mu, sigma)

Not the mass of the Gaussian cut at l, which is 1 for any mu far below l. A learned sigma would
fall until all mu within the bounds were alike, so there it follows mu, and mu is fitted with the
fixed sigma. With a cap the base is min(base(s), cap l(s)) (cap.py).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from hstar.slots.objectives.objective import (
    BASES,
    LOWER_BOUNDS,
    Objective,
    Targets,
    check_heuristic,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

# The paper says 1/sqrt(2); its runs used sqrt(2). For a Gaussian both give squared errors.
FIXED_SIGMA = math.sqrt(2)
LEAST_SIGMA, SIGMA_RANGE = 0.1, 10.0
HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True)
class Gaussian(Objective):
    """`sigma` is a constant, or None where the model learns it. The base is at most `cap` times the
    lower bound: a number, "fit" for the best one on the training labels, or None for no cap."""

    name: ClassVar[str] = "gaussian"
    form: ClassVar[str] = "location-scale"
    score: ClassVar[str] = "mse"
    decodes: ClassVar[tuple[str, ...]] = ("mean", "clip", "truncated-mean", "location-quantile")

    sigma: float | None = None
    base: str = "ff"
    lower: str = "lmcut"
    epsilon: float = 0.1
    cap: float | str | None = "fit"

    def __post_init__(self) -> None:
        check_heuristic("base", self.base, BASES)
        check_heuristic("lower bound", self.lower, LOWER_BOUNDS)
        for number, what in ((self.sigma, "sigma"), (self.epsilon, "epsilon")):
            if number is not None and not 0 < number < math.inf:
                raise ValueError(f"{what} must be positive and finite, not {number}")
        if self.cap in (None, "fit"):
            return
        if not isinstance(self.cap, (int, float)) or not 1 <= self.cap < math.inf:
            raise ValueError(f"a cap must be finite and at least 1, not {self.cap}")
        if not self.can_be_capped:
            raise ValueError(
                "a cap takes a base and a lower bound other than blind; "
                "change these or leave out the cap"
            )

    @property
    def outputs(self) -> int:
        return 1 if self.sigma is not None else 2

    @property
    def can_be_capped(self) -> bool:
        """Whether there is a base, and a bound that tells how far from the goal a state is."""
        return self.base != "none" and self.lower not in ("none", "blind")

    def fitted(self, columns: dict[str, NDArray[np.float32]]) -> Gaussian:
        """Without a cap, unless one is given: it would make search compute the bound for every
        state, which a plain Gaussian does not need."""
        return replace(self, cap=None) if self.cap == "fit" else self

    def loss(self, outputs: Tensor, targets: Targets) -> Tensor:
        mu, sigma = location_and_scale(outputs, targets["base"], self.constants())
        return -gaussian_log_prob(targets["h_star"], mu, sigma)

    def constants(self) -> dict[str, Any]:
        cap = None if self.cap == "fit" else self.cap
        fixed = {"least_sigma": LEAST_SIGMA, "sigma_range": SIGMA_RANGE}
        return {**asdict(self), "cap": cap, **fixed}


@dataclass(frozen=True)
class TruncatedGaussian(Gaussian):
    """A Gaussian cut to what the bounds allow."""

    name: ClassVar[str] = "truncated-gaussian"
    fits: ClassVar[tuple[str, ...]] = ("torch", "mlp")
    decodes: ClassVar[tuple[str, ...]] = ("truncated-mean", "clip", "mean", "location-quantile")
    takes_bounds: ClassVar[bool] = True

    def fitted(self, columns: dict[str, NDArray[np.float32]]) -> Gaussian:
        """With the cap that the labels ask for, if they do: search computes the bound anyway."""
        if self.cap != "fit" or not self.can_be_capped:
            return super().fitted(columns)
        import numpy as np

        from hstar.slots.objectives.cap import fitted_cap

        is_bound = np.asarray(columns.get("is_bound", np.zeros_like(columns["base"])), bool)
        exact = (columns[name][~is_bound] for name in ("base", "lower", "h_star"))
        return replace(self, cap=fitted_cap(*exact))

    def loss(self, outputs: Tensor, targets: Targets) -> Tensor:
        import torch

        from hstar.slots.objectives.truncated_normal import TruncatedNormal

        mu, sigma = location_and_scale(outputs, targets["base"], self.constants())
        # A label may equal its bounds: an admissible heuristic is often exact.
        lower, upper = targets["lower"] - self.epsilon, targets["upper"] + self.epsilon
        found = TruncatedNormal(mu, sigma, lower, upper).log_prob(targets["h_star"])
        if "is_bound" in targets:
            scale = torch.full_like(sigma, self.sigma or FIXED_SIGMA)
            censored = TruncatedNormal(mu, scale, lower, upper).log_mass
            if self.sigma is None:
                follows = TruncatedNormal(mu.detach(), sigma, lower, upper)
                censored = censored + follows.log_mass
            found = torch.where(targets["is_bound"], censored, found)
        return -found


def gaussian_log_prob(x: Tensor, mu: Tensor, sigma: Tensor) -> Tensor:
    """log N(x | mu, sigma), element by element."""
    z = (x - mu) / sigma
    return -0.5 * z.square() - sigma.log() - HALF_LOG_TWO_PI


def location_and_scale(outputs: Tensor, base: Tensor, constants: Any) -> tuple[Tensor, Tensor]:
    """mu and sigma, float[B] each, from the outputs float[B, K]."""
    mu = outputs[:, 0] + base
    if constants["sigma"] is not None:
        return mu, mu.new_full(mu.shape, constants["sigma"])
    least, width = constants["least_sigma"], constants["sigma_range"]
    return mu, least + width * outputs[:, 1].sigmoid()

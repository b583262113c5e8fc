"""The Gaussian: what a model predicts when no bound on the cost-to-go is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
broadcast: Callable[..., tuple[Tensor, ...]] = torch.broadcast_tensors  # untyped in torch


class Gaussian:
    """N(mu, sigma^2), element by element over broadcast tensors; differentiable in mu, sigma and x.
    mu, sigma: floating-point tensors, sigma > 0. Results have their broadcast shape and dtype."""

    def __init__(self, mu: Tensor, sigma: Tensor) -> None:
        self.mu, self.sigma = broadcast(mu, sigma)

    @property
    def mean(self) -> Tensor:
        return self.mu

    @property
    def variance(self) -> Tensor:
        return self.sigma.square()

    def log_prob(self, x: Tensor) -> Tensor:
        z = (x - self.mu) / self.sigma
        return -0.5 * z.square() - torch.log(self.sigma) - HALF_LOG_TWO_PI

    def quantile(self, p: Tensor) -> Tensor:
        """The x with P(X <= x) = p; p in [0, 1] broadcasts against mu. Infinite at 0 and 1."""
        x: Tensor = self.mu + self.sigma * torch.special.ndtri(p)
        return x

    def sample(
        self, shape: tuple[int, ...] = (), generator: torch.Generator | None = None
    ) -> Tensor:
        """Independent draws of shape ``shape + mu.shape``, without gradients."""
        with torch.no_grad():
            noise = self.mu.new_empty((*shape, *self.mu.shape)).normal_(generator=generator)
            return self.mu + self.sigma * noise

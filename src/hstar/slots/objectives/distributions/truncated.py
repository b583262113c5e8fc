"""The Gaussian cut to an interval: a prediction that knows bounds on the cost-to-go.

Learning with it is the idea of "On Using Admissible Bounds for Learning Forward Search Heuristics"
(Núñez-Molina, Asai, Mesejo and Fernández-Olivares): of all distributions on [lower, upper] with a
given mean and variance it assumes least. moments.py says how it is computed.

Accuracy. For |mu| <= 1e4, 1e-3 <= sigma <= 1e3, intervals from 1e-6 wide to infinite, and x
anywhere inside, the bounds included, nothing is NaN or infinite. Against the exact values at the
given inputs the errors of

    log p, E[x], dlog p / dmu, dlog p / dsigma

are at most 1e-5 (float32) or 1e-9 (float64) of the value itself. Two allowances: a value below the
smallest normal number of its dtype is measured by that number; and the four quantities that pass
through zero are measured by at least a hundred-thousandth of their natural size, because close
enough to the zero no digit is left. The natural size is 1 for log p, |mu| (moved into the interval)
for E[x], s / sigma^2 for dlog p / dmu and s (|x - mu| + s) / sigma^3 for dlog p / dsigma,
where s is the standard deviation of x.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hstar.slots.objectives.distributions.moments import Moments, add_exactly, moments

Bound = Tensor | float
broadcast: Callable[..., tuple[Tensor, ...]] = torch.broadcast_tensors  # untyped in torch


def tensor_like(model: Tensor, value: Bound) -> Tensor:
    """The value as a tensor of the model's dtype and device; numbers do not wait for the device."""
    if isinstance(value, Tensor):
        return value.to(dtype=model.dtype, device=model.device)
    return torch.full((), value, dtype=model.dtype, device=model.device)


class TruncatedNormal:
    """N(mu, sigma^2) cut to [lower, upper], element by element over broadcast tensors.

    mu, sigma: floating-point tensors, finite, sigma > 0. lower, upper: tensors or numbers with
    lower < upper; either may be infinite, and with both infinite this is the plain Gaussian. All
    are converted to the dtype of mu, x too: rounding keeps order, so an x within its bounds stays
    within them. Results have that dtype; the arithmetic inside is float64 on the device of mu.
    Parameters that break these rules give arbitrary results: a GPU would have to be waited for to
    check them.

    log_prob is differentiable in mu and sigma, once; x and the bounds are constants.
    """

    def __init__(
        self, mu: Tensor, sigma: Tensor, lower: Bound = -math.inf, upper: Bound = math.inf
    ) -> None:
        values = (tensor_like(mu, value) for value in (mu, sigma, lower, upper))
        self.mu, self.sigma, self.lower, self.upper = broadcast(*values)

    @property
    def mean(self) -> Tensor:
        """E[x], never outside [lower, upper]; without gradient."""
        m = self.moments
        mean = (m.origin + (m.origin_low + m.sigma * m.first)).to(self.mu.dtype)
        return torch.minimum(torch.maximum(mean, self.lower), self.upper)

    def log_prob(self, x: Bound) -> Tensor:
        """log p(x), in the shape that x and the parameters broadcast to. Outside [lower, upper] and
        at infinity it is -inf and its gradients are 0: whoever trains on labels that may break
        their bounds has to check them first."""
        values, mu, sigma = broadcast(tensor_like(self.mu, x), self.mu, self.sigma)
        inside = (values >= self.lower) & (values <= self.upper) & (values.abs() < math.inf)
        return _log_prob(values, mu, sigma, inside, self.moments)

    @functools.cached_property
    def moments(self) -> Moments:
        with torch.no_grad():
            given = (self.mu, self.sigma, self.lower, self.upper)
            return moments(*(x.double() for x in given))


class _LogProb(torch.autograd.Function):
    """log p(x) and its slopes. All tensors have one shape, or one that broadcasts to it in m."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, mu: Tensor, sigma: Tensor, inside: Tensor, m: Moments
    ) -> Tensor:
        # Outside, x is moved to the origin, where all is finite, and slopes are multiplied by 0.
        from_origin, rest = add_exactly(torch.where(inside, x.double(), m.origin), -m.origin)
        rest = rest - m.origin_low
        e = (from_origin + rest) / m.sigma
        from_mean = e - m.first
        # e^2 - E[e^2] is (e - root) (e + root) - second, where each factor is rounded once.
        step = m.root * m.sigma
        square = ((from_origin - step) + rest) * ((from_origin + step) + rest) / m.sigma.square()
        scale = inside / m.sigma
        by_mu = from_mean * scale
        by_sigma = (2.0 * m.kappa * from_mean + (square - m.second)) * scale
        ctx.save_for_backward(by_mu.to(x.dtype), by_sigma.to(x.dtype))
        log_prob = -e * (m.kappa + 0.5 * e) - m.log_mass
        return log_prob.masked_fill(~inside, -math.inf).to(x.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        by_mu, by_sigma = ctx.saved_tensors
        return None, gradient * by_mu, gradient * by_sigma, None, None


_log_prob: Callable[..., Tensor] = _LogProb.apply  # torch does not type it

"""Quantiles of a Gaussian cut to an interval, accurate wherever the interval lies.

Seen from the near bound, t = |x - bound| / sigma has the density exp(-a t - t^2 / 2) on [0, D], and
q = P(T <= t) is given. The three cases are those of `hstar.slots.objectives.distributions.moments`:

interior  Phi(e) = Phi(a) + q Z, inverted from the side on which the probability is small.
tail      The one-sided survival function is exp(-g(t)), g(t) = a t + t^2 / 2 + log(R(a) / R(a + t))
          with Mills' ratio R. The slope of g, the hazard rate, increases, so g is convex, and
          Newton's method started above the root descends to it. Both a t + t^2 / 2 <= g(t) and
          t / R(a) <= g(t) give a start above.
narrow    Newton's method on the integral itself, from the quantile of the density exp(-A t),
          which differs from the true one by at most a factor exp(1/2).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import torch
from torch import Tensor

from hstar.slots.objectives.distributions.moments import (
    FAR,
    NARROW_RULE,
    SQRT_HALF,
    Interval,
    rule_on,
)

TAIL_STEPS = 8  # of Newton's method; the worst start needs 6
NARROW_STEPS = 6  # the worst start needs 5
SQRT_HALF_PI = math.sqrt(0.5 * math.pi)


def quantile(interval: Interval, p: Tensor) -> Tensor:
    """The x with P(X <= x) = p, float64. p in [0, 1], float64, and the interval broadcast."""
    shape = (p + interval.mu).shape
    p = p.expand(shape)
    everywhere = select(interval, lambda field: field.expand(shape))
    narrow, tail = everywhere.narrow, everywhere.tail
    x = torch.empty_like(p)
    for inverse, chosen in (
        (narrow_quantile, narrow),
        (tail_quantile, tail),
        (interior_quantile, ~(narrow | tail)),
    ):
        here = select(everywhere, lambda field, chosen=chosen: field[chosen])  # type: ignore[misc]
        below = p[chosen]
        above = 1.0 - below
        mirrored = here.sign < 0
        q, r = torch.where(mirrored, above, below), torch.where(mirrored, below, above)
        x[chosen] = inverse(here, q, r)
    return x


def select(interval: Interval, choose: Callable[[Tensor], Tensor]) -> Interval:
    fields = dataclasses.fields(interval)
    return Interval(**{field.name: choose(getattr(interval, field.name)) for field in fields})


def mills_ratio(x: Tensor) -> Tensor:
    """(1 - Phi(x)) / phi(x)."""
    ratio: Tensor = SQRT_HALF_PI * torch.special.erfcx(SQRT_HALF * x)
    return ratio


# Each of the next three functions returns x, given the probability q from the near bound to x and
# the rest r = 1 - q, which may be too small to be seen in q.


def tail_quantile(interval: Interval, q: Tensor, r: Tensor) -> Tensor:
    a, width = interval.a, 2.0 * interval.half_width
    ratio = mills_ratio(a)

    def g(t: Tensor) -> Tensor:
        return t * (a + 0.5 * t) + torch.log(ratio / mills_ratio(a + t))

    # g(t) = y, where exp(-y) = r + q exp(-g(D)).
    end = g(width)
    y = torch.where(
        q < 0.5, -torch.log1p(q * torch.expm1(-end)), -torch.log(r + q * torch.exp(-end))
    )
    t = torch.minimum(2.0 * y / (a + torch.sqrt(a * a + 2.0 * y)), y * ratio)
    for _ in range(TAIL_STEPS):
        t = (t - (g(t) - y) * mills_ratio(a + t)).clamp(min=0.0)
    return interval.near + interval.sign * interval.sigma * torch.minimum(t, width)


def narrow_quantile(interval: Interval, q: Tensor, r: Tensor) -> Tensor:
    u, weight = rule_on(NARROW_RULE, interval.mu.device)
    a, width, tilt = interval.a, 2.0 * interval.half_width, interval.tilt

    def area(t: Tensor) -> Tensor:
        s = t.unsqueeze(-1) * u  # (..., nodes)
        return t * (torch.exp(-s * (a.unsqueeze(-1) + 0.5 * s)) @ weight)

    goal = q * area(width)
    fall = tilt * width
    tilted = -torch.log1p(q * torch.expm1(-fall)) / tilt
    t = torch.where(fall > 1e-6, tilted, q * width)
    for _ in range(NARROW_STEPS):
        t = t - (area(t) - goal) * torch.exp(t * (a + 0.5 * t))
        t = torch.minimum(t.clamp(min=0.0), width)
    return interval.near + interval.sign * interval.sigma * t


def interior_quantile(interval: Interval, q: Tensor, r: Tensor) -> Tensor:
    a, b = interval.a.clamp(min=-FAR), interval.b.clamp(max=FAR)
    below = 0.5 * torch.erfc(-SQRT_HALF * a)  # Phi(a)
    above = 0.5 * torch.erfc(SQRT_HALF * b)  # 1 - Phi(b)
    z = 0.5 * (torch.erf(SQRT_HALF * b) - torch.erf(SQRT_HALF * a))
    left = below + q * z
    right = above + r * z
    e = torch.where(left < right, torch.special.ndtri(left), -torch.special.ndtri(right))
    return interval.mu + interval.sign * interval.sigma * e

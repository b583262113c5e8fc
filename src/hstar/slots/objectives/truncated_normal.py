"""The Gaussian cut to an interval: a prediction that knows bounds on the cost-to-go.

Learning with it is the idea of "On Using Admissible Bounds for Learning Forward Search Heuristics"
(Núñez-Molina, Asai, Mesejo and Fernández-Olivares): of all distributions on [lower, upper] with a
given mean and variance it assumes least.

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

The textbook formulas of the moments divide differences of phi and Phi. They lose every digit when
the interval is narrow or lies in the tail, and give NaN for infinite bounds. Networks drive mu far
below the bound (15 sigma is routine) and two bounds may nearly touch, so training meets all of it.
So everything here is seen from an origin o: with e = (x - o) / sigma and kappa = (o - mu) / sigma
the density of e is exp(-kappa e - e^2 / 2) / mass, and for any origin

    log p(x)        = -e (kappa + e / 2) - log(sigma mass)
    dlog p / dmu    = (e - E[e]) / sigma
    dlog p / dsigma = (2 kappa (e - E[e]) + e^2 - E[e^2]) / sigma
    E[x]            = o + sigma E[e]

What differs is which origin keeps these free of cancellation. Let h be half the width of the
interval and A the distance of its middle from mu, both in units of sigma.

narrow    h <= 1 and |A| h <= 1: the density is nearly flat. Origin: the middle of the interval.
          Pairing e with -e turns the odd moments into integrals of e sinh(A e) exp(-e^2 / 2),
          whose integrands keep their sign: E[e] is exact even where it is 1e-20 of the width.
tail      otherwise, if mu is a quarter of sigma or more outside. Origin: the bound near mu, so
          that kappa > 0 and every moment of e >= 0 integrates a positive function.
interior  otherwise. Origin: mu. Closed forms with erf, in which the difference of the densities
          at the bounds is taken with expm1.

Integrals are Gauss-Legendre sums over the stretch where the integrand matters; the integrands are
entire and fall by at most exp(-43), so few nodes reach the last digits of float64.

All arithmetic is float64, whatever the parameters were: they are then exact, and a training batch
is only a few hundred numbers. Nothing here is recorded by autograd (the gradients are the formulas
above), so a branch that is not chosen may hold NaN without harm.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Bound = Tensor | float
broadcast: Callable[..., tuple[Tensor, ...]] = torch.broadcast_tensors  # untyped in torch
SQRT_HALF = math.sqrt(0.5)
SQRT_TWO_PI = math.sqrt(2.0 * math.pi)
TAIL_BEGINS = 0.25  # sigma outside the interval. At 0, E[e^2] = 1 and x = mu + sigma would cancel
TAIL_EXPONENT = 43.0  # integrals end where the density has fallen by exp(-43)
FAR = 40.0  # exp(-FAR^2 / 2) is 0 in float64: a bound that far from mu, in sigma, is no bound

# The lower half of the Gauss-Legendre rules with 10 and 24 nodes on [0, 1]: (node, weight). The
# first nodes are needed to more digits than numpy's rule on [-1, 1] has left when moved to [0, 1].
NARROW_RULE = (
    (0.01304673574141414, 0.03333567215434407),
    (0.06746831665550775, 0.0747256745752903),
    (0.1602952158504878, 0.10954318125799102),
    (0.2833023029353764, 0.13463335965499817),
    (0.4255628305091844, 0.14776211235737644),
)
TAIL_RULE = (
    (0.00240639000148932, 0.0061706148999936),
    (0.012635722014345251, 0.014265694314466832),
    (0.030862723998633622, 0.022138719408709904),
    (0.056792236497799485, 0.02964929245771839),
    (0.08999900701304854, 0.03667324070554015),
    (0.12993790421072282, 0.04309508076597664),
    (0.17595317403151223, 0.04880932605205694),
    (0.22728926430558022, 0.05372213505798282),
    (0.2831032461869774, 0.0577528340268628),
    (0.3424786601519183, 0.060835236463901696),
    (0.40444056626319186, 0.06291872817341415),
    (0.4679715535686972, 0.06396909767337608),
)
Rule = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Moments:
    """What the formulas at the top of this file need; float64 tensors of one shape."""

    sigma: Tensor
    origin: Tensor  # the origin is origin + origin_low
    origin_low: Tensor
    kappa: Tensor
    log_mass: Tensor  # log(sigma mass)
    first: Tensor  # E[e]
    root: Tensor  # E[e^2] = root^2 + second: root is 1 in the interior, where x = mu + sigma
    second: Tensor  # leaves only `second` of e^2 - E[e^2], and 0 elsewhere


@functools.cache
def rule_on(rule: Rule, device: torch.device) -> tuple[Tensor, Tensor]:
    """Nodes and weights of a symmetric rule on [0, 1], float64, shape (nodes,)."""
    nodes = [u for u, _ in rule] + [1.0 - u for u, _ in reversed(rule)]
    weights = [w for _, w in rule] + [w for _, w in reversed(rule)]
    return (
        torch.tensor(nodes, dtype=torch.float64, device=device),
        torch.tensor(weights, dtype=torch.float64, device=device),
    )


@functools.cache
def powers_on(rule: Rule, device: torch.device, *powers: int) -> Tensor:
    """Columns w u^k, shape (nodes, powers); values at the nodes @ columns are integrals."""
    nodes, weights = rule_on(rule, device)
    return torch.stack([weights * nodes**power for power in powers], -1)


def add_exactly(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """x + y as a rounded sum and its rounding error (Knuth's TwoSum)."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


# The next three functions return the mass, E[e] and E[e^2] - root^2 along a new first dimension, as
# if the lower bound were the near one.


def narrow_moments(h: Tensor, tilt: Tensor) -> Tensor:
    """About the middle. Instead of the mass it returns mass / (2 h) - 1, exact where that is tiny.

    With z = A e in [0, 1], up = exp(z) - 1 and down = 1 - exp(-z):
    sinh z = (up + down) / 2 and cosh z - 1 = up down / 2, without cancellation.
    """
    device = h.device
    u, _ = rule_on(NARROW_RULE, device)
    e = h.unsqueeze(-1) * u  # (..., nodes)
    up = torch.expm1(tilt.unsqueeze(-1) * e)
    down = up / (up + 1.0)
    bend = torch.expm1(-0.5 * e * e)
    half_density = 0.5 * bend + 0.5
    even = bend + half_density * (up * down)  # exp(-e^2 / 2) cosh z - 1
    odd = half_density * (up + down)  # exp(-e^2 / 2) sinh z
    flatness, square = (even @ powers_on(NARROW_RULE, device, 0, 2)).unbind(-1)
    (linear,) = (odd @ powers_on(NARROW_RULE, device, 1)).unbind(-1)
    h_by_total = h / (flatness + 1.0)
    return torch.stack((flatness, -h_by_total * linear, h * h_by_total * (square + 1.0 / 3.0)))


def tail_moments(h: Tensor, a: Tensor) -> Tensor:
    """About the near bound."""
    u, _ = rule_on(TAIL_RULE, h.device)
    columns = powers_on(TAIL_RULE, h.device, 0, 1)
    vanished = (2.0 * TAIL_EXPONENT) / (a + torch.sqrt(a * a + 2.0 * TAIL_EXPONENT))
    length = torch.minimum(2.0 * h, vanished)
    e = length.unsqueeze(-1) * u  # (..., nodes)
    density = torch.exp(-e * (a.unsqueeze(-1) + 0.5 * e))
    total, linear = (density @ columns).unbind(-1)
    first = linear / total  # in units of `length` up to here
    spread = density * (u - first.unsqueeze(-1)).square() @ columns[:, 0]
    first = length * first
    variance = length * length / total * spread
    return torch.stack((length * total, first, variance + first * first))


def interior_moments(h: Tensor, tilt: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """About mu.

    With p_a = phi(a) / Z and p_b alike, E[e] = p_a - p_b and E[e^2] = 1 + a p_a - b p_b.
    """
    bounds = torch.stack((a, b)).clamp(-FAR, FAR)
    a, b = bounds
    below_a, below_b = torch.erf(SQRT_HALF * bounds)
    mass = (0.5 * SQRT_TWO_PI) * (below_b - below_a)
    p_a, p_b = torch.exp(-0.5 * bounds.square()) / mass
    # (b^2 - a^2) / 2 = 2 A h, and A h is known better than either square.
    first = -p_a * torch.expm1(-2.0 * tilt * h)
    return torch.stack((mass, first, a * p_a - b * p_b))


def moments(mu: Tensor, sigma: Tensor, lower: Tensor, upper: Tensor) -> Moments:
    """Of float64 tensors of one shape: all three formulas for every element, then a choice, which
    is cheaper than sorting the elements.

    Distances are in units of sigma and mirrored where the upper bound is the nearer one, so that
    the near bound always lies below the far one: a <= b, |a| <= |b|. An infinite bound makes the
    width, h and the tilt |A| infinite.
    """
    total, total_low = add_exactly(lower, upper)
    width = upper - lower
    # The middle is middle + middle_low without rounding, because mu and x may agree with it to the
    # last digit. An infinite bound leaves NaN in the rounding error, two leave it in the total.
    middle, middle_low = 0.5 * total, (0.5 * total_low).nan_to_num(0.0)
    from_mu = ((middle - mu) + middle_low).nan_to_num(math.inf, math.inf, -math.inf)
    mirrored = from_mu < 0.0
    sign = 1.0 - 2.0 * mirrored.to(mu.dtype)
    below, above = lower - mu, upper - mu
    a = torch.where(mirrored, -above, below) / sigma  # from mu to the near bound
    b = torch.where(mirrored, -below, above) / sigma  # from mu to the far bound
    h = 0.5 * width / sigma
    tilt = from_mu.abs() / sigma
    narrow = (h <= 1.0) & (tilt * h <= 1.0)
    tail = (a >= TAIL_BEGINS) & ~narrow

    def choose(if_narrow: Tensor, if_tail: Tensor, if_interior: Tensor) -> Tensor:
        return torch.where(narrow, if_narrow, torch.where(tail, if_tail, if_interior))

    mass, first, second = choose(
        narrow_moments(h, tilt), tail_moments(h, a), interior_moments(h, tilt, a, b)
    )
    zero = torch.zeros_like(mass)
    return Moments(
        sigma=sigma,
        origin=choose(middle, torch.where(mirrored, upper, lower), mu),
        origin_low=torch.where(narrow, middle_low, zero),
        kappa=choose(tilt, a, zero) * sign,
        log_mass=torch.log(torch.where(narrow, width, mass * sigma))
        + torch.log1p(torch.where(narrow, mass, zero)),
        first=first * sign,
        root=(~(narrow | tail)).to(zero.dtype),
        second=second,
    )


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

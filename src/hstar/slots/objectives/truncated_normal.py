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
So everything here is seen from the mode o, which is mu moved into the interval: with
e = (x - o) / sigma and kappa = (o - mu) / sigma the density of e is exp(-kappa e - e^2 / 2) / mass,
and

    log p(x)        = -e (kappa + e / 2) - log(sigma mass)
    dlog p / dmu    = (e - E[e]) / sigma
    dlog p / dsigma = (2 kappa (e - E[e]) + e^2 - E[e^2]) / sigma
    E[x]            = o + sigma E[e]

The density falls from the mode to both sides; if mu lies outside the interval, one side is empty.
The moments of each side are integrals of positive functions, which nothing cancels in. Only E[e]
is the difference of the two sides. Where both are there, kappa is 0, and it has a closed form:

    mass E[e] = sign(A) exp(-m^2 / 2) (1 - exp(-A w))

with w the width of the interval, A the distance of its middle from mu and m that of the nearer
bound, all in units of sigma.

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

import torch
from torch import Tensor

from hstar.slots.objectives.likelihood import HALF_LOG_TWO_PI

Bound = Tensor | float
broadcast: Callable[..., tuple[Tensor, ...]] = torch.broadcast_tensors  # untyped in torch
NEAR, NEWTON_STEPS = 5.0, 6
LARGEST_FALL = 43.0  # integrals end where the density has fallen by exp(-43)

# The lower half of the Gauss-Legendre rule with 24 nodes on [0, 1]: (node, weight). The first
# nodes are needed to more digits than numpy's rule on [-1, 1] has left when moved to [0, 1].
RULE = (
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


@dataclass(frozen=True)
class Moments:
    """What the formulas at the top of this file need; float64 tensors of one shape."""

    sigma: Tensor
    origin: Tensor
    kappa: Tensor
    log_mass: Tensor  # log(sigma mass)
    first: Tensor  # E[e]
    second: Tensor  # E[e^2]


@functools.cache
def rule_on(device: torch.device) -> tuple[Tensor, Tensor]:
    """Nodes u (nodes,) of a rule on [0, 1], and with the weights w the columns w, w u and w u^2:
    values at the nodes @ columns are integrals."""
    nodes = [u for u, _ in RULE] + [1.0 - u for u, _ in reversed(RULE)]
    weights = [w for _, w in RULE] + [w for _, w in reversed(RULE)]
    u, w = (torch.tensor(one, dtype=torch.float64, device=device) for one in (nodes, weights))
    return u, torch.stack((w, w * u, w * u * u), -1)


def moments(mu: Tensor, sigma: Tensor, lower: Tensor, upper: Tensor) -> Moments:
    """Of float64 tensors of one shape."""
    origin = mu.clamp(lower, upper)
    kappa = (origin - mu) / sigma
    # From the mode upwards and downwards, (2, ...): how far, and how the density begins to fall.
    far = torch.stack((upper - origin, origin - lower)) / sigma
    slope = torch.stack((kappa, -kappa)).clamp(min=0.0)
    vanished = 2.0 * LARGEST_FALL / (slope + (slope * slope + 2.0 * LARGEST_FALL).sqrt())
    length = torch.minimum(far, vanished)
    u, columns = rule_on(mu.device)
    e = length.unsqueeze(-1) * u  # (2, ..., nodes)
    density = torch.exp(-e * (slope.unsqueeze(-1) + 0.5 * e))
    powers = torch.stack((length, length.square(), length * length.square()), -1)
    integrals = density @ columns * powers  # (2, ..., 3)
    mass, square = integrals[..., 0].sum(dim=0), integrals[..., 2].sum(dim=0)
    one_sided = integrals[0, ..., 1] - integrals[1, ..., 1]
    first = torch.where(kappa == 0.0, _difference(mu, sigma, lower, upper), one_sided) / mass
    return Moments(sigma, origin, kappa, torch.log(sigma * mass), first, square / mass)


def _difference(mu: Tensor, sigma: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    """mass E[e] where mu lies inside. Without a bound its term is 0."""
    # The middle is half of total + rest without rounding (Knuth's TwoSum), because mu may agree
    # with it to the last digit. Infinite bounds leave NaN in the rest, two leave it in the total.
    total = lower + upper
    part = total - lower
    rest = ((lower - (total - part)) + (upper - part)).nan_to_num(0.0)
    middle = ((0.5 * total - mu) + 0.5 * rest).nan_to_num(math.inf, math.inf, -math.inf) / sigma
    width, near = (upper - lower) / sigma, torch.minimum(upper - mu, mu - lower) / sigma
    return -middle.sign() * torch.exp(-0.5 * near * near) * torch.expm1(-middle.abs() * width)


def upper_quantile(cut: Tensor, tau: float) -> Tensor:
    """x with P(Z >= x | Z >= cut) = tau, Z standard normal; a cut may be -infinity. Newton's method
    on the logarithm of the tail, which is concave."""
    a = cut.double()
    wanted = torch.special.log_ndtr(-a) + math.log(tau)
    far = a - math.log(tau) / a.clamp(min=1.0)  # there the tail falls like exp(-a x)
    x = torch.where(a > NEAR, far, -torch.special.ndtri(wanted.exp()))
    for _ in range(NEWTON_STEPS):
        log_tail = torch.special.log_ndtr(-x)
        hazard = torch.exp(-0.5 * x * x - HALF_LOG_TWO_PI - log_tail)
        x = x + (log_tail - wanted) / hazard
    return torch.maximum(x, a).to(cut.dtype)


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

    log_prob and log_mass are differentiable in mu and sigma, once; x and the bounds are constants.
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
        mean = (m.origin + m.sigma * m.first).to(self.mu.dtype)
        return mean.clamp(self.lower, self.upper)

    def log_prob(self, x: Bound) -> Tensor:
        """log p(x), in the shape that x and the parameters broadcast to. Outside [lower, upper] and
        at infinity it is -inf and its gradients are 0: whoever trains on labels that may break
        their bounds has to check them first."""
        values, mu, sigma = broadcast(tensor_like(self.mu, x), self.mu, self.sigma)
        with torch.no_grad():
            m = self.moments
            inside = (values >= self.lower) & (values <= self.upper) & (values.abs() < math.inf)
            # Outside, x moves to the origin, where all is finite, and slopes are multiplied by 0.
            e = (torch.where(inside, values.double(), m.origin) - m.origin) / m.sigma
            from_mean = e - m.first
            scale = inside / m.sigma
            by_mu = from_mean * scale
            by_sigma = (2.0 * m.kappa * from_mean + (e * e - m.second)) * scale
            log_prob = (-e * (m.kappa + 0.5 * e) - m.log_mass).masked_fill(~inside, -math.inf)
        return self._sloped(log_prob, by_mu, by_sigma, mu, sigma)

    @property
    def log_mass(self) -> Tensor:
        """log P(lower <= X <= upper) of the Gaussian that is cut; differentiable like log_prob."""
        with torch.no_grad():
            m = self.moments
            found = m.log_mass - m.sigma.log() - HALF_LOG_TWO_PI - 0.5 * m.kappa.square()
            by_mu = (m.kappa + m.first) / m.sigma
            by_sigma = (m.kappa.square() + 2.0 * m.kappa * m.first + m.second - 1.0) / m.sigma
        return self._sloped(found, by_mu, by_sigma, self.mu, self.sigma)

    def _sloped(self, value: Tensor, by_mu: Tensor, by_sigma: Tensor, *of: Tensor) -> Tensor:
        """A value with these slopes; those that autograd finds would lose digits."""
        value, by_mu, by_sigma = (one.to(self.mu.dtype) for one in (value, by_mu, by_sigma))
        mu, sigma = of
        # What is added is 0.
        return value + by_mu * (mu - mu.detach()) + by_sigma * (sigma - sigma.detach())

    @functools.cached_property
    def moments(self) -> Moments:
        with torch.no_grad():
            given = (self.mu, self.sigma, self.lower, self.upper)
            return moments(*(x.double() for x in given))

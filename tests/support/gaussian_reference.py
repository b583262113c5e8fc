"""A Gaussian cut to an interval, exactly: the textbook formulas with 120 digits.

The formulas cancel up to some sixty digits within the grid below; the rest is still far more than
the fifty-odd bits that are compared with it. Points are tuples (mu, sigma, lower, upper, x) of
numbers that are exact in the dtype under test, so that rounding of the inputs is no error.
"""

from __future__ import annotations

import functools
import math
import random
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mpmath
import torch
from program import SECONDS
from torch import Tensor

Point = tuple[float, float, float, float, float]

# The full grid: more than 10,000 points, and every trap we know of.
MUS = [0.0] + [s * m for m in (0.5, 1.0, 3.0, 10.0, 30.0, 100.0, 1e3, 1e4) for s in (1.0, -1.0)]
SIGMAS = [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3]
LOWERS = [-math.inf, -0.1, 4.9, 19.9]
NEAR_ZERO = 1e-5  # see Exact.scales
WIDTHS = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, math.inf]


@functools.cache
def context(digits: int) -> Any:
    """Our own, so that nobody else's precision changes."""
    mp = mpmath.MPContext()
    mp.dps = digits
    return mp


class Exact:
    """The exact distribution; attributes and results are mpmath numbers."""

    def __init__(
        self, mu: float, sigma: float, lower: float, upper: float, digits: int = 120
    ) -> None:
        self.mp = mp = context(digits)
        self.mu, self.sigma = mp.mpf(mu), mp.mpf(sigma)
        self.a = (mp.mpf(lower) - self.mu) / self.sigma
        self.b = (mp.mpf(upper) - self.mu) / self.sigma
        self.z = self._between(self.a, self.b)
        # Infinite bounds have density 0, and a factor that must not make NaN of it.
        a, b = (v if mp.isfinite(v) else mp.mpf(0) for v in (self.a, self.b))
        p, q = (self._density(v) / self.z for v in (self.a, self.b))
        r = p - q
        self.mean = self.mu + self.sigma * r
        self.second_less_1 = a * p - b * q  # E[((x - mu) / sigma)^2] - 1: may be 1e-200
        self.second = 1 + self.second_less_1
        self.variance = self.sigma**2 * (self.second - r * r)
        self.r = r

    def _density(self, z: Any) -> Any:
        if not self.mp.isfinite(z):
            return self.mp.mpf(0)
        return self.mp.exp(-z * z / 2) / self.mp.sqrt(2 * self.mp.pi)

    def _between(self, a: Any, b: Any) -> Any:
        """P(a < Z < b) of a standard Gaussian."""
        if a > 0:
            return (self._tail(a) - self._tail(b)) / 2
        if b < 0:
            return (self._tail(-b) - self._tail(-a)) / 2
        return 1 - (self._tail(-a) + self._tail(b)) / 2

    def _tail(self, z: Any) -> Any:
        return self.mp.erfc(z / self.mp.sqrt(2))

    def standard(self, x: float) -> Any:
        return (self.mp.mpf(x) - self.mu) / self.sigma

    def log_prob(self, x: float) -> Any:
        root = self.mp.sqrt(2 * self.mp.pi)
        return -(self.standard(x) ** 2) / 2 - self.mp.log(self.sigma * root * self.z)

    def log_prob_by_mu(self, x: float) -> Any:
        return (self.standard(x) - self.r) / self.sigma

    def log_prob_by_sigma(self, x: float) -> Any:
        z = self.standard(x)
        return ((z - 1) * (z + 1) - self.second_less_1) / self.sigma

    def quantities(self, x: float) -> dict[str, Any]:
        return {
            "log p": self.log_prob(x),
            "E": self.mean,
            "dlog p/dmu": self.log_prob_by_mu(x),
            "dlog p/dsigma": self.log_prob_by_sigma(x),
        }

    def scales(self, x: float, dtype: torch.dtype) -> dict[str, Any]:
        """What errors are measured by: the value itself, but never less than what follows.

        The smallest normal number of the dtype, and a hundred-thousandth of their natural size,
        since next to a zero there are no digits left to compare: 1 for log p, |mu| (moved into the
        interval) for E, and for the slopes of log p one standard deviation's worth of them.
        """
        mp, tiny = self.mp, self.mp.mpf(torch.finfo(dtype).tiny)
        deviation = mp.sqrt(self.variance)
        inside = self.mu + self.sigma * min(max(mp.mpf(0), self.a), self.b)
        natural = {
            "log p": mp.mpf(1),
            "E": abs(inside),
            "dlog p/dmu": deviation / self.sigma**2,
            "dlog p/dsigma": deviation * (abs(x - self.mu) + deviation) / self.sigma**3,
        }
        return {
            name: max(abs(value), NEAR_ZERO * natural[name], tiny)
            for name, value in self.quantities(x).items()
        }


QUANTITIES = list(Exact(0.0, 1.0, -1.0, 1.0).quantities(0.0))


def exact_at(points: list[Point]) -> Iterator[tuple[Exact, float]]:
    """The distribution and x of each point. Neighbours with the same interval share the work."""
    known: tuple[float, ...] | None = None
    exact = None
    for *parameters, x in points:
        if exact is None or known != tuple(parameters):
            known, exact = tuple(parameters), Exact(*parameters)
        yield exact, x


def grid(dtype: torch.dtype) -> list[Point]:
    """The product of the lists above with x at the bounds and inside, rounded to the dtype."""
    points = []
    for mu in MUS:
        for sigma in SIGMAS:
            for lower in LOWERS:
                for width in WIDTHS:
                    if lower == -math.inf:
                        upper = width
                        start = width if width < math.inf else mu
                        steps = (0.0, -0.1 * sigma, -sigma, -3.0 * sigma)
                    else:
                        upper, start = lower + width, lower
                        reach = width if width < math.inf else 4.0 * sigma
                        steps = (0.0, 0.1 * reach, 0.5 * reach, reach)
                    points += [(mu, sigma, lower, upper, start + step) for step in steps]
    return keep_valid(points, dtype)


def scattered(dtype: torch.dtype, count: int, seed: int) -> list[Point]:
    """Random points: every magnitude, x at or near the bounds, the middle, mu and mu +- sigma.

    Half of them lie where one formula hands over to the next: intervals about two sigma wide, mu a
    little inside or outside, the middle of the interval near mu.
    """
    draw = random.Random(seed)
    points: list[Point] = []
    while len(points) < count:
        mu = draw.choice([0.0, draw.uniform(-1, 1) * 10 ** draw.uniform(-8, 4)])
        sigma = 10 ** draw.uniform(-3, 3)
        if draw.random() < 0.5:
            a = draw.choice([-1, 1]) * 10 ** draw.uniform(-6, 1.6)
            width = 10 ** draw.uniform(-6, 3)
        else:
            a = draw.choice([0.0, 0.25, -1.0, -10.0]) + draw.choice([-1, 1]) * 10 ** draw.uniform(
                -9, -1
            )
            width = sigma * draw.choice([2.0, 1.0, 2.0 * abs(a), 2.0 / (abs(a) + 1)])
            width *= 1 + draw.choice([-1, 1]) * 10 ** draw.uniform(-9, -1)
        lower = mu + a * sigma
        upper = draw.choice([lower + width, lower + width, math.inf])
        reach = min(width, 4 * sigma)
        inside = [0.0, 1.0, 0.5, draw.random(), 10 ** draw.uniform(-9, 0)]
        x = draw.choice([lower + reach * draw.choice(inside), mu, mu + sigma, mu - sigma])
        if draw.random() < 0.5:
            mu, lower, upper, x = -mu, -upper, -lower, -x
        points += keep_valid([(mu, sigma, lower, upper, x)], dtype)
    return points


def keep_valid(points: list[Point], dtype: torch.dtype) -> list[Point]:
    """The points rounded to the dtype, without those that then are no interval or leave it."""
    rounded = torch.tensor(points, dtype=dtype).double().tolist()
    kept: list[Point] = []
    for mu, sigma, lower, upper, x in rounded:
        in_range = abs(mu) <= 1e4 and 9.9e-4 <= sigma <= 1.001e3 and upper - lower >= 4e-7
        if in_range and lower < upper and lower <= x <= upper and math.isfinite(x):
            kept.append((mu, sigma, lower, upper, x))
    return list(dict.fromkeys(kept))


def error(value: float, exact: Any, scale: Any) -> float:
    """|value - exact| / scale; inf if the value is not finite."""
    return float(abs(value - exact) / scale) if math.isfinite(value) else math.inf


def computed(
    make: Callable[[Tensor, Tensor, Tensor, Tensor], Any],
    points: list[Point],
    dtype: torch.dtype,
    device: str = "cpu",
) -> dict[str, list[float]]:
    """The quantities of a distribution ``make(mu, sigma, lower, upper)`` in torch, by backward."""
    columns = torch.tensor(points, dtype=dtype, device=device).unbind(-1)
    mu, sigma, lower, upper, x = (column.clone() for column in columns)
    mu.requires_grad_()
    sigma.requires_grad_()
    distribution = make(mu, sigma, lower, upper)
    log_prob, mean = distribution.log_prob(x), distribution.mean
    by_mu, by_sigma = torch.autograd.grad(log_prob.sum(), (mu, sigma), retain_graph=True)
    values = {"log p": log_prob, "E": mean, "dlog p/dmu": by_mu, "dlog p/dsigma": by_sigma}
    return {name: value.detach().double().cpu().tolist() for name, value in values.items()}


NATIVE = r"""
#include <cstdio>
#include "networks/truncated_gaussian.hpp"
int main() {
    double p[4];
    while (std::fread(p, sizeof(double), 4, stdin) == 4) {
        const double mean = hstar::truncated_gaussian_mean(p[0], p[1], p[2], p[3]);
        std::fwrite(&mean, sizeof(double), 1, stdout);
    }
}
"""


def compile_native(source: str, folder: Path) -> Path | None:
    """A program that includes headers of the core; None without a compiler."""
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        return None
    text, program = folder / "program.cpp", folder / "program"
    text.write_text(source)
    headers = Path(__file__).resolve().parents[2] / "cpp"
    options = ["-std=c++20", "-O3", "-Wall", "-Wextra", "-Werror", f"-I{headers}"]
    subprocess.run([compiler, *options, str(text), "-o", str(program)], check=True)
    return program


def native_means(program: Path, intervals: list[tuple[float, ...]]) -> list[float]:
    """The means by the header in C++, through ``compile_native(NATIVE, ...)``."""
    given = b"".join(struct.pack("4d", *interval) for interval in intervals)
    done = subprocess.run([program], input=given, capture_output=True, check=True, timeout=SECONDS)
    return list(struct.unpack(f"{len(intervals)}d", done.stdout))

"""How exact and how fast the truncated Gaussian is, next to the paper's own package.

    python benchmarks/truncated_gaussian.py [--points N]

prints Markdown tables: errors against 120-digit arithmetic on a grid of more than 20,000 points
per dtype (tests/gaussian_reference.py), the time of one training step's likelihood, and the time
of the native mean that search uses. stable-trunc-gaussian is measured too if it can be imported;
it knows no infinite bounds, so it is given -1e5 and 1e5 for them, as in the paper's experiments.
The whole takes about a minute.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import math
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
import gaussian_reference as reference
from gaussian_reference import QUANTITIES, Point, compile_native, error, exact_at

from hstar.slots.objectives.likelihood import gaussian_log_prob
from hstar.slots.objectives.truncated_normal import TruncatedNormal

PEER = "stable-trunc-gaussian"
BARS = {torch.float32: 1e-5, torch.float64: 1e-9}
FAR = 1e5  # the peer's infinity
BATCH = 256
HEADINGS = "max error | max plain relative error | over the bar | not finite | points"


class Unbounded:
    """The plain Gaussian of hstar."""

    def __init__(self, mu: Tensor, sigma: Tensor, lower: Tensor, upper: Tensor) -> None:
        self.mu, self.sigma = mu, sigma

    def log_prob(self, x: Tensor) -> Tensor:
        return gaussian_log_prob(x, self.mu, self.sigma)


def load_peer() -> Callable[[Tensor, Tensor, Tensor, Tensor], Any] | None:
    try:
        peer = importlib.import_module("stable_trunc_gaussian").TruncatedGaussian
    except ImportError:
        return None
    return lambda mu, sigma, lower, upper: peer(mu, sigma, lower.clamp(-FAR), upper.clamp(max=FAR))


@dataclass
class Errors:
    """Of one quantity over the points: by the documented scale, and by the value alone."""

    scaled: list[float] = field(default_factory=list)
    relative: list[float] = field(default_factory=list)

    def row(self, bar: float) -> str:
        finite = [value for value in self.scaled if value < math.inf]
        unbounded = len(self.scaled) - len(finite)
        over = sum(value > bar for value in self.scaled)
        largest = [
            max((v for v in values if v < math.inf), default=math.nan)
            for values in (self.scaled, self.relative)
        ]
        return f"{largest[0]:.1e} | {largest[1]:.1e} | {over} | {unbounded} | {len(self.scaled)}"


def measure_errors(points: list[Point], dtype: torch.dtype, makers: dict[str, Any]) -> None:
    values = {name: reference.computed(make, points, dtype) for name, make in makers.items()}
    found = {name: {quantity: Errors() for quantity in QUANTITIES} for name in makers}
    tiny = torch.finfo(dtype).tiny
    outside = dict.fromkeys(makers, 0)
    for i, (exact, x) in enumerate(exact_at(points)):
        scales = exact.scales(x, dtype)
        for quantity, true in exact.quantities(x).items():
            for name in makers:
                value = values[name][quantity][i]
                errors = found[name][quantity]
                errors.scaled.append(error(value, true, scales[quantity]))
                errors.relative.append(error(value, true, max(abs(true), tiny)))
        for name in makers:
            outside[name] += not points[i][2] <= values[name]["E"][i] <= points[i][3]
    bar = BARS[dtype]
    print(f"\n{str(dtype).removeprefix('torch.')}, bar {bar:.0e}\n")
    print(
        "| | quantity | max error | max plain relative error | over the bar | not finite | points |"
    )
    print("|---|---|---|---|---|---|---|")
    for name in makers:
        for quantity in QUANTITIES:
            print(f"| {name} | {quantity} | {found[name][quantity].row(bar)} |")
    for name in makers:
        print(f"\n{name}: E outside its bounds at {outside[name]} points.")


def measure_speed(makers: dict[str, Any]) -> None:
    """Likelihood and gradients of a batch as in training: one bound, mu on either side of it."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    mu = (10 * torch.randn(BATCH)).requires_grad_()
    sigma = (0.1 + 10 * torch.rand(BATCH)).requires_grad_()
    lower = 20 * torch.rand(BATCH) - 0.1
    upper = torch.full((BATCH,), math.inf)
    x = lower + 5 * torch.rand(BATCH)

    def step(make: Callable[..., Any]) -> None:
        mu.grad = sigma.grad = None
        (-make(mu, sigma, lower, upper).log_prob(x).mean()).backward()

    best = dict.fromkeys(makers, math.inf)
    for _ in range(100):  # in turns, so that all see the same machine
        for name, make in makers.items():
            begin = time.perf_counter()
            for _ in range(10):
                step(make)
            best[name] = min(best[name], (time.perf_counter() - begin) / 10)
    print(f"\n| forward and backward of log p, float32, batch {BATCH}, 1 thread | ms |\n|---|---|")
    for name, seconds in best.items():
        print(f"| {name} | {1e3 * seconds:.2f} |")


NATIVE_SPEED = r"""
#include <chrono>
#include <cstdio>
#include <limits>
#include "networks/truncated_gaussian.hpp"

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr struct {
    const char* name;
    double mu, sigma, lower, upper;
} kCases[] = {
    {"mu just below a lower bound", 3, 1, 4.9, kInfinity},
    {"mu far below it", -100, 5, 4.9, kInfinity},
    {"mu just above it", 5.5, 1, 4.9, kInfinity},
    {"mu far above it", 20, 1, 4.9, kInfinity},
    {"mu inside two bounds", 10, 3, 4.9, 15},
    {"two bounds within sigma", 5, 10, 4.9, 6},
};

int main() {
    constexpr int kCalls = 100000;
    for (const auto& c : kCases) {
        double best = kInfinity, sum = 0;
        for (int round = 0; round < 20; ++round) {
            const auto begin = std::chrono::steady_clock::now();
            for (int i = 0; i < kCalls; ++i)
                sum += hstar::truncated_gaussian_mean(c.mu + 1e-9 * i, c.sigma, c.lower, c.upper);
            const auto end = std::chrono::steady_clock::now();
            const double spent = std::chrono::duration<double, std::nano>(end - begin).count();
            best = spent / kCalls < best ? spent / kCalls : best;
        }
        if (sum != 0) std::printf("| %s | %.0f |\n", c.name, best);
    }
}
"""


def measure_native(points: list[Point]) -> None:
    with tempfile.TemporaryDirectory() as name:
        program = compile_native(reference.NATIVE, Path(name))
        if program is None:
            print("\nNo C++ compiler: the native mean was not measured.")
            return
        errors = Errors()
        means = reference.native_means(program, [point[:4] for point in points])
        for mean, (exact, x) in zip(means, exact_at(points), strict=True):
            scale, size = exact.scales(x, torch.float64)["E"], abs(exact.mean)
            errors.scaled.append(error(mean, exact.mean, scale))
            errors.relative.append(error(mean, exact.mean, max(size, sys.float_info.min)))
        row = errors.row(BARS[torch.float64])
        print(f"\n| native, float64 | {HEADINGS} |\n|---|---|---|---|---|---|\n| E | {row} |")
        program = compile_native(NATIVE_SPEED, Path(name))
        assert program is not None
        done = subprocess.run([program], capture_output=True, text=True, check=True)
    print(f"\n| native mean, one call | ns |\n|---|---|\n{done.stdout}", end="")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--points", type=int, default=0, help="only so many per dtype, chosen at random"
    )
    options = parser.parse_args()
    peer = load_peer()
    makers: dict[str, Any] = {"hstar": TruncatedNormal}
    if peer is None:
        print(f"{PEER} is not installed: it is left out.", file=sys.stderr)
    else:
        makers[f"{PEER} {importlib.metadata.version(PEER)}"] = peer
    print(f"torch {torch.__version__}, Python {platform.python_version()}, {platform.machine()}")
    for dtype in BARS:
        points = reference.grid(dtype) + reference.scattered(dtype, 5000, seed=1)
        if options.points:
            points = random.Random(0).sample(points, min(options.points, len(points)))
        measure_errors(points, dtype, makers)
    measure_speed({**makers, "without bounds": Unbounded})
    measure_native(points)


if __name__ == "__main__":
    main()

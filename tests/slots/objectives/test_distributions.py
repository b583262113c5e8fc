"""Distributions against exact values, at every kind of parameter that training can produce.

benchmarks/truncated_gaussian.py does the same on the whole grid.
"""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="learning needs torch")
pytest.importorskip("mpmath", reason="exact values need mpmath, which comes with torch")

from gaussian_reference import (  # noqa: E402
    NATIVE,
    QUANTITIES,
    Exact,
    Point,
    compile_native,
    computed,
    error,
    exact_at,
    grid,
    native_means,
    scattered,
)
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from hstar.slots.objectives.likelihood import gaussian_log_prob  # noqa: E402
from hstar.slots.objectives.truncated_normal import TruncatedNormal, rule_on  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread_in_module")
DTYPES = [torch.float32, torch.float64]
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-9}
INFINITY = math.inf


def some_points(dtype: Any, from_grid: int, from_scatter: int) -> list[Point]:
    chosen = random.Random(7).sample(grid(dtype), from_grid)
    return chosen + scattered(dtype, from_scatter, seed=11)


def tensors(points: list[Point]) -> list[Any]:
    """mu, sigma, lower, upper and x as float64."""
    return list(torch.tensor(points, dtype=torch.float64).unbind(-1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_quantity_is_exact_to_the_dtype(dtype: Any) -> None:
    points = some_points(dtype, 900, 700)
    values = computed(TruncatedNormal, points, dtype)
    for i, (exact, x) in enumerate(exact_at(points)):
        scales = exact.scales(x, dtype)
        for name, true in exact.quantities(x).items():
            found = error(values[name][i], true, scales[name])
            assert found <= TOLERANCE[dtype], f"{name} at {points[i]}: {values[name][i]}, {found}"
        _, _, lower, upper, _ = points[i]
        assert lower <= values["E"][i] <= upper


def test_the_reference_has_digits_to_spare() -> None:
    for *parameters, x in some_points(torch.float64, 40, 40):
        exact = Exact(*parameters).quantities(x)
        better = Exact(*parameters, digits=250).quantities(x)
        for name in QUANTITIES:
            scale = max(abs(better[name]), better[name].context.mpf("1e-300"))
            assert abs(exact[name] - better[name]) <= scale * better[name].context.mpf("1e-50")


def test_the_mean_is_exact_as_a_distance_from_the_near_bound() -> None:
    """The tail's mean is the bound plus next to nothing, and that next to nothing counts."""
    points = [p for p in some_points(torch.float64, 300, 300) if max(map(abs, p[2:4])) < INFINITY]
    mu, sigma, lower, upper, _ = tensors(points)
    distribution = TruncatedNormal(mu, sigma, lower, upper)
    m = distribution.moments
    for i, (*parameters, _) in enumerate(points):
        exact = Exact(*parameters)
        near = min(map(float, (lower[i], upper[i])), key=lambda bound: abs(bound - float(mu[i])))
        origin = exact.mp.mpf(float(m.origin[i]))
        distance = (origin - near) + exact.mp.mpf(float(sigma[i])) * float(m.first[i])
        assert abs(distance / (exact.mean - near) - 1) <= 1e-9


def test_slopes_of_the_likelihood_where_they_vanish() -> None:
    """x on the zero of a slope, to the last digit: no digit of it is left, but no noise either."""
    points: list[Point] = []
    for mu, sigma, lower, upper, _ in some_points(torch.float64, 150, 250):
        exact = Exact(mu, sigma, lower, upper)
        step = exact.sigma * exact.mp.sqrt(exact.second)
        for x in map(float, (exact.mean, exact.mu + step, exact.mu - step)):
            if lower <= x <= upper:
                points.append((mu, sigma, lower, upper, x))
    values = computed(TruncatedNormal, points, torch.float64)
    for i, (exact, x) in enumerate(exact_at(points)):
        scales, true = exact.scales(x, torch.float64), exact.quantities(x)
        for name in ("dlog p/dmu", "dlog p/dsigma"):
            assert error(values[name][i], true[name], scales[name]) <= 1e-9, (name, points[i])


def test_the_rule_integrates_polynomials() -> None:
    nodes, columns = rule_on(torch.device("cpu"))
    weights = columns[:, 0]
    for power in range(2 * len(nodes)):
        assert float((weights * nodes**power).sum()) == pytest.approx(1 / (power + 1), rel=1e-14)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_gpu_computes_the_same(dtype: Any) -> None:
    points = some_points(dtype, 900, 700)
    here = computed(TruncatedNormal, points, dtype)
    there = computed(TruncatedNormal, points, dtype, device="cuda")
    for name in QUANTITIES:
        for here_value, there_value in zip(here[name], there[name], strict=True):
            assert there_value == pytest.approx(here_value, rel=TOLERANCE[dtype], abs=1e-30), name


def test_gradients_agree_with_differences() -> None:
    """Also summed over broadcast dimensions."""
    mu, sigma, lower, upper = tensors(
        [
            (0.3, 1.5, -1.0, 0.5, 0.0),
            (-4.0, 2.0, 0.0, INFINITY, 0.0),
            (7.0, 0.7, -INFINITY, 6.0, 0.0),
        ]
    )[:4]
    mu, sigma = mu.clone().requires_grad_(), sigma.clone().requires_grad_()
    x = torch.tensor([[-0.5, 0.1, 5.5], [0.2, 3.0, 4.0]], dtype=torch.float64)

    def log_prob(*arguments: Any) -> Any:
        return TruncatedNormal(*arguments, lower, upper).log_prob(x)

    assert torch.autograd.gradcheck(log_prob, (mu, sigma))


def test_one_bad_label_spoils_no_gradient() -> None:
    """Labels outside the bounds have likelihood 0 and pull at nothing; the others still do."""
    mu = torch.zeros(5, requires_grad=True)
    sigma = torch.ones(5, requires_grad=True)
    x = torch.tensor([0.9, 1.0, 1.5, 2.1, INFINITY])
    log_prob = TruncatedNormal(mu, sigma, 1.0, 2.0).log_prob(x)
    assert torch.isneginf(log_prob).tolist() == [True, False, False, True, True]
    gradients = torch.autograd.grad(log_prob.sum(), (mu, sigma))
    for gradient in gradients:
        assert torch.isfinite(gradient).all()
        assert (gradient != 0).tolist() == [False, True, True, False, False]
    at_infinity = TruncatedNormal(mu, sigma).log_prob(torch.tensor(-INFINITY))
    assert torch.isneginf(at_infinity).all()
    assert (torch.autograd.grad(at_infinity.sum(), mu)[0] == 0).all()


class Operations(TorchDispatchMode):
    """The names of the tensor operations that run inside."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.names.append(str(function))
        return function(*args, **(kwargs or {}))


def test_training_never_waits_for_the_device() -> None:
    """Beyond the first call, which puts the quadrature rules there."""
    mu, sigma = torch.zeros(4, requires_grad=True), torch.ones(4, requires_grad=True)
    for _ in range(2):
        with Operations() as operations:
            distribution = TruncatedNormal(mu, sigma, -1.0, 4.0)
            (distribution.mean - distribution.log_prob(torch.ones(4))).sum().backward()
    waiting = ("_local_scalar_dense", "nonzero", "lift_fresh", "masked_select", "item")
    assert len(operations.names) > 100
    assert [name for name in operations.names if any(word in name for word in waiting)] == []


def test_without_bounds_it_is_the_gaussian() -> None:
    mu, sigma = torch.tensor([0.0, -1e4, 3.0]), torch.tensor([1.0, 1e-3, 1e3])
    cut = TruncatedNormal(mu, sigma)
    x = mu + sigma * torch.tensor([[-2.0], [0.0], [1.0]])
    assert torch.equal(cut.mean, mu)
    torch.testing.assert_close(cut.log_prob(x), gaussian_log_prob(x, mu, sigma))


def test_a_distant_bound_is_no_bound() -> None:
    mu, sigma, lower, _, x = tensors([(3.0, 2.0, 1.0, INFINITY, 4.0)])
    near, far = (TruncatedNormal(mu, sigma, lower, upper) for upper in (1e5, INFINITY))
    assert torch.equal(near.mean, far.mean)
    assert torch.equal(near.log_prob(x), far.log_prob(x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (4,), (3, 4)])
def test_shapes_and_dtypes(shape: tuple[int, ...], dtype: Any) -> None:
    mu = torch.zeros(shape, dtype=dtype, requires_grad=True)
    distribution = TruncatedNormal(mu, torch.ones((), dtype=dtype), -1.0, INFINITY)
    for result in (distribution.mean, distribution.log_prob(0.0)):
        assert result.shape == shape
        assert result.dtype == dtype
    assert distribution.log_prob(torch.zeros(2, *shape)).shape == (2, *shape)
    (gradient,) = torch.autograd.grad(distribution.log_prob(torch.zeros(2, *shape)).sum(), mu)
    assert gradient.shape == shape
    assert gradient.dtype == dtype


def test_rounding_keeps_a_label_within_its_bounds() -> None:
    """19.9 is smaller in float32 than in float64; a float64 bound must not shut it out."""
    bound = torch.tensor(19.9, dtype=torch.float64)
    distribution = TruncatedNormal(torch.tensor(0.0), torch.tensor(1.0), bound)
    assert torch.isfinite(distribution.log_prob(torch.tensor(19.9)))
    assert torch.isfinite(distribution.log_prob(bound))


def test_the_plain_gaussian() -> None:
    mu = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    sigma = torch.tensor([0.5, 3.0], dtype=torch.float64, requires_grad=True)
    x = torch.tensor([1.7, 4.0], dtype=torch.float64)
    log_prob = gaussian_log_prob(x, mu, sigma)
    by_mu, by_sigma = torch.autograd.grad(log_prob.sum(), (mu, sigma))
    log_prob = log_prob.detach()
    for i in range(2):
        exact = Exact(mu[i].item(), sigma[i].item(), -INFINITY, INFINITY)
        assert float(log_prob[i]) == pytest.approx(float(exact.log_prob(float(x[i]))))
        assert float(by_mu[i]) == pytest.approx(float(exact.log_prob_by_mu(float(x[i]))))
        assert float(by_sigma[i]) == pytest.approx(float(exact.log_prob_by_sigma(float(x[i]))))


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that reads parameters and writes means, compiled from the header alone."""
    program = compile_native(NATIVE, tmp_path_factory.mktemp("native"))
    if program is None:
        pytest.skip("no C++ compiler")
    return program


def test_the_native_mean_is_exact(native: Path) -> None:
    points = some_points(torch.float64, 900, 700)
    means = native_means(native, [point[:4] for point in points])
    for mean, (*parameters, x) in zip(means, points, strict=True):
        assert parameters[2] <= mean <= parameters[3]
        exact = Exact(*parameters)
        scale = exact.scales(x, torch.float64)["E"]
        assert error(mean, exact.mean, scale) <= 1e-9, parameters


def test_the_native_mean_at_the_edges(native: Path) -> None:
    intervals = [
        (3.0, 1.0, -INFINITY, INFINITY),
        (0.0, 1.0, -2.0, 2.0),  # symmetric: no rounding at all
        (-1e300, 1.0, 5.0, INFINITY),  # so far away that the mean is the bound
        (1e300, 1.0, 5.0, 6.0),
        (0.0, 1.0, -1e308, 1e308),
        (0.0, 5e-324, 1.0, 2.0),
    ]
    assert native_means(native, intervals) == [3.0, 0.0, 5.0, 6.0, 0.0, 1.0]

"""The rank-SVM of the core against a plain minimiser, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hstar import _core

Vector = NDArray[np.float64]
Rows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]
LONG_AGO = 1e-3  # a deadline, in seconds of the monotonic clock


def sparse(dense: NDArray[Any]) -> Rows:
    places, columns = np.nonzero(dense)
    starts = np.searchsorted(places, np.arange(len(dense) + 1)).astype(np.int64)
    return starts, columns.astype(np.int32), dense[places, columns].astype(np.float32)


def drawn(seed: int, rows: int, width: int, noise: float) -> NDArray[np.float32]:
    """Sparse rows of small whole numbers, as differences of counts are. A weight vector ranks all
    of them by at least 1 if there is no noise, which is the share of rows that are turned round."""
    rng = np.random.default_rng(seed)
    dense = rng.integers(-3, 4, (rows, width)) * (rng.random((rows, width)) < 0.3)
    truth = rng.normal(size=width)
    dense = dense[np.abs(dense @ truth) > 0.05]
    signs = np.sign(dense @ truth) * np.where(rng.random(len(dense)) < noise, -1, 1)
    return (dense * signs[:, None]).astype(np.float32)


def value(dense: NDArray[Any], weights: Vector, penalty: float) -> float:
    slack = np.maximum(0, 1 - dense @ weights)
    return float(0.5 * weights @ weights + penalty * slack @ slack)


def gradient(dense: NDArray[Any], weights: Vector, penalty: float) -> Vector:
    slack: Vector = np.maximum(0, 1 - dense @ weights)
    return weights - 2 * penalty * dense.T @ slack


def by_newton(dense: NDArray[Any], penalty: float) -> Vector:
    """The minimum: the objective is quadratic between kinks, and each step is made shorter until
    it goes down."""
    weights = np.zeros(dense.shape[1])
    for _ in range(200):
        slope = gradient(dense, weights, penalty)
        if np.abs(slope).max(initial=0.0) < 1e-10:
            return weights
        violated = dense[dense @ weights < 1]
        curvature = np.eye(len(weights)) + 2 * penalty * violated.T @ violated
        step = np.linalg.solve(curvature, slope)
        length = 1.0
        before = value(dense, weights, penalty)
        while value(dense, weights - length * step, penalty) > before and length > 1e-12:
            length /= 2
        weights = weights - length * step
    return weights


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("penalty", [0.01, 1.0, 30.0])
def test_it_finds_the_minimum(seed: int, noise: float, penalty: float) -> None:
    dense = drawn(seed, 150, 12, noise)
    weights, passes, converged = _core.rank_svm(
        *sparse(dense), 12, penalty=penalty, tolerance=1e-9, max_passes=200_000, seed=seed
    )
    assert converged and 1 <= passes <= 200_000
    exact = dense.astype(np.float64)
    best = by_newton(exact, penalty)
    least = value(exact, best, penalty)
    assert np.abs(gradient(exact, best, penalty)).max() < 1e-8
    # No multiplier is further than 1e-9 from its best, about; the gradient sums 2 C of that over
    # at most 150 rows of numbers up to 3.
    assert np.abs(gradient(exact, weights, penalty)).max() < 2 * penalty * 150 * 3 * 1e-8
    assert value(exact, weights, penalty) == pytest.approx(least, rel=1e-9)
    np.testing.assert_allclose(weights, best, atol=1e-5)
    if noise == 0 and penalty == 30:
        assert (exact @ weights > 0).all()  # the order is learned


def test_the_usual_tolerance_is_close() -> None:
    for seed in range(5):
        dense = drawn(seed, 400, 30, 0.1)
        weights, _, converged = _core.rank_svm(*sparse(dense), 30)
        exact = dense.astype(np.float64)
        assert converged
        least = value(exact, by_newton(exact, 1.0), 1.0)
        assert least <= value(exact, weights, 1.0) <= 1.01 * least


def test_same_seed_same_bytes() -> None:
    rows = sparse(drawn(3, 200, 20, 0.2))
    first, again, other = (_core.rank_svm(*rows, 20, seed=seed) for seed in (5, 5, 6))
    assert first[0].tobytes() == again[0].tobytes() and first[1:] == again[1:]
    assert other[0].tobytes() != first[0].tobytes()
    np.testing.assert_allclose(other[0], first[0], atol=0.05)


def test_few_passes_do_not_converge() -> None:
    rows = sparse(drawn(1, 200, 20, 0.2))
    _, passes, converged = _core.rank_svm(*rows, 20, tolerance=1e-12, max_passes=2)
    assert (passes, converged) == (2, False)


@pytest.mark.parametrize("width", [0, 1, 7])
def test_no_rows(width: int) -> None:
    weights, _, converged = _core.rank_svm(*sparse(np.zeros((0, width))), width)
    assert weights.tolist() == [0.0] * width and converged


def test_one_row_has_a_formula() -> None:
    """w = a d, with a the only multiplier."""
    row = np.array([[0.0, 2.0, 0.0, -1.0]])
    weights, _, converged = _core.rank_svm(*sparse(row), 4, penalty=2.0, tolerance=1e-12)
    assert converged
    np.testing.assert_allclose(weights, row[0] / (5 + 1 / 4), rtol=1e-12)


@pytest.mark.parametrize("numbers", [[1.0, 2.0, -1.0], [3.0], [-1.0, -1.0], [0.0, 1.0]])
def test_rows_of_width_1(numbers: list[float]) -> None:
    dense = np.array(numbers)[:, None]
    weights, _, converged = _core.rank_svm(*sparse(dense), 1, tolerance=1e-10)
    assert converged
    np.testing.assert_allclose(weights, by_newton(dense, 1.0), atol=1e-7)


def test_a_row_of_zeros_changes_nothing() -> None:
    dense = drawn(2, 30, 5, 0.0)
    with_zeros = np.concatenate([np.zeros((1, 5), np.float32), dense])
    found = [_core.rank_svm(*sparse(rows), 5, tolerance=1e-9)[0] for rows in (dense, with_zeros)]
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


def test_rows_twice_count_twice() -> None:
    dense = drawn(4, 60, 6, 0.2)
    twice, _, converged = _core.rank_svm(
        *sparse(np.concatenate([dense, dense])), 6, tolerance=1e-9, max_passes=100_000
    )
    assert converged
    np.testing.assert_allclose(twice, by_newton(dense.astype(np.float64), 2.0), atol=1e-5)


GOOD: dict[str, Any] = {
    "starts": [0, 2, 3],
    "columns": [0, 2, 1],
    "values": [1.0, -1, 2],
    "width": 3,
}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"starts": [0, 3, 2]}, "starts must rise from 0"),
    ({"starts": [1, 2, 3]}, "starts must rise from 0"),
    ({"starts": [0, 2, 4]}, "starts must rise from 0"),
    ({"starts": [0, 2, 2]}, "starts must rise from 0"),
    ({"starts": [0, -1, 3]}, "starts must rise from 0"),
    ({"starts": []}, "starts must rise from 0"),
    ({"columns": [0, 3, 1]}, "there is no column 3"),
    ({"columns": [-1, 2, 1]}, "there is no column -1"),
    ({"columns": [2, 0, 1]}, "the columns of row 0 must rise"),
    ({"columns": [1, 1, 1]}, "the columns of row 0 must rise"),
    ({"columns": [0, 1]}, "starts must rise from 0"),
    ({"values": [1.0]}, "one value for each column"),
    ({"values": [1.0, np.nan, 2]}, "values must be finite"),
    ({"values": [1.0, np.inf, 2]}, "values must be finite"),
    ({"width": 0}, "there is no column"),
    *(({"penalty": bad}, "penalty and tolerance") for bad in (0, -1, np.nan, np.inf, 1e-320)),
    *(({"tolerance": bad}, "penalty and tolerance") for bad in (0, -1, np.nan, np.inf)),
    ({"max_passes": 0}, "at least one pass or step"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_bad_input_is_refused(change: dict[str, Any], message: str) -> None:
    given = {**GOOD, **change}
    for name, kind in (("starts", np.int64), ("columns", np.int32), ("values", np.float32)):
        given[name] = np.array(given[name], kind)
    with pytest.raises(ValueError, match=message):
        _core.rank_svm(**given)


def test_limits_hold() -> None:
    few, many = sparse(drawn(1, 10, 5, 0.0)), sparse(drawn(1, 4000, 50, 0.4))
    with pytest.raises(_core.Stopped, match="time"):
        _core.rank_svm(*few, 5, deadline=LONG_AGO)
    with pytest.raises(_core.Stopped, match="memory"):
        _core.rank_svm(*few, 5, memory_bytes=1)
    with pytest.raises(_core.Stopped, match="time"):  # it would take hours
        _core.rank_svm(*many, 50, 1e6, 1e-300, 2**31 - 1, deadline=_core.monotonic_seconds() + 0.1)

"""Linear functions by Newton's method against plain solutions, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_rank_svm import GOOD, LONG_AGO, WRONG, drawn, sparse

from hstar import _core

NONE = np.zeros(0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("penalty", [0.01, 1.0, 30.0])
def test_least_squares_have_a_formula(seed: int, penalty: float) -> None:
    dense = drawn(seed, 150, 12, 0.0).astype(np.float64)
    targets = np.random.default_rng(seed).integers(0, 80, len(dense)).astype(np.float64)
    weights, steps, converged = _core.newton_fit(
        *sparse(dense), 12, "squared", targets, penalty=penalty
    )
    exact = np.linalg.solve(
        np.eye(12) + 2 * penalty * dense.T @ dense, 2 * penalty * dense.T @ targets
    )
    assert converged and steps == 1  # the objective is a parabola
    np.testing.assert_allclose(weights, exact, rtol=1e-8, atol=1e-8)


def logistic_gradient(dense: NDArray[Any], weights: Any, penalty: float) -> Any:
    return weights - penalty * dense.T @ (1 / (1 + np.exp(dense @ weights)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("penalty", [0.01, 1.0, 30.0])
def test_logistic_weights_are_at_the_minimum(seed: int, noise: float, penalty: float) -> None:
    """It is the only point where the gradient is zero: the objective is strictly convex."""
    dense = drawn(seed, 150, 12, noise).astype(np.float64)
    weights, steps, converged = _core.newton_fit(
        *sparse(dense), 12, "logistic", NONE, penalty=penalty, tolerance=1e-8
    )
    assert converged and 1 <= steps <= 40
    start = np.abs(logistic_gradient(dense, np.zeros(12), penalty)).max()
    assert np.abs(logistic_gradient(dense, weights, penalty)).max() < 1e-7 * start
    if noise == 0 and penalty == 30:
        assert (dense @ weights > 0).all()  # the order is learned


def test_large_products_do_not_overflow() -> None:
    dense = np.array([[1e6, 0.0], [-1e6, 1.0], [0.0, 1e6]])
    weights, _, _ = _core.newton_fit(*sparse(dense), 2, "logistic", NONE, penalty=1e6)
    assert np.isfinite(weights).all()
    weights, _, _ = _core.newton_fit(*sparse(dense), 2, "squared", np.full(3, 1e6))
    assert np.isfinite(weights).all()


def test_same_bytes_again() -> None:
    rows = sparse(drawn(3, 200, 20, 0.2))
    first, again = (_core.newton_fit(*rows, 20, "logistic", NONE) for _ in range(2))
    assert first[0].tobytes() == again[0].tobytes() and first[1:] == again[1:]


@pytest.mark.parametrize("width", [0, 1, 7])
def test_no_rows(width: int) -> None:
    for loss in ("logistic", "squared"):
        weights, _, converged = _core.newton_fit(*sparse(np.zeros((0, width))), width, loss, NONE)
        assert weights.tolist() == [0.0] * width and converged


NEWTON_WRONG: list[tuple[dict[str, Any], str]] = [
    *WRONG[:-1],
    ({"max_steps": 0}, "at least one pass or step"),
    ({"loss": "hinge"}, "unknown loss 'hinge'; choose logistic or squared"),
    ({"loss": "squared"}, "needs a target for each row"),
    ({"targets": np.zeros(2)}, "and the logistic loss none"),
    ({"loss": "squared", "targets": np.array([1.0, np.nan])}, "targets must be finite"),
    ({"width": 5000}, "there are 5000 features, and this objective takes at most 1536"),
]


@pytest.mark.parametrize(("change", "message"), NEWTON_WRONG)
def test_bad_input_is_refused(change: dict[str, Any], message: str) -> None:
    given = {**GOOD, "loss": "logistic", "targets": NONE, **change}
    for name, kind in (("starts", np.int64), ("columns", np.int32), ("values", np.float32)):
        given[name] = np.array(given[name], kind)
    with pytest.raises(ValueError, match=message):
        _core.newton_fit(**given)


def test_limits_hold() -> None:
    rows = sparse(drawn(1, 10, 5, 0.0))
    with pytest.raises(_core.Stopped, match="time"):
        _core.newton_fit(*rows, 5, "logistic", NONE, deadline=LONG_AGO)
    with pytest.raises(_core.Stopped, match="memory"):
        _core.newton_fit(*rows, 5, "logistic", NONE, memory_bytes=1)
    wide = sparse(drawn(1, 3000, 1500, 0.4))  # takes minutes
    with pytest.raises(_core.Stopped, match="time"):
        _core.newton_fit(*wide, 1500, "logistic", NONE, deadline=_core.monotonic_seconds() + 0.2)

"""The theory of reward shaping, on spaces solved exactly."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import oracle
import pytest
from exact_values import (
    EVERY,
    GAMMAS,
    TOLERANCE,
    Exact,
    assert_close,
    check_values,
    exact_discounted,
    optimum,
    rooms,
    value_iteration,
)
from numpy.typing import NDArray
from small_domains import ALL
from test_regression import classic, task_of

from hstar.training.reinforcement.rtdp import Shaping


@functools.cache
def classic_space(name: str) -> Exact:
    return Exact(classic(name))


def reached_before_goals(space: Exact) -> NDArray[np.int64]:
    found = [0]
    for state in found:
        if space.steps[state] > 0:
            found += [t for t in dict.fromkeys(space.successors[state]) if t not in found]
    return np.array(found)


@pytest.mark.parametrize("name", ALL)
def test_optimal_values_of_domains(name: str) -> None:
    """V* follows from h*, and shaped and unshaped optima differ by the potential."""
    space = classic_space(name)
    assert space.steps.max() > 3
    for shaping in EVERY:
        for h in ("ff", "hadd"):
            check_values(space, shaping, h)


def test_optimal_values_of_random_tasks() -> None:
    spaces = []
    for seed in range(60):
        try:
            spaces.append(Exact(task_of(seed)))
        except (ValueError, oracle.StateSpaceTooLarge):
            continue
    assert len(spaces) >= 30
    assert sum(math.isinf(space.steps[0]) for space in spaces) >= 3
    for number, space in enumerate(spaces):
        for shaping in EVERY:
            check_values(space, shaping, ("ff", "hadd")[number % 2])


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("name", ALL)
def test_shaping_with_exact_distances(name: str, gamma: float) -> None:
    """Nothing is left to learn; where the last step is free, its reward is left."""
    space = classic_space(name)
    values = value_iteration(space, Shaping(gamma, "step"), space.steps)
    assert np.abs(values).max() <= TOLERANCE
    values = value_iteration(space, Shaping(gamma, "free-last"), space.steps)
    assert_close(values, optimum(Shaping(gamma, "goal"), space.steps))


@pytest.mark.parametrize("shaping", EVERY, ids=str)
def test_dead_ends(tmp_path: Path, shaping: Shaping) -> None:
    """x is without operators, y and z only lead to each other. h^FF sees both; goal counting, which
    is never infinite, sees none."""
    space = rooms(tmp_path, "sx sy yz zy sa ab bg sc cg")
    assert sorted(space.steps) == [0, 1, 1, 2, 2, math.inf, math.inf, math.inf]
    for name in ("ff", "goalcount", "h*"):
        check_values(space, shaping, name)


@pytest.mark.parametrize("gamma", [1e-3, 0.5, *GAMMAS, 1 - 1e-12])
def test_discounted_heuristics_are_exact(gamma: float) -> None:
    """To 1e-9 relative, also where 1 - gamma^h has lost most of its digits."""
    shaping = Shaping(gamma)
    h = np.array([0, 1, 2, 3, 7, 100, 2500, math.inf], dtype=np.float32)
    expected = [exact_discounted(gamma, steps) for steps in h.tolist()]
    for found, exact in zip(shaping.discounted(h).tolist(), expected, strict=True):
        assert abs(Fraction(found) - exact) <= Fraction(1e-9) * exact
    assert shaping.limit == pytest.approx(float(1 / (1 - Fraction(gamma))), rel=TOLERANCE)
    assert shaping.discounted(h).dtype == np.float64


@pytest.mark.parametrize("gamma", [1, 1.5, 0, -0.5, math.nan, math.inf, "0.9", True])
def test_gamma_must_be_a_discount(gamma: float) -> None:
    with pytest.raises(ValueError, match="gamma must be"):
        Shaping(gamma)


def test_unknown_rewards_and_potentials_are_refused() -> None:
    entries: dict[str, Any]
    for entries, message in (
        ({"gamma": 0.9, "reward": "often", "potential": "none"}, "unknown reward 'often'"),
        ({"gamma": 0.9, "reward": "step", "potential": ["none"]}, "unknown potential"),
    ):
        with pytest.raises(ValueError, match=message):
            Shaping(**entries)

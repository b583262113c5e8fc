"""Reward shaping: special tasks, exact numbers, mistakes in the arguments."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
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
)
from test_regression import classic

from hstar import _core
from hstar.planning.search import search
from hstar.runtime.resources import Budget, OutOfResources
from hstar.training.reinforcement.shaping import POTENTIALS, Shaping
from hstar.training.reinforcement.tabular import rtdp, tabulate, value_iteration


@pytest.mark.parametrize("shaping", EVERY, ids=str)
def test_dead_ends(tmp_path: Path, shaping: Shaping) -> None:
    """x is without operators, y and z only lead to each other. h^FF sees both; goal counting, which
    is never infinite, sees none, so RTDP only knows x as a dead end."""
    space = rooms(tmp_path, "sx sy yz zy sa ab bg sc cg")
    assert sorted(space.steps) == [0, 1, 1, 2, 2, math.inf, math.inf, math.inf]
    for name in ("ff", "goalcount", "h*"):
        h = space.h(name)
        expected = optimum(shaping, space.steps)
        assert_close(value_iteration(space.table, shaping, h) + shaping.phi(h), expected)
        result = rtdp(space.table, shaping, h, steps=20_000, random_starts=True)
        alive = np.isfinite(space.steps) | np.array([not out for out in space.successors])
        known = alive if name == "goalcount" else np.ones_like(alive)
        assert_close((result.values + shaping.phi(h))[known], expected[known])


@pytest.mark.parametrize("shaping", EVERY, ids=str)
@pytest.mark.parametrize("doors", ["sa as", "sa", "gs"])
def test_unsolvable_and_without_operators(tmp_path: Path, doors: str, shaping: Shaping) -> None:
    space = rooms(tmp_path, doors)
    assert np.isinf(space.steps).all()
    h = space.h("ff")
    expected = optimum(shaping, space.steps)
    assert_close(value_iteration(space.table, shaping, h) + shaping.phi(h), expected)
    result = rtdp(space.table, shaping, h, steps=100, random_starts=True)
    assert_close(result.values + shaping.phi(h), expected)
    assert (result.episodes, result.goals) == (0, 0)  # every state is terminal


@pytest.mark.parametrize("goal", ["(and)", "(and (at s))", "(or (at s) (at g))"])
def test_goal_true_at_the_start(tmp_path: Path, goal: str) -> None:
    space = rooms(tmp_path, "sa as ag", goal=goal)
    for shaping in EVERY:
        h = space.h("ff")
        assert value_iteration(space.table, shaping, h)[0] == 0
        result = rtdp(space.table, shaping, h, steps=100)
        assert result.values[0] == 0
        assert result.episodes == 0
        check_values(space, shaping, "ff")


@pytest.mark.parametrize("shaping", EVERY, ids=str)
def test_the_potential_of_goals_is_zero(tmp_path: Path, shaping: Shaping) -> None:
    """Whatever the heuristic says there; otherwise shaping would change the task."""
    space = rooms(tmp_path, "sa ab bg sc cg")
    h = np.full(len(space.steps), 3.0)
    phi = np.where(space.table.is_goal, 0.0, shaping.phi(h))
    expected = optimum(shaping, space.steps)
    assert_close(value_iteration(space.table, shaping, h) + phi, expected)
    result = rtdp(space.table, shaping, h, steps=5000, random_starts=True)
    assert_close(result.values + phi, expected)


def test_steps_count_not_costs(tmp_path: Path) -> None:
    """The door from s to g costs 4, the way through a 1 + 2."""
    space = rooms(tmp_path, "sa ag gs sg")
    plan = search(space.task, "blind", "astar")
    assert (plan.plan_cost, plan.plan_length) == (3, 2)
    for gamma in GAMMAS:
        assert value_iteration(space.table, Shaping(gamma, "step", "none"))[0] == -1


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


def test_the_core_has_the_same_potentials(tmp_path: Path) -> None:
    """A state without operators has the value -phi if the reward is at the goal only."""
    space = rooms(tmp_path, "gs")
    for gamma in (0.5, *GAMMAS):
        for potential in POTENTIALS:
            shaping = Shaping(gamma, "goal", potential)
            for h in (0.0, 0.5, 1.0, 3.0, 2500.0, 1e7, math.inf):
                assert value_iteration(space.table, shaping, [h])[0] == pytest.approx(
                    -float(shaping.phi(h)), rel=1e-14
                )


@pytest.mark.parametrize("gamma", [1, 1.5, 0, -0.5, math.nan, math.inf, "0.9", True])
def test_gamma_must_be_a_discount(gamma: float) -> None:
    with pytest.raises(ValueError, match="gamma must be"):
        Shaping(gamma)


def test_unknown_rewards_and_potentials_are_refused() -> None:
    entries: dict[str, Any]
    for entries, message in (
        ({"gamma": 0.9, "reward": "often", "potential": "none"}, "no reward is called 'often'"),
        ({"gamma": 0.9, "reward": "step", "potential": ["none"]}, "no potential is called"),
    ):
        with pytest.raises(ValueError, match=message):
            Shaping(**entries)


def test_mistakes_are_refused() -> None:
    space = Exact(classic("gripper"))
    table, h = space.table, space.h("ff")
    with pytest.raises(ValueError, match="more than 5 reachable states"):
        tabulate(space.task, max_states=5)
    with pytest.raises(ValueError, match="needs the heuristic value of every state"):
        value_iteration(table, Shaping())
    with pytest.raises(ValueError, match=f"{len(h)} states, but 2 heuristic values"):
        value_iteration(table, Shaping(), h[:2])
    for bad in (math.nan, -1.0):
        with pytest.raises(ValueError, match=r"state 0 is .*must be at least 0"):
            rtdp(table, Shaping(), np.full_like(h, bad), steps=10)
    for options, message in (
        ({"temperature": -1.0}, "temperature must be"),
        ({"temperature": math.nan}, "temperature must be"),
        ({"depth": 0}, "at least one step"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"backup": "min"}, "no backup is called 'min'"),
    ):
        with pytest.raises(ValueError, match=message):
            rtdp(table, Shaping(), h, **{"steps": 10, **options})
    with pytest.raises(ValueError, match="tolerance must be"):
        value_iteration(table, Shaping(), h, tolerance=math.nan)
    with pytest.raises(ValueError, match="gamma must be"):
        _core.Shaping(1.0, "step", "none")


def test_limits_hold() -> None:
    space = Exact(classic("gripper"))
    past = Budget(deadline=_core.monotonic_seconds() - 1)
    h = space.h("ff")
    with pytest.raises(OutOfResources, match="out of time"):
        tabulate(space.task, budget=past)
    with pytest.raises(OutOfResources, match="out of time"):
        value_iteration(space.table, Shaping(), h, budget=past)
    soon = Budget(deadline=_core.monotonic_seconds() + 0.05)
    with pytest.raises(OutOfResources, match="out of time"):
        rtdp(space.table, Shaping(), h, steps=10**15, budget=soon)

"""hstar from Python: native heuristics on batches of states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from example_tasks import ADL, COSTS, STRIPS, reachable

import hstar


@pytest.mark.parametrize("cost", ["normal", "one", "plusone"])
@pytest.mark.parametrize("name", hstar.HEURISTICS)
@pytest.mark.parametrize("files", [STRIPS, COSTS, ADL], ids=["strips", "costs", "adl"])
def test_batches_agree_with_single_states(files: tuple[Path, Path], name: str, cost: str) -> None:
    task = hstar.load_task(*files)
    heuristic = hstar.make_heuristic(task, name, cost)
    states = reachable(task)
    values = heuristic.evaluate(states)
    assert (values.dtype, values.shape) == (np.float32, (len(states),))
    one_by_one = np.concatenate([heuristic.evaluate(state) for state in states])
    np.testing.assert_array_equal(values, one_by_one)
    np.testing.assert_array_equal(heuristic.evaluate(states[::-1]), values[::-1])
    is_goal = np.all([states[:, v] == value for v, value in task.goal], axis=0)
    assert not values[is_goal].any()
    assert (values[~is_goal] >= (1 if name == "goalcount" else 0)).all()


def test_cost_types() -> None:
    """In towers every action costs 1, so costs plus one are twice the costs."""
    task = hstar.load_task(*STRIPS)
    states = reachable(task)
    for name in ("hmax", "hadd", "lmcut"):
        normal, one, plusone = (
            hstar.make_heuristic(task, name, cost).evaluate(states)
            for cost in ("normal", "one", "plusone")
        )
        np.testing.assert_array_equal(normal, one)
        np.testing.assert_array_equal(plusone, 2 * normal)


def test_preferred_operators(towers: hstar.Task) -> None:
    states = reachable(towers)
    preferred = hstar.make_heuristic(towers, "ff").preferred_operators(states)
    assert len(preferred) == len(states)
    for state, operators in zip(states, preferred, strict=True):
        applicable, _ = towers.successors(state)
        assert set(operators) <= set(applicable.tolist())
    names = [towers.operator_name(op) for op in preferred[0]]
    assert "(unstack b a)" in names


def test_plan_features(towers: hstar.Task) -> None:
    states = reachable(towers)
    ff = hstar.make_heuristic(towers, "ff")
    features = ff.plan_features(states)
    assert (features.dtype, features.shape) == (np.float32, (len(states), 4))
    goals = hstar.make_heuristic(towers, "goalcount").evaluate(states)
    np.testing.assert_array_equal(features[:, 0], goals)
    np.testing.assert_array_equal(features[:, 1], ff.evaluate(states))
    steps = features[:, 1] > 0  # every action costs 1
    np.testing.assert_allclose(features[steps, 3], features[steps, 2] / features[steps, 1])
    with pytest.raises(ValueError, match="only the heuristic 'ff'"):
        hstar.make_heuristic(towers, "hadd").plan_features(states)


def test_unknown_heuristic_or_cost(towers: hstar.Task) -> None:
    with pytest.raises(ValueError, match="unknown heuristic 'magic'"):
        hstar.make_heuristic(towers, "magic")
    with pytest.raises(ValueError, match="unknown cost type 'two'"):
        hstar.make_heuristic(towers, "ff", "two")


def wrong_states(task: hstar.Task) -> dict[str, Any]:
    good = task.initial_state
    return {
        "too short": good[:-1],
        "too long": np.append(good, np.int32(0)),
        "transposed": np.stack([good] * (len(good) + 1)).T,
        "three axes": good.reshape(1, 1, -1),
        "negative": np.where(np.arange(len(good)) == 0, -1, good),
        "too large": np.where(np.arange(len(good)) == 0, task.domain_sizes[0], good),
        "beyond 32 bits": good.astype(np.int64) + 2**32,
        "decimals": good + 0.5,
        "floats": good.astype(np.float32),
        "NaN": np.full(len(good), np.nan),
        "truth values": good.astype(bool),
        "text": good.astype(str),
        "nothing": np.zeros((1, 0), dtype=np.int32),
    }


@pytest.mark.parametrize("kind", wrong_states(hstar.load_task(*STRIPS)))
def test_wrong_states(kind: str, towers: hstar.Task) -> None:
    states = wrong_states(towers)[kind]
    ff = hstar.make_heuristic(towers, "ff")
    for function in (ff.evaluate, ff.preferred_operators, ff.plan_features, towers.successors):
        with pytest.raises(ValueError, match="state"):
            function(states)


def test_other_layouts_of_states_are_fine(towers: hstar.Task) -> None:
    ff = hstar.make_heuristic(towers, "ff")
    states = reachable(towers)
    values = ff.evaluate(states)
    for same in (
        states.astype(np.int64),
        states.astype(np.uint8),
        np.asfortranarray(states),
        np.repeat(states, 2, axis=0)[::2],
        states.tolist(),
    ):
        np.testing.assert_array_equal(ff.evaluate(same), values)
    assert ff.evaluate(states[:0]).shape == (0,)
    assert ff.plan_features(states[:0]).shape == (0, 4)
    assert ff.preferred_operators(states[:0]) == []
    with pytest.raises(ValueError, match="one state"):
        towers.successors(states[:2])

"""What an update of real-time dynamic programming computes: equal states of a batch are merged, and
neither threads nor the numbers of states show in the result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from learning_window import about, expand, inputs, network_values
from test_regression import classic

from hstar import _core
from hstar.training.reinforcement.rtdp import Rtdp, RtdpSettings

SETTINGS = replace(RtdpSettings(), potential="none", max_backup=True, episode_steps=15)
DOMAINS = ["blocks", "gripper", "ferry"]


def learner(domain: str, settings: RtdpSettings = SETTINGS, threads: int = 1) -> Rtdp:
    return Rtdp([classic(domain)], settings, seed=1, threads=threads)


def run_to(made: Rtdp, step: int) -> dict[str, Any]:
    made.core.run(step, step, made.settings.learning_rate)
    return made.core.memory()


def assert_same(one: dict[str, Any], two: dict[str, Any]) -> None:
    for name in ("theta", "mean", "square", "sums", "counters"):
        assert one[name].tobytes() == two[name].tobytes(), name


@pytest.mark.parametrize("domain", DOMAINS)
def test_threads_do_not_matter(domain: str) -> None:
    assert_same(*(run_to(learner(domain, threads=threads), 60) for threads in (1, 2)))


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_numbers_of_states_do_not_matter(domain: str) -> None:
    """A learner that goes on from memory has numbered the states in another order."""
    first, second = learner(domain), learner(domain)
    for _ in range(3):
        expand(second.environment, *one_problem(list(range(second.environment.num_states(0)))))
    second.core.restore(run_to(first, 40))
    assert_same(run_to(first, 80), run_to(second, 80))


def one_problem(states: list[int]) -> tuple[list[int], list[int]]:
    return len(states) * [0], states


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_state_counts_as_often_as_it_is_drawn(domain: str) -> None:
    """The bucket is the batch, and it holds the same states again and again."""
    settings = replace(SETTINGS, batch=25, capacity=25)
    moving, still = learner(domain, settings), learner(domain, settings)
    before = run_to(moving, 60)
    still.core.restore(before)
    after = run_to(moving, 61)
    world, size = still.environment, classic(domain).num_variables
    drawn = after["states"][1].reshape(-1, size)
    states = [world.add(0, state.reshape(1, -1)) for state in drawn]
    assert len(states) == 25 > len(set(states))

    def values(of: list[int]) -> Any:
        goals = about(world, *one_problem(of))["goals"]
        return np.where(goals, 0, network_values(still.core, *one_problem(of)))

    starts, _, successors = expand(world, *one_problem(states))
    targets = [
        0.0 if goal else np.max(-1 + settings.gamma * values(list(successors[a:b])))
        for goal, a, b in zip(
            about(world, *one_problem(states))["goals"], starts[:-1], starts[1:], strict=True
        )
    ]
    errors = network_values(still.core, *one_problem(states)) - np.array(targets)
    assert after["sums"][0] - before["sums"][0] == pytest.approx(np.mean(0.5 * errors**2), rel=1e-5)
    gradient = _core.nlm_backward(
        still.network.shape(),
        before["theta"],
        *inputs(world, *one_problem(states)),
        (errors / 25).astype(np.float32).reshape(-1, 1),
        1,
    )
    taken = (after["mean"].astype(float) - 0.9 * before["mean"]) / 0.1
    assert np.abs(taken - gradient).max() <= 1e-4 * np.abs(gradient).max()

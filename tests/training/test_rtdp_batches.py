"""What an update of real-time dynamic programming computes: equal states of a batch are merged, and
neither threads nor the numbers of states show in the result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from learning_window import inputs, network_values
from test_regression import classic

from hstar import _core
from hstar.training.reinforcement.rtdp import Rtdp, RtdpSettings

SETTINGS = replace(RtdpSettings(), potential="none", max_backup=True, episode_steps=15)
DOMAINS = ["blocks", "gripper", "ferry"]


def learner(
    domain: str, settings: RtdpSettings = SETTINGS, threads: int = 1, seed: int = 1
) -> Rtdp:
    return Rtdp([classic(domain)], settings, seed, threads)


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
    first, second = learner(domain), learner(domain, seed=2)
    run_to(second, 30)
    second.core.restore(run_to(first, 40))
    assert_same(run_to(first, 80), run_to(second, 80))


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_state_counts_as_often_as_it_is_drawn(domain: str) -> None:
    """The bucket is the batch, and it holds the same states again and again."""
    settings = replace(SETTINGS, batch=25, capacity=25)
    moving, still = learner(domain, settings), learner(domain, settings)
    before = run_to(moving, 60)
    still.core.restore(before)
    after = run_to(moving, 61)
    task = classic(domain)
    drawn = after["states_values"].reshape(-1, task.num_variables)
    assert len(drawn) == 25 > len({state.tobytes() for state in drawn})

    def values(of: Any) -> Any:
        goals = [task.is_goal(state) for state in of]
        return np.where(goals, 0, network_values(still, task, of))

    targets = [
        0.0
        if task.is_goal(state)
        else np.max(-1 + settings.gamma * values(task.successors(state)[1]))
        for state in drawn
    ]
    errors = network_values(still, task, drawn) - np.array(targets)
    assert after["sums"][0] - before["sums"][0] == pytest.approx(np.mean(0.5 * errors**2), rel=1e-5)
    gradient = _core.nlm_backward(
        still.network.shape(),
        before["theta"],
        *inputs(still, task, drawn),
        (errors / 25).astype(np.float32).reshape(-1, 1),
        1,
    )
    taken = (after["mean"].astype(float) - 0.9 * before["mean"]) / 0.1
    assert np.abs(taken - gradient).max() <= 1e-4 * np.abs(gradient).max()

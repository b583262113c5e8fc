"""Which states a training step sees, and how much each of them counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from small_trainings import options

from hstar.slots.objectives import make_objective
from hstar.training.dataset import Dataset
from hstar.training.samplers import ShuffledSampler, StratifiedSampler
from hstar.training.source import StateSource
from hstar.training.train import prepare

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("batch", [1, 3, 8, 10, 64])
def test_a_batch_has_a_fixed_number_of_states_of_every_size(batch: int) -> None:
    sizes = np.array([3] * 11 + [7] * 5 + [5] + [9] * 2)
    sampler = StratifiedSampler(sizes, batch, seed=4)
    drawn = [sampler.rows(step) for step in range(40)]
    assert {len(rows) for rows in drawn} == {sampler.quotas.sum()}
    assert len({sizes[rows].tobytes() for rows in drawn}) == 1
    assert set(sizes[drawn[0]]) == {3, 5, 7, 9}
    assert max(4, min(batch, 19)) <= sampler.quotas.sum() <= max(4, min(batch, 19)) + 3
    assert len(sampler.weights) == sampler.quotas.sum()


def test_every_state_is_seen_equally_often_within_its_size() -> None:
    sizes = np.array([2] * 7 + [4] * 30 + [6] * 3)
    sampler = StratifiedSampler(sizes, 16, seed=0)
    steps = 7 * 30 * 3  # whole passes for every size
    counts = np.bincount(np.concatenate([sampler.rows(s) for s in range(steps)]), minlength=40)
    for size in (2, 4, 6):
        assert len(set(counts[sizes == size])) == 1
    assert counts.min() > 0


@pytest.mark.parametrize("batch", [2, 5, 16])
def test_weights_make_the_mean_of_batches_that_of_all_states(batch: int) -> None:
    sizes = np.array([2] * 7 + [4] * 30 + [6] * 3)
    losses = np.random.default_rng(1).normal(size=40) + sizes
    sampler = StratifiedSampler(sizes, batch, seed=0)
    weighted = [(losses[sampler.rows(s)] * sampler.weights).mean() for s in range(7 * 30 * 3)]
    assert np.mean(weighted) == pytest.approx(losses.mean(), rel=1e-6)
    unweighted = [losses[sampler.rows(s)].mean() for s in range(7 * 30 * 3)]
    assert abs(np.mean(unweighted) - losses.mean()) > 1e-3  # or the weights were idle


def test_every_pass_has_an_order_of_its_own() -> None:
    sampler = StratifiedSampler(np.full(12, 5), 4, seed=0)
    passes = [np.concatenate([sampler.rows(3 * k + i) for i in range(3)]) for k in range(4)]
    assert all(sorted(order) == list(range(12)) for order in passes)
    assert len({order.tobytes() for order in passes}) == 4


def test_a_batch_depends_on_seed_and_number_alone() -> None:
    sizes = np.array([2] * 9 + [4] * 9)
    sampler, again = StratifiedSampler(sizes, 6, seed=1), StratifiedSampler(sizes, 6, seed=1)
    backwards = {step: again.rows(step).tolist() for step in reversed(range(20))}
    assert all(sampler.rows(step).tolist() == backwards[step] for step in range(20))
    other = StratifiedSampler(sizes, 6, seed=2)
    assert any(other.rows(step).tolist() != backwards[step] for step in range(20))


def test_a_step_weighs_its_states(dataset: Dataset) -> None:
    """The loss of a step is that of each state times its weight, and weights differ here."""
    objective = make_objective("gaussian", sigma=1.0, base="none", cap=None)
    loop = prepare(dataset, dataset.select([0]), options("nlm", objective, batch=3))
    source, network = loop.source, loop.network
    assert isinstance(source, StateSource)
    weights = source.sampler.weights
    assert np.ptp(weights) > 0.1
    rows = source.sampler.rows(5)
    with torch.no_grad():
        mu = network(source.encoded.select(rows))[:, 0].numpy()
        loss, statistics = source.loss(network, source.draw(5))
    errors = dataset.column("h_star")[rows] - mu
    expected = np.mean(weights * (errors**2 / 2 + math.log(2 * math.pi) / 2))
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    assert statistics == []


def test_shuffled_batches_pass_through_all_states_again_and_again() -> None:
    sampler, again = (ShuffledSampler(np.full(23, 5), 10, seed=3) for _ in range(2))
    first = [sampler.rows(step) for step in range(3)]
    second = [sampler.rows(step) for step in range(3, 6)]
    assert [len(rows) for rows in first + second] == [10, 10, 3] * 2
    for rows in (first, second):
        assert sorted(np.concatenate(rows).tolist()) == list(range(23))
    assert np.concatenate(first).tolist() != np.concatenate(second).tolist()
    assert again.rows(4).tolist() == second[1].tolist()  # it resumes anywhere
    assert again.rows(0).tolist() == first[0].tolist()

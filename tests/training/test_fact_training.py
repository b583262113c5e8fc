"""Training in the core: against torch, against differences, on every instruction set."""

from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fact_reference import (
    ATOMS,
    FactRows,
    all_bytes,
    dense,
    layers_of,
    losses,
    network,
    sets,
)

from hstar import _core
from hstar.slots.objectives import OBJECTIVES, objectives_of
from hstar.training.native import Layer, MlpOptions, first_layers, to_tensors, train_mlp

SHAPES = [
    MlpOptions(hidden=50, width=40),
    MlpOptions(hidden=17, width=130, blocks=2, output="none", objective="interval", scale=2.0),
    MlpOptions(hidden=64, width=64, blocks=0, objective="truncated-gaussian", scale=1.4),
    MlpOptions(hidden=300, width=20, objective="interval", scale=0.7),
]


@pytest.mark.parametrize("batch", [3, 64, 150])
@pytest.mark.parametrize("options", SHAPES, ids=lambda one: f"{one.objective}-{one.hidden}")
def test_twenty_steps_are_those_of_torch(options: MlpOptions, batch: int) -> None:
    rows = sets(1200, bounds=True)
    layers = layers_of(options)
    order = np.random.default_rng(1).permutation(len(rows))
    order = np.resize(order, 20 * batch).astype(np.int32)
    reference = network(options, layers).train()
    adam = torch.optim.Adam(reference.parameters(), lr=1e-3)
    total = 0.0
    for first in range(0, len(order), batch):
        which = order[first : first + batch]
        found = losses(options, reference(dense(rows, which))[:, 0], rows, which)
        adam.zero_grad()
        found.mean().backward()
        adam.step()
        total += found.sum().item()
    found_bytes = set()
    for kernel in _core.mlp_kernel_names():
        trainer = _core.MlpTrainer(
            rows.native(), layers, options.objective, options.scale, options.epsilon, kernel
        )
        mean = trainer.epoch(order, batch, 1e-3)
        assert mean == pytest.approx(total / len(order), rel=1e-4)
        weights = trainer.weights()
        found_bytes.add(all_bytes(weights) + np.float64(mean).tobytes())
        state = {name: tensor.numpy() for name, tensor in reference.state_dict().items()}
        for name, tensor in to_tensors(weights).items():
            # Relative to what 20 steps can move a weight.
            assert np.abs(tensor - state[name]).max() < 1e-4 * (np.abs(state[name]).max() + 0.02)
        everything = np.arange(len(rows), dtype=np.int32)
        with torch.no_grad():
            y = reference(dense(rows, everything))[:, 0]
            outputs = trainer.outputs(everything)
            assert np.allclose(outputs, y.numpy(), rtol=1e-4, atol=1e-3)
            expected = losses(options, torch.from_numpy(outputs), rows, everything)
        assert trainer.loss(everything) == pytest.approx(expected.mean().item(), rel=1e-5)
    assert len(found_bytes) == 1


@pytest.mark.parametrize("objective", objectives_of("mlp"))
def test_slopes_are_those_of_differences(objective: str) -> None:
    """One step of Adam with a tiny rate moves each weight against its slope, by that rate."""
    options = MlpOptions(hidden=9, width=7, output="none", objective=objective, scale=1.3)
    rows = sets(40, 3, bounds=True)
    layers = layers_of(options)
    which = np.arange(40, dtype=np.int32)

    def loss(changed: list[Layer]) -> float:
        """In double precision."""
        y = network(options, changed).double()(dense(rows, which).double())[:, 0]
        return losses(options, y, rows, which).mean().item()

    trainer = _core.MlpTrainer(rows.native(), layers, objective, options.scale, options.epsilon)
    trainer.epoch(which, 40, 1e-9)
    means = trainer.state()["mean"]
    rng = np.random.default_rng(0)
    for number in range(len(layers)):
        for _ in range(6):
            place = tuple(rng.integers(0, size) for size in layers[number][0].shape)
            slope = means[number][0][place] / (1 - 0.9)
            change = 2.0**-16
            ends = []
            for sign in (1, -1):
                weight = layers[number][0].copy()
                weight[place] += np.float32(sign * change)
                changed = [*layers]
                changed[number] = (weight, *layers[number][1:])
                ends.append(loss(changed))
            assert slope == pytest.approx((ends[0] - ends[1]) / (2 * change), rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("output", ["none", "relu"])
@pytest.mark.parametrize("batch", [2, 64, 250])
def test_gradients_of_pairs_are_those_of_torch(batch: int, output: str) -> None:
    """Not the weights after a step: slopes of pairs cancel, and Adam scales up what rounding
    leaves of them."""
    options = MlpOptions(hidden=40, width=30, output=output, objective="l-gbfs")
    rows = sets(250, bounds=True)
    layers = layers_of(options, lift=0.1)
    which = np.random.default_rng(1).permutation(250)[:batch].astype(np.int32)
    reference = network(options, layers).train()
    found = losses(options, reference(dense(rows, which))[:, 0], rows, which)
    found.mean().backward()
    slopes = {name: value.grad.numpy() for name, value in reference.named_parameters()}
    found_bytes = set()
    for kernel in _core.mlp_kernel_names():
        trainer = _core.MlpTrainer(rows.native(), layers, "l-gbfs", 1.0, 0.1, kernel)
        assert trainer.epoch(which, batch, 1e-9) == pytest.approx(found.mean().item(), rel=1e-5)
        means = trainer.state()["mean"]
        found_bytes.add(all_bytes(means))
        for name, mean in to_tensors(means).items():
            assert np.allclose(mean / 0.1, slopes[name], rtol=1e-3, atol=1e-6), name
    assert len(found_bytes) == 1


def test_labels_that_are_missing_teach_nothing() -> None:
    rows = sets(100)
    missing = np.full(100, np.nan, dtype=np.float32)
    options = MlpOptions(hidden=8, width=8)
    empty = FactRows(ATOMS, rows.starts, rows.atoms, missing, missing, missing)
    order = np.arange(100, dtype=np.int32)
    for objective in ("squared", "interval", "truncated-gaussian"):
        trainer = _core.MlpTrainer(empty.native(), layers_of(options), objective)
        assert trainer.epoch(order, 10, 1e-3) == 0
        assert all_bytes(trainer.weights()) == all_bytes(layers_of(options))


def test_intervals_far_away_have_finite_losses() -> None:
    rows = sets(4)
    far = np.array([1e6, -1e6, 5, 0], dtype=np.float32)
    labels = FactRows(ATOMS, rows.starts, rows.atoms, far, far, far)
    order = np.arange(4, dtype=np.int32)
    for objective in ("interval", "squared"):
        trainer = _core.MlpTrainer(labels.native(), layers_of(SHAPES[0]), objective, 0.01)
        assert np.isfinite(trainer.loss(order)) and np.isfinite(trainer.epoch(order, 2, 1e-3))


def test_a_checkpoint_goes_on_with_the_same_bytes() -> None:
    rows = sets(300)
    layers = layers_of(SHAPES[0])
    order = np.arange(300, dtype=np.int32)
    whole = _core.MlpTrainer(rows.native(), layers)
    whole.epoch(order, 32, 1e-3)
    other = _core.MlpTrainer(rows.native(), layers)
    other.load(whole.weights(), whole.state())
    assert whole.epoch(order, 32, 1e-3) == other.epoch(order, 32, 1e-3)
    assert all_bytes(whole.weights()) == all_bytes(other.weights())
    assert whole.state()["step"] == 20


def test_rows_make_up_for_steps_without_them() -> None:
    """Atoms 0 to 9 appear in the first rows only, so Adam moves their weights without a gradient
    for so long that the core no longer repeats every step."""
    count, steps = 900, 700
    rng = np.random.default_rng(0)
    atoms = np.array(
        [rng.choice(10 if row < 30 else np.arange(10, ATOMS), 4, replace=False)
         for row in range(count)], dtype=np.int32)  # fmt: skip
    h = rng.uniform(2, 9, count).astype(np.float32)
    missing = np.full(count, np.nan, dtype=np.float32)
    starts = np.arange(0, 4 * count + 1, 4, dtype=np.int64)
    rows = FactRows(ATOMS, starts, atoms.reshape(-1), h, missing, missing)
    options = MlpOptions(hidden=20, width=16, output="none")
    layers = layers_of(options)
    order = np.concatenate([np.arange(30), 30 + np.arange(steps) % (count - 30)]).astype(np.int32)
    reference = network(options, layers).train()
    adam = torch.optim.Adam(reference.parameters(), lr=1e-3)
    for row in order:
        adam.zero_grad()
        losses(options, reference(dense(rows, [row]))[:, 0], rows, [row]).mean().backward()
        adam.step()
    found = set()
    for kernel in _core.mlp_kernel_names():
        trainer = _core.MlpTrainer(rows.native(), layers, kernel=kernel)
        trainer.epoch(order, 1, 1e-3)
        first = trainer.weights()[0][0]
        expected = reference.state_dict()["layers.0.dense.weight"].numpy()
        assert np.abs(first[:, :10] - expected[:, :10]).max() < 1e-5
        state = trainer.state()
        square = adam.state[next(iter(reference.parameters()))]["exp_avg_sq"].numpy()
        assert np.allclose(state["square"][0][0][:, :10], square[:, :10], rtol=1e-3, atol=1e-12)
        found.add(all_bytes(trainer.weights()))
    assert len(found) == 1


def test_limits_end_an_epoch() -> None:
    rows = sets(300)
    trainer = _core.MlpTrainer(rows.native(), layers_of(SHAPES[0]))
    order = np.resize(np.arange(300), 3_000_000).astype(np.int32)
    with pytest.raises(_core.Stopped, match="time"):
        trainer.epoch(order, 16, 1e-3, deadline=_core.monotonic_seconds() + 0.2)
    for layer in trainer.weights():
        assert np.isfinite(layer[0]).all()
    past = _core.monotonic_seconds() - 1
    found = train_mlp(rows.native(), ATOMS, MlpOptions(hidden=8, width=8), 0, past)
    assert found.stopped == "time" and found.best is None and len(found.layers) == 5


def test_bad_rows_and_networks_are_refused() -> None:
    good = sets(10)
    layers = layers_of(SHAPES[0])
    for change, message in (
        ({"num_atoms": 5}, "there is no atom"),
        ({"starts": good.starts[:-1]}, "starts must rise"),
        ({"starts": good.starts[::-1]}, "starts must rise"),
        ({"h": good.h[:-1]}, "one number per row"),
        ({"upper": np.full(10, np.inf)}, "infinite"),
        ({"lower": good.h + 1, "upper": good.h}, "lower bound over its upper"),
        ({"atoms": good.atoms - 100}, "there is no atom"),
    ):
        with pytest.raises(ValueError, match=message):
            FactRows(**{**good.__dict__, **change}).native()
    rows = good.native()
    weight, bias, activation, skip = layers[1]
    wrong: list[tuple[Any, str]] = [
        (layers[:1], "at least two layers"),
        (layers[:2], "must have one output"),
        ([layers[0], (weight, bias, "none", skip), *layers[2:]], "followed by relu"),
        ([layers[0], (weight, bias, activation, True), *layers[2:]], "a skip needs"),
        ([layers[0], (weight[:, :-1].copy(), bias, activation, skip), *layers[2:]], "inputs as"),
        ([layers[0], (weight * np.nan, bias, activation, skip), *layers[2:]], "not finite"),
    ]
    for given, message in wrong:
        with pytest.raises(ValueError, match=message):
            _core.MlpTrainer(rows, given)
    for atoms in (ATOMS + 1, 2**31 - 1):  # refused before weights for so many are made
        with pytest.raises(ValueError, match="inputs as"):
            _core.MlpTrainer(FactRows(**{**good.__dict__, "num_atoms": atoms}).native(), layers)
    for given in ({"objective": "cubed"}, {"scale": 0.0}, {"kernel": "abacus"}):
        with pytest.raises(ValueError, match=r"cubed|positive|abacus"):
            _core.MlpTrainer(rows, layers, **given)
    for name in OBJECTIVES:  # the registry says which of them the core can train
        if name not in objectives_of("mlp"):
            with pytest.raises(ValueError, match=name):
                _core.MlpTrainer(rows, layers, name)
    trainer = _core.MlpTrainer(rows, layers)
    for order in ([10], [-1]):
        with pytest.raises(ValueError, match="no row of such a number"):
            trainer.epoch(np.array(order, dtype=np.int32), 4, 1e-3)
    for batch, rate in ((0, 1e-3), (4, 0.0), (4, float("nan"))):
        with pytest.raises(ValueError, match=r"at least one row|must be positive"):
            trainer.epoch(np.arange(3, dtype=np.int32), batch, rate)


# -- the loop around it

SMALL = MlpOptions(hidden=16, width=16, learning_rate=3e-3, batch=32, epochs=8, patience=3)


def test_training_learns_and_keeps_the_best_epoch(tmp_path: Path) -> None:
    rows = sets(800)
    found = train_mlp(rows.native(), ATOMS, SMALL, 3)
    seen = [epoch["validation"] for epoch in found.curve]
    assert found.best is not None and found.best["validation"] == min(seen) < 0.5 * seen[0]
    assert found.stopped is None and not found.is_dead
    again = train_mlp(rows.native(), ATOMS, SMALL, 3)
    assert all_bytes(again.layers) == all_bytes(found.layers)
    assert all_bytes(train_mlp(rows.native(), ATOMS, SMALL, 4).layers) != all_bytes(found.layers)
    # The kept weights are those of the best epoch, and torch reads them.
    validation = np.random.default_rng([3]).permutation(800)[:160]
    y = network(SMALL, found.layers)(dense(rows, validation))[:, 0].detach().numpy()
    assert np.mean((y - rows.h[validation]) ** 2) == pytest.approx(
        found.best["validation"], rel=1e-4
    )


def test_patience_ends_training() -> None:
    rows = sets(200)
    options = MlpOptions(hidden=64, width=64, learning_rate=0.02, batch=8, epochs=500, patience=2)
    found = train_mlp(rows.native(), ATOMS, options, 0)
    assert found.best is not None
    assert len(found.curve) - 1 - found.best["epoch"] == 2 and len(found.curve) < 500


def test_dead_networks_are_drawn_again() -> None:
    """Of the smallest networks many give 0 for every state."""
    rows = sets(60)
    options = MlpOptions(hidden=2, width=2, epochs=2, draws=40)
    draws = [train_mlp(rows.native(), ATOMS, options, seed) for seed in range(12)]
    assert max(found.draws for found in draws) > 1
    assert all(not found.is_dead for found in draws)
    one = [train_mlp(rows.native(), ATOMS, MlpOptions(hidden=2, width=2, epochs=2, draws=1), s)
           for s in range(12)]  # fmt: skip
    assert any(found.is_dead for found in one)


def test_threads_train_side_by_side() -> None:
    rows = sets(300).native()
    alone = [all_bytes(train_mlp(rows, ATOMS, SMALL, seed).layers) for seed in range(3)]
    together: dict[int, bytes] = {}

    def work(seed: int) -> None:
        together[seed] = all_bytes(train_mlp(rows, ATOMS, SMALL, seed).layers)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[seed] for seed in range(3)] == alone


def test_options_that_make_no_sense_are_refused() -> None:
    for change in ({"hidden": 0}, {"blocks": -1}, {"validation": 1.0}, {"objective": "cubed"},
                   {"output": "softmax"}, {"init": "zeros"}, {"patience": 0}):  # fmt: skip
        with pytest.raises(ValueError, match=next(iter(change))):
            MlpOptions(**change)
    with pytest.raises(ValueError, match="at least two labelled states"):
        train_mlp(sets(1).native(), ATOMS, SMALL, 0)


def test_first_weights_are_those_of_torch() -> None:
    """By their distribution."""
    for init, spread in (("torch", 3**-0.5), ("he", 2**0.5)):
        layers = first_layers(ATOMS, MlpOptions(init=init), np.random.default_rng(0))
        assert [layer[0].shape[1] for layer in layers] == [ATOMS, 250, 250, 250, 250]
        assert all(before[0].shape[0] == after[0].shape[1] for before, after in pairwise(layers))
        assert [layer[3] for layer in layers] == [False, False, False, True, False]
        for weight, bias, _, _ in layers[:-1]:
            inputs = weight.shape[1]
            assert weight.std() == pytest.approx(spread * inputs**-0.5, rel=0.05)
            assert (bias.std() == 0) == (init == "he")

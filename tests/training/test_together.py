"""Networks trained as one program end where each of them ends alone."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from small_trainings import options

from hstar.slots.objectives import make_objective
from hstar.slots.objectives.objective import Objective
from hstar.training.dataset import Dataset
from hstar.training.loop import Loop
from hstar.training.options import TrainOptions
from hstar.training.together import parts_of, train_together
from hstar.training.train import prepare

pytestmark = pytest.mark.usefixtures("one_thread")

SHAPE = {"width": 4, "depth": 3}


def chosen(objective: Objective, seed: int, **changes: object) -> TrainOptions:
    found = options("nlm", objective, steps=30, evaluate_every=10, batch=32, **changes)
    return replace(found, seed=seed, model_options=SHAPE, learning_rate=0.01, clip=0.1)


def several() -> list[TrainOptions]:
    """Both likelihoods, with and without a base, three seeds."""
    return [
        chosen(make_objective(loss, base=base, cap=None), seed)
        for loss in ("gaussian", "truncated-gaussian")
        for base in ("none", "ff")
        for seed in (0, 1, 2)
    ]


def prepared(dataset: Dataset, which: list[TrainOptions]) -> list[Loop]:
    training, validation = dataset.split(0.3, 0)
    return [prepare(training, validation, one) for one in which]


def same(found: Loop, alone: Loop) -> None:
    """The same curve and weights within rounding; the core computes one, torch the other."""
    assert [line["step"] for line in found.curve] == [line["step"] for line in alone.curve]
    for one, other in zip(found.curve, alone.curve, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            assert one[name] == pytest.approx(other[name], rel=2e-3), name
    assert found.best["step"] == alone.best["step"]
    weights, expected = (
        loop.model_file().tensors["theta"].astype(np.float64) for loop in (found, alone)
    )
    assert np.abs(weights - expected).max() < 2e-3 * np.abs(expected).max()


def test_each_network_is_trained_as_it_would_be_alone(dataset: Dataset) -> None:
    which = several()
    together, alone = prepared(dataset, which), prepared(dataset, which)
    (part,) = parts_of(together)
    assert len(part) == len(which)
    assert train_together(together, [None] * len(which)) == [""] * len(which)
    for one, other in zip(together, alone, strict=True):
        other.run()
        same(one, other)
    ends = {loop.model_file().tensors["theta"].tobytes() for loop in together}
    assert len(ends) == len(which)  # no two are the same network


def test_only_networks_of_one_shape_and_schedule_share_a_program(dataset: Dataset) -> None:
    gaussian = make_objective("gaussian", base="none", cap=None)
    which = [
        chosen(gaussian, 0),
        chosen(gaussian, 1),
        replace(chosen(gaussian, 0), model_options={**SHAPE, "width": 5}),
        replace(chosen(gaussian, 0), weight_decay=0.5),
        chosen(make_objective("gaussian", sigma=1.0, base="none", cap=None), 0),  # one output
        options("linear", make_objective("squared"), steps=3),
    ]
    assert [len(part) for part in parts_of(prepared(dataset, which))] == [2, 1, 1, 1, 1]


def test_a_killed_run_goes_on_together_or_alone(dataset: Dataset, tmp_path: Path) -> None:
    which = several()[:4]
    whole, begun = prepared(dataset, which), prepared(dataset, which)
    train_together(whole, [None] * 4)
    paths = [tmp_path / f"{number}.partial" for number in range(4)]

    def stop(line: dict[str, float], _: int) -> None:
        if line["step"] == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # the first has 20 steps behind it, the others 10
        train_together(begun, paths, stop)
    again = prepared(dataset, which)
    assert train_together(again[:3], paths[:3]) == [""] * 3
    again[3].run(paths[3])
    for one, other in zip(again, whole, strict=True):
        same(one, other)


def test_a_network_that_fails_stops_no_other(dataset: Dataset) -> None:
    which = several()[:3]
    loops, alone = prepared(dataset, which), prepared(dataset, which)
    with torch.no_grad():
        loops[1].network.theta.fill_(math.nan)
    first, second, third = train_together(loops, [None] * 3)
    assert (first, third) == ("", "")
    assert "the train loss is nan at step 10" in second
    for number in (0, 2):
        alone[number].run()
        same(loops[number], alone[number])


def test_networks_stop_by_their_own_patience(dataset: Dataset) -> None:
    which = [replace(one, patience=1, steps=60, learning_rate=0.3) for one in several()[:3]]
    together, alone = prepared(dataset, which), prepared(dataset, which)
    train_together(together, [None] * 3)
    for one, other in zip(together, alone, strict=True):
        other.run()
        assert len(one.curve) == len(other.curve)

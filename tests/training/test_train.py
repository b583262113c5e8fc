"""Training: what comes out, what the file depends on, and what survives a kill."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from small_trainings import (
    CLASSES,
    RANKING,
    TINY,
    error_in_search,
    interrupted,
    options,
    train,
    trained,
)

from hstar import search
from hstar.slots.decode import find_decode
from hstar.slots.loader import load_model
from hstar.slots.objectives import OBJECTIVES, make_objective
from hstar.slots.objectives.likelihood import BASES, LOWER_BOUNDS, Gaussian
from hstar.slots.objectives.objective import Objective
from hstar.training.checkpoint import CheckpointError
from hstar.training.dataset import Dataset, fitted
from hstar.training.evaluation import baseline_mse, evaluate_model

pytestmark = pytest.mark.usefixtures("one_thread")


def objectives(name: str) -> Iterator[Objective]:
    """Many of one name, to train with."""
    if name in CLASSES:
        yield make_objective(name)
        if name == "cea":
            yield make_objective(name, pace="phases")
        return
    if name in (*RANKING, "squared", "bellman"):
        for base in BASES:
            yield make_objective(name, base=base)
        return
    if name == "interval":
        for base, lower in itertools.product(("none", "ff"), LOWER_BOUNDS):
            yield make_objective(name, base=base, lower=lower, scale=0.5)
        return
    bases = itertools.product(("none", "ff", "lmcut"), LOWER_BOUNDS)
    for (base, lower), sigma in itertools.product(
        [*bases, ("hmax", "lmcut"), ("hadd", "blind"), ("goalcount", "hmax")], (None, 1.4)
    ):
        objective = make_objective(name, sigma=sigma, base=base, lower=lower, cap=None)
        assert isinstance(objective, Gaussian)
        if objective.can_be_capped and sigma is None:
            objective = replace(objective, cap=1.3)
        yield objective


@pytest.mark.parametrize("model", TINY)
@pytest.mark.parametrize("loss", OBJECTIVES)
def test_every_objective_trains_and_plans(
    model: str, loss: str, dataset: Dataset, tmp_path: Path
) -> None:
    data, steps = dataset.select([0]), 1 if model in ("hgn", "gnn") else 2
    for objective in objectives(loss):
        path = tmp_path / "m.safetensors"
        result = train(data, data, path, options(model, objective, steps=steps))
        assert math.isfinite(result.best["validation_loss"]), objective
        learned = load_model(path)
        expected = json.loads(json.dumps(fitted(objective, data).to_dict()))
        assert learned.metadata["objective"] == expected
        assert learned.decode == find_decode(None, objective)
        assert search(data.tasks[0].task, learned).solved, objective


def test_the_loss_decreases(dataset: Dataset, tmp_path: Path) -> None:
    chosen = options("nlm", steps=150, evaluate_every=15, batch=44)
    result = train(dataset, dataset, tmp_path / "m.safetensors", chosen)
    losses = [line["train_loss"] for line in result.curve]
    assert losses[-1] < losses[0] / 1.5
    assert result.best["validation_mse"] < 0.8 * baseline_mse(dataset, "ff")
    assert result.best["validation_mse"] == min(line["validation_mse"] for line in result.curve)


@pytest.mark.parametrize("model", TINY)
def test_the_file_holds_the_best_weights_and_search_sees_their_values(
    model: str, dataset: Dataset, tmp_path: Path
) -> None:
    """Trained on labels that are 20 too large, the network gets worse all the time."""
    path = tmp_path / "m.safetensors"
    too_large = {**dataset.columns, "h_star": dataset.column("h_star") + 20}
    chosen = options(model, learning_rate=0.01)
    result = train(replace(dataset, columns=too_large), dataset, path, chosen)
    assert result.best["step"] < result.curve[-1]["step"]
    metrics = evaluate_model(path, dataset)
    assert metrics["mse"] == pytest.approx(result.best["validation_mse"], rel=1e-4)
    assert metrics["nll"] == pytest.approx(result.best["validation_loss"], rel=1e-4)
    assert (metrics["states"], metrics["problems"]) == (len(dataset), len(dataset.tasks))
    for decode, mse in (("truncated-mean", metrics["mse"]), ("clip", metrics["mse_clip"])):
        error = error_in_search(load_model(path, decode), dataset)
        assert error == pytest.approx(mse, rel=1e-3)


# -- the same file again


@pytest.mark.parametrize("loss", ["truncated-gaussian", "l-star"])
@pytest.mark.parametrize("model", TINY)
def test_a_seed_decides_the_file(model: str, loss: str, dataset: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    chosen = options(model, make_objective(loss))
    first = trained(dataset, path, chosen)
    assert trained(dataset, path, chosen) == first
    if model in ("nlm", "linear"):  # matrix products of torch round differently with more threads
        torch.set_num_threads(2)
        assert trained(dataset, path, chosen) == first
    assert trained(dataset, path, replace(chosen, seed=1)) != first


@pytest.mark.parametrize(
    ("model", "loss"), [("nlm", "truncated-gaussian"), ("hgn", "gaussian"), ("linear", "l-star")]
)
def test_an_interrupted_run_goes_on_where_it_was(
    model: str, loss: str, dataset: Dataset, tmp_path: Path
) -> None:
    chosen = options(model, make_objective(loss), steps=20)
    expected = trained(dataset, tmp_path / "whole.safetensors", chosen)
    path = tmp_path / "m.safetensors"
    assert interrupted(dataset, path, chosen, after=8) == [4, 8]
    assert interrupted(dataset, path, chosen, after=12) == [8, 12]
    steps: list[int] = []
    train(dataset, dataset.select([0]), path, chosen, lambda line, _: steps.append(line["step"]))
    assert steps == [12, 16, 20]
    assert path.read_bytes() == expected
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.safetensors", "whole.safetensors"]


def test_the_checkpoint_of_another_run_is_refused_and_kept(
    dataset: Dataset, tmp_path: Path
) -> None:
    path, partial = tmp_path / "m.safetensors", tmp_path / "m.safetensors.partial"
    chosen = options(steps=12)
    expected = trained(dataset, tmp_path / "whole.safetensors", chosen)
    interrupted(dataset, path, chosen, after=8)
    held = partial.read_bytes()
    for data, other in (
        (dataset, replace(chosen, seed=1)),
        (dataset, replace(chosen, objective=make_objective("truncated-gaussian", epsilon=0.2))),
        (dataset, replace(chosen, model_options={"width": 4, "depth": 4, "dense": True})),
        (dataset, replace(chosen, decode="clip")),
        (dataset.select([0, 1, 2]), chosen),
    ):
        with pytest.raises(CheckpointError, match="other labels, options or code; delete it"):
            trained(data, path, other)
        assert partial.read_bytes() == held
        assert not path.exists()
    assert trained(dataset, path, chosen) == expected  # it can still be continued


def test_a_damaged_checkpoint_is_refused_and_kept(dataset: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    partial = tmp_path / "m.safetensors.partial"
    chosen = options(steps=12)
    interrupted(dataset, path, chosen, after=8)
    content = partial.read_bytes()
    for damaged in (b"", content[:100], content[: len(content) // 2]):
        partial.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"cannot be read .*; delete it to start anew"):
            trained(dataset, path, chosen)
        assert partial.read_bytes() == damaged
        assert not path.exists()

"""The cap on the heuristic that a network corrects: its values, its fit, and that training,
evaluation and search all look at the capped one."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_trainings
from label_folders import generated
from numpy.typing import NDArray
from small_trainings import LABELLING, TINY, Killed, error_in_search, kill_at, train

from hstar.commands.cli import run as run_cli
from hstar.domains import generate
from hstar.papers.truncated_gaussian.scales import SCALES
from hstar.slots.loader import load_model
from hstar.slots.objectives import make_objective
from hstar.slots.objectives.cap import capped_base, fitted_cap
from hstar.slots.objectives.likelihood import TruncatedGaussian
from hstar.slots.teachers import label
from hstar.training.checkpoint import CheckpointError
from hstar.training.dataset import Dataset, base_error, fitted, load_dataset, target_columns
from hstar.training.evaluation import baseline_mse, evaluate_model
from hstar.training.options import TrainOptions


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four visitall problems, where h^FF is too large and LM-cut nearly right."""
    folder = tmp_path_factory.mktemp("visitall")
    generate("visitall", folder, ["train"], count=4, ranges={"side": range(4, 6)})
    label(folder / "train", folder / "visitall.parquet", LABELLING)
    return folder / "visitall.parquet"


@pytest.fixture(scope="module")
def dataset(labels: Path) -> Dataset:
    return load_dataset(labels)


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Blocksworld, where h^FF is too small as often as too large."""
    folder = tmp_path_factory.mktemp("blocks")
    label(generated(folder, "3-4", count=6), folder / "blocks.parquet", LABELLING)
    return load_dataset(folder / "blocks.parquet")


def options(model: str = "linear", **changes: Any) -> TrainOptions:
    return small_trainings.options(model, **{"steps": 6, "evaluate_every": 2, **changes})


def with_fitted_cap(dataset: Dataset) -> TruncatedGaussian:
    """The default objective, which has a cap where the labels ask for one."""
    found = fitted(TruncatedGaussian(), dataset)
    assert isinstance(found, TruncatedGaussian)
    return found


def floats(*numbers: float) -> NDArray[np.float32]:
    return np.array(numbers, dtype=np.float32)


# -- values


def test_the_base_is_at_most_cap_times_the_bound() -> None:
    base, lower = floats(10, 5, 6, 0, 3), floats(4, 4, 4, 0, 7)
    assert capped_base(base, lower, 1.5).tolist() == [6, 5, 6, 0, 3]
    assert capped_base(base, lower, 1.0).tolist() == [4, 4, 4, 0, 3]
    assert capped_base(base, lower, None) is base
    assert capped_base(floats(10), floats(7), 1.1)[0] == np.float32(1.1) * np.float32(7)
    assert capped_base(base, lower, 1.1).dtype == np.float32


def test_no_cap_hides_a_dead_end() -> None:
    infinity = math.inf
    base, lower = floats(infinity, 5, infinity), floats(4, infinity, infinity)
    assert capped_base(base, lower, 1.5).tolist() == [infinity, 5, infinity]


# -- the fit


def test_the_fit_finds_the_cap_that_made_the_labels() -> None:
    rng = np.random.default_rng(0)
    lower = rng.integers(1, 30, 300).astype(np.float32)
    base = lower + rng.integers(0, 40, 300).astype(np.float32)
    for cap in (1.0, 1.25, 2.37, 5.0):
        h_star = np.minimum(base, cap * lower).astype(np.float32)
        assert fitted_cap(base, lower, h_star) == cap


def test_the_fit_is_the_least_squared_error() -> None:
    # (4 c - 5)^2 + (10 c - 14)^2 is least at c = 160 / 116.
    assert fitted_cap(floats(9, 30), floats(4, 10), floats(5, 14)) == 1.38
    # A third state that no cap touches, since its base is below the bound.
    assert fitted_cap(floats(9, 30, 2), floats(4, 10, 3), floats(5, 14, 3)) == 1.38


def test_no_cap_where_it_helps_little() -> None:
    """Capping takes the error of the first state from 4 to 0, the second's remains."""
    base, lower = floats(6, 1), floats(4, 2)
    assert fitted_cap(base, lower, floats(4, 7)) == 1.0  # 40 -> 36, a tenth
    assert fitted_cap(base, lower, floats(4, 7.1)) is None  # 41.21 -> 37.21, less
    assert fitted_cap(base, lower, base) is None  # no error at all
    assert fitted_cap(base, base + 1, base + 5) is None  # nothing above the bound
    assert fitted_cap(floats(), floats(), floats()) is None


def test_of_equally_good_caps_the_largest() -> None:
    assert fitted_cap(floats(100), floats(50), floats(75.25)) == 1.51  # 75 and 75.5 err alike
    assert fitted_cap(floats(5), floats(0), floats(0)) == 5.0


# -- objectives


def test_labels_decide_whether_there_is_a_cap(dataset: Dataset, blocks: Dataset) -> None:
    uncapped = TruncatedGaussian(cap=None)
    found = with_fitted_cap(dataset)
    assert isinstance(found.cap, float) and 1 < found.cap < 1.2
    assert base_error(dataset, found) < 0.2 * base_error(dataset, uncapped)
    assert base_error(dataset, uncapped) == pytest.approx(baseline_mse(dataset, "ff"))
    assert with_fitted_cap(blocks) == uncapped


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "gaussian"},
        {"base": "none"},
        {"base": "lmcut"},
        {"lower": "none"},
        {"lower": "blind"},
        {"cap": 3.0},
        {"cap": None},
    ],
)
def test_what_is_not_fitted(fields: dict[str, Any], dataset: Dataset) -> None:
    given = {"name": "truncated-gaussian", **fields}
    found = fitted(make_objective(**given), dataset)
    assert found == make_objective(**{**given, "cap": fields.get("cap")})
    ranking = make_objective("l-gbfs")
    assert fitted(ranking, dataset) == ranking


def test_targets_hold_the_capped_base(dataset: Dataset) -> None:
    columns = target_columns(dataset, make_objective("gaussian", cap=1.1))
    expected = np.minimum(dataset.column("ff"), np.float32(1.1) * dataset.column("lmcut"))
    assert np.array_equal(columns["base"], expected)
    assert (expected < dataset.column("ff")).any() and (expected == dataset.column("ff")).any()


# -- training


@pytest.mark.parametrize("model", TINY)
def test_search_and_evaluation_see_what_training_saw(
    model: str, dataset: Dataset, tmp_path: Path
) -> None:
    path = tmp_path / "m.safetensors"
    result = train(dataset, dataset, path, options(model))
    learned = load_model(path)
    assert learned.metadata["objective"] == with_fitted_cap(dataset).to_dict()
    assert learned.metadata["decode"]["cap"] == with_fitted_cap(dataset).cap
    metrics = evaluate_model(path, dataset)
    assert metrics["mse"] == pytest.approx(result.best["validation_mse"], rel=1e-4)
    assert error_in_search(learned, dataset) == pytest.approx(metrics["mse"], rel=1e-3)


def test_a_given_cap_is_kept_and_none_stays_none(dataset: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    for chosen, cap in (
        (options(objective=make_objective("truncated-gaussian", cap=2.5)), 2.5),
        (options(objective=make_objective("gaussian", cap=2.5)), 2.5),
        (options(objective=make_objective("gaussian")), None),
        (options(objective=make_objective("truncated-gaussian", cap=None)), None),
    ):
        train(dataset, dataset, path, chosen)
        assert load_model(path).metadata["objective"]["cap"] == cap


def test_an_interrupted_run_goes_on_only_with_the_same_cap(
    dataset: Dataset, tmp_path: Path
) -> None:
    def steps_of(chosen: TrainOptions, name: str) -> list[int]:
        steps: list[int] = []
        path = tmp_path / name
        train(dataset, dataset, path, chosen, lambda line, _: steps.append(line["step"]))
        return steps

    path = tmp_path / "m.safetensors"
    assert steps_of(options(), "whole.safetensors") == [2, 4, 6]
    with pytest.raises(Killed):
        train(dataset, dataset, path, options(), kill_at(4))
    for cap in (None, 2.0):
        other = options(objective=make_objective("truncated-gaussian", cap=cap))
        with pytest.raises(CheckpointError, match="other labels, options or code"):
            steps_of(other, path.name)
    assert steps_of(options(), path.name) == [4, 6]
    assert path.read_bytes() == (tmp_path / "whole.safetensors").read_bytes()


def test_the_published_method_has_no_cap() -> None:
    assert {name for name, scale in SCALES.items() if scale.fit_cap} == {"proposed"}


# -- the command


@pytest.mark.parametrize("argument", ["fit", "none", "1.5", None])
def test_the_command_says_what_it_fitted(
    argument: str | None,
    labels: Path,
    dataset: Dataset,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "m.safetensors"
    arguments = [str(labels), "--validation", str(labels), "-m", "linear", "--steps", "2"]
    if argument is not None:
        arguments += ["--cap", argument]
    assert run_cli(["train", *arguments, "-o", str(path)]) == 0
    out = capsys.readouterr().out
    found = with_fitted_cap(dataset)
    expected = {"none": None, "1.5": 1.5}.get(argument or "fit", found.cap)
    assert load_model(path).metadata["objective"]["cap"] == expected
    resolved = json.loads(path.with_name(f"{path.name}.json").read_text())
    assert resolved["objective"]["cap"] == expected
    errors = (base_error(dataset, replace(found, cap=cap)) for cap in (None, found.cap))
    line = "ff is capped at {:.2f} x lmcut: its squared error on the training labels falls from "
    line += "{:.2f} to {:.2f}\n"
    assert (line.format(found.cap, *errors) in out) == (argument in ("fit", None))
    assert ("capped" in out) == (argument in ("fit", None))

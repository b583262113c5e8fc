"""Entries from outside the package: by `module:attribute`, as entry points, or added at runtime.

The examples are what a user would write. Each is trained, planned and benchmarked with, the last in
worker processes, which must find it as well.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from label_folders import generated
from program import hstar as hstar_program
from small_trainings import train

import hstar
from hstar import search
from hstar.commands.cli import main
from hstar.experiments.bench import read_runs
from hstar.runtime.registry import Registry
from hstar.slots.decode import DECODES, Quantile
from hstar.slots.features import FEATURES
from hstar.slots.model_file import read_model
from hstar.slots.models import MODELS
from hstar.slots.models.mlp import MLPModel
from hstar.slots.objectives import OBJECTIVES, make_objective
from hstar.slots.objectives.likelihood import Gaussian
from hstar.slots.teachers import LabelOptions, label
from hstar.training.dataset import Dataset, load_dataset
from hstar.training.evaluation import evaluate_model
from hstar.training.options import TrainOptions

EXAMPLES = Path(__file__).parents[2] / "examples"
TEACHER = "teacher_random_walks:TEACHER"
MODEL = "my_model:MODEL"
OBJECTIVE = "my_objective:Pinball"
HEURISTIC = "my_heuristic:OpenGoals"
QUICK = ["--steps", "6", "--evaluate-every", "3", "--device", "cpu", "--threads", "1"]


@pytest.fixture(autouse=True)
def _in_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """The directory that `module:attribute` is looked for in; the search path is restored."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(EXAMPLES)


def program(*arguments: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        main([os.fspath(one) for one in arguments])
    assert ended.value.code == 0, arguments


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Four problems, and labels of the teacher among the examples."""
    before, path = os.getcwd(), list(sys.path)
    base = tmp_path_factory.mktemp("outside")
    problems = generated(base, blocks="3-3", count=4)
    os.chdir(EXAMPLES)
    program("label", problems, "-o", base / "labels.parquet", "--teacher", TEACHER, "--jobs", "1")
    os.chdir(before)
    sys.path[:] = path
    yield base


@pytest.fixture(scope="module")
def dataset(folder: Path) -> Dataset:
    label(folder / "train", folder / "exact.parquet", LabelOptions(jobs=1))
    return load_dataset(folder / "exact.parquet")


def test_examples_are_short() -> None:
    for path in EXAMPLES.glob("*.py"):
        assert len(path.read_text().splitlines()) < 60, path.name


def test_examples_from_labels_to_the_report(folder: Path, tmp_path: Path) -> None:
    """A model and an objective are trained; bench runs them and the heuristic in its workers."""
    labels = folder / "labels.parquet"
    mine, low = tmp_path / "mine.safetensors", tmp_path / "low.safetensors"
    both = tmp_path / "both.safetensors"
    program("train", labels, "-m", MODEL, "--option", "hidden=5", "-o", mine, *QUICK)
    own = ["--option", "level=0.3", "--base", "none"]
    program("train", labels, "-l", OBJECTIVE, *own, "-m", "linear", "-o", low, *QUICK)
    program("train", labels, "-l", OBJECTIVE, "-m", MODEL, "-o", both, *QUICK)
    held = {path.stem: read_model(path, trust=True).metadata for path in (mine, low, both)}
    assert held["mine"]["model"]["name"] == held["both"]["model"]["name"] == MODEL
    assert held["mine"]["model"]["config"]["hidden"] == 5
    assert held["low"]["objective"] == {"name": OBJECTIVE, "base": "none", "level": 0.3}
    problem = sorted((folder / "train").glob("blocks*.pddl"))[0]
    heuristics = [mine, low, both, HEURISTIC]
    for heuristic in heuristics:
        plan = tmp_path / "plan"
        program("plan", problem, "-H", heuristic, "--trust", "-s", "gbfs", "--plan-file", plan)
        assert plan.is_file()
        plan.unlink()
    runs = tmp_path / "runs.parquet"
    program("bench", folder / "train", "-H", *heuristics, "--trust", "-o", runs, "--jobs", "2")
    rows = read_runs(runs).rows
    assert rows["error"].to_list() == ["solved"] * 16, rows["message"].to_list()
    algorithms = set(rows["algorithm"])
    assert algorithms == {"gbfs(mine)", "gbfs(low)", "gbfs(both)", f"gbfs({HEURISTIC})"}
    program("report", runs, "-o", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert all(name in page for name in ("mine", "low", "both", HEURISTIC))


def test_an_outside_objective_minimises_its_own_loss(dataset: Dataset, tmp_path: Path) -> None:
    """With the level near 0 estimates end up below the labels, near 1 above them."""
    errors = []
    for level in (0.05, 0.95):
        output = tmp_path / f"{level}.safetensors"
        objective = make_objective(OBJECTIVE, level=level, base="none")
        chosen = TrainOptions("linear", objective=objective, steps=400, batch=32, device="cpu")
        train(dataset, dataset, output, chosen)
        task, states = dataset.tasks[0].task, dataset.tasks[0].states
        bound: Any = hstar.load_model(output, trust=True).bind(task)
        h = bound.evaluate(states)
        exact = dataset.column("h_star")[dataset.task_numbers == 0]
        errors.append(float((h - exact).mean()))
    assert errors[0] < 0 < errors[1]


@dataclass(frozen=True)
class Stubborn(Gaussian):
    """Whatever the labels say, outputs go to -2; and it has no name of its own."""

    told: ClassVar[float] = 0.0
    decodes: ClassVar[tuple[str, ...]] = ("mean",)
    score: ClassVar[str] = "loss"

    def loss(self, outputs: Any, targets: Any) -> Any:
        losses = (outputs[:, 0] + 2) ** 2 + 0 * outputs[:, -1]
        Stubborn.told = float(losses.detach().mean())
        return losses


def test_a_name_added_at_runtime_trains_what_it_names(
    folder: Path, dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OBJECTIVES, "stubborn", Stubborn)
    output = tmp_path / "model.safetensors"
    arguments = ["--base", "none", "--cap", "none", "-m", "linear", "--steps", "100"]
    arguments += ["--learning-rate", "0.1", "--clip", "0", "--threads", "1"]
    labels = folder / "labels.parquet"
    program("train", labels, "-l", "stubborn", "-o", output, *arguments, "--device", "cpu")
    bound: Any = hstar.load_model(output, trust=True).bind(dataset.tasks[0].task)
    assert bound.evaluate(dataset.tasks[0].states) == pytest.approx(-2, abs=1)


def test_an_objective_without_a_name_is_found_again(dataset: Dataset, tmp_path: Path) -> None:
    """It must not pass for the one that it inherits from."""
    output = tmp_path / "model.safetensors"
    chosen = TrainOptions("linear", objective=Stubborn(), steps=2, batch=8, device="cpu")
    train(dataset, dataset, output, chosen)
    assert read_model(output, trust=True).metadata["objective"]["name"] == "test_examples:Stubborn"
    assert evaluate_model(output, dataset, trust=True)["nll"] == pytest.approx(Stubborn.told)


class OwnQuantile(Quantile):
    """Has the name of a decode of the core, and does something else."""

    def value(self, outputs: Any, base: Any, lower: Any, constants: Any) -> Any:
        return torch.full_like(base, 7.5)


OWN_QUANTILE = OwnQuantile()


class OwnMLP(MLPModel):
    """Reads features by their place, and a table in floating point only."""

    features = ("hstar.slots.features.relaxed_plans:RELAXED_PLANS", "digits")
    can_round = False


OWN_MLP = OwnMLP()


def test_names_in_a_file_are_those_that_were_given(dataset: Dataset, tmp_path: Path) -> None:
    """Features and decodes from outside are stored by the name that finds them."""
    output = tmp_path / "model.safetensors"
    chosen = TrainOptions(
        "test_examples:OWN_MLP",
        objective=make_objective("ce"),
        decode="test_examples:OWN_QUANTILE",
        steps=2,
        batch=8,
        device="cpu",
    )
    train(dataset, dataset, output, chosen)
    held = read_model(output, trust=True).metadata
    assert held["features"]["name"] == OwnMLP.features[0]
    assert held["decode"]["name"] == "test_examples:OWN_QUANTILE"
    task = dataset.tasks[0].task
    bound: Any = hstar.load_model(output, trust=True).bind(task)
    assert set(bound(dataset.tasks[0].states).tolist()) == {7.5}
    assert search(task, hstar.load_model(output, trust=True)).solved


def test_errors_use_the_constants_of_the_file(dataset: Dataset, tmp_path: Path) -> None:
    """tau was taken from the decode's defaults, whatever the file said."""
    errors = []
    for tau in (0.0, 1.0):
        output = tmp_path / f"{tau}.safetensors"
        chosen = TrainOptions(
            "linear",
            objective=make_objective("ce"),
            decode="quantile",
            decode_options={"tau": tau},
            steps=3,
            evaluate_every=3,
            batch=8,
            device="cpu",
        )
        curve = train(dataset, dataset, output, chosen).curve
        errors.append(evaluate_model(output, dataset)["mse"])
        assert curve[-1]["validation_mse"] == pytest.approx(errors[-1])
    assert errors[0] != pytest.approx(errors[1])


ENTRY_POINT = """[hstar.models]
mine = my_model:MODEL

[hstar.objectives]
pinball = my_objective:Pinball

[hstar.heuristics]
open-goals = my_heuristic:OpenGoals

[hstar.teachers]
walks = teacher_random_walks:TEACHER
"""


def test_entry_points(folder: Path, tmp_path: Path) -> None:
    """What an installed package registers has a plain name, also in worker processes."""
    site = tmp_path / "site"
    information = site / "hstar_extras-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: hstar-extras\nVersion: 1.0\n"
    )
    (information / "entry_points.txt").write_text(ENTRY_POINT)
    for path in EXAMPLES.glob("*.py"):
        (site / path.name).write_text(path.read_text())
    changes = {"PYTHONPATH": os.pathsep.join([str(Path(hstar.__file__).parent.parent), str(site)])}

    def outside(*arguments: Any) -> str:
        done = hstar_program(*arguments, cwd=tmp_path, changes=changes)
        assert done.code == 0, done.err
        return done.out

    labels, model = tmp_path / "labels.parquet", tmp_path / "model.safetensors"
    outside("label", folder / "train", "-o", labels, "--teacher", "walks", "--jobs", "1")
    outside("train", labels, "-m", "mine", "-l", "pinball", "-o", model, *QUICK)
    held = read_model(model).metadata
    assert held["model"]["name"] == "mine"
    runs = tmp_path / "runs.parquet"
    outside("bench", folder / "train", "-H", model, "open-goals", "-o", runs)
    assert set(read_runs(runs).rows["error"]) == {"solved"}
    problem = sorted((folder / "train").glob("blocks*.pddl"))[0]
    assert json.loads(outside("plan", problem, "-H", model, "--json"))["solved"]


@pytest.mark.parametrize("registry", [FEATURES, MODELS, OBJECTIVES, DECODES], ids=lambda r: r.kind)
def test_objects_that_are_no_entries(registry: Registry[Any]) -> None:
    with pytest.raises(ValueError, match="'pathlib:Path' is not a"):
        registry.find("pathlib:Path")

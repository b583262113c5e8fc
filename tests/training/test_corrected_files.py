"""Any heuristic as base or lower bound of a model: of a file, learned, or of the user's own."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from small_patterns import OPTIONS
from small_trainings import options, train

from hstar import search
from hstar.pdb import PdbFileError, build_pdb, choose_pattern, write_pdb
from hstar.planning.heuristics import make_heuristic
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.loader import find_heuristic, load_model
from hstar.slots.model_file import ModelFileError
from hstar.slots.objectives import make_objective
from hstar.training.certified.learning import learn
from hstar.training.dataset import Dataset
from hstar.training.source import TableData

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def one(dataset: Dataset) -> Dataset:
    """One problem: a pattern database belongs to a task."""
    number = int(np.argmax([len(labelled.states) for labelled in dataset.tasks]))
    return dataset.select([number])


@pytest.fixture(scope="module")
def files(one: Dataset, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Names of heuristics, each written for the task of that problem."""
    folder = tmp_path_factory.mktemp("heuristics")
    task = one.tasks[0].task
    database = build_pdb(task, choose_pattern(task, 2000))
    write_pdb(folder / "blocks.pdb", database)
    assert learn(TableData(database, task), folder / "certified.safetensors", OPTIONS) is not None
    train(one, one, folder / "model.safetensors", options("linear", make_objective("squared")))
    return {
        "database": f"pdb:{folder / 'blocks.pdb'}",
        "certified": f"pdb:{folder / 'certified.safetensors'}",
        "certified alone": str(folder / "certified.safetensors"),
        "model": str(folder / "model.safetensors"),
        "code": "oracle_heuristics:two",
    }


@pytest.fixture
def own_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def two(states):\n    return [2.0] * len(states)\n"
    (tmp_path / "oracle_heuristics.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)


def values(learned: LearnedHeuristic, data: Dataset) -> np.ndarray:
    task = data.tasks[0].task
    return make_heuristic(task, learned).evaluate(data.tasks[0].states)


@pytest.mark.parametrize("name", ["database", "certified", "certified alone"])
def test_a_certified_bound_holds_in_training_and_search(
    name: str, one: Dataset, files: dict[str, str], tmp_path: Path
) -> None:
    """Both see the values of the file, and no value of the model lies below them."""
    objective = make_objective("truncated-gaussian", base="none", lower=files[name], cap=None)
    path = tmp_path / "m.safetensors"
    result = train(one, one, path, options("nlm", objective))
    task, states = one.tasks[0].task, one.tasks[0].states
    bound = make_heuristic(task, find_heuristic(files[name])).evaluate(states)
    assert bound.max() > 0
    assert one.column(files[name]).tolist() == bound.tolist()
    assert (bound <= one.column("h_star")).all()
    learned = load_model(path)
    assert learned.metadata["objective"]["lower"] == files[name]
    found = values(learned, one)
    assert (found >= bound - objective.constants()["epsilon"] - 1e-5).all()
    mse = float(np.mean((found - one.column("h_star")) ** 2))
    assert mse == pytest.approx(result.best["validation_mse"], rel=1e-3)
    assert search(task, learned).solved


@pytest.mark.parametrize("name", ["database", "certified", "model", "code"])
@pytest.mark.parametrize("model", ["nlm", "linear"])
def test_any_heuristic_is_a_base(
    model: str,
    name: str,
    one: Dataset,
    files: dict[str, str],
    tmp_path: Path,
    own_code: None,
) -> None:
    """A model that corrects nothing yet has nearly the values of its base."""
    objective = make_objective("squared", base=files[name])
    path = tmp_path / "m.safetensors"
    chosen = options(model, objective, steps=1, evaluate_every=1, learning_rate=1e-9)
    train(one, one, path, chosen)
    plain = options(model, make_objective("squared", base="none"), steps=1, learning_rate=1e-9)
    train(one, one, tmp_path / "plain.safetensors", plain)
    trust = name == "code"
    if trust:
        with pytest.raises(ModelFileError, match="wants to run the code oracle_heuristics:two"):
            load_model(path)
    learned = load_model(path, trust=trust)
    without = values(load_model(tmp_path / "plain.safetensors"), one)
    expected = without + one.column(files[name])
    assert values(learned, one) == pytest.approx(expected, abs=1e-3)
    assert search(one.tasks[0].task, learned).solved


def test_a_file_is_found_beside_the_model_or_missed_clearly(
    one: Dataset, files: dict[str, str], tmp_path: Path
) -> None:
    kept = Path(files["database"].removeprefix("pdb:"))
    name = tmp_path / "elsewhere" / "blocks.pdb"
    name.parent.mkdir()
    shutil.copy(kept, name)
    objective = make_objective("squared", base=f"pdb:{name}")
    path = tmp_path / "m.safetensors"
    train(one, one, path, options("linear", objective))
    before = values(load_model(path), one)
    name.unlink()
    with pytest.raises(ModelFileError, match=r"needs the heuristic .*blocks.pdb.*beside the model"):
        values(load_model(path), one)
    shutil.copy(kept, tmp_path)
    assert values(load_model(path), one).tolist() == before.tolist()


def test_other_tasks_are_refused(dataset: Dataset, files: dict[str, str], tmp_path: Path) -> None:
    objective = make_objective("squared", base=files["database"])
    with pytest.raises(PdbFileError, match="built for another task; build one for this problem"):
        train(dataset, dataset, tmp_path / "m.safetensors", options("linear", objective))

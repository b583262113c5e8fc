"""A file names what it is made of; a name of code that came with the file is never imported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from label_folders import generated
from program import hstar as program
from untrained_models import untrained

import hstar
from hstar.planning.task import Task, load_task
from hstar.slots.loader import find_heuristic
from hstar.slots.model_file import (
    ModelFile,
    ModelFileError,
    TrustedCodeWarning,
    read_model,
    write_model,
)
from hstar.slots.objectives import make_objective

DATA = Path(__file__).parents[1] / "data" / "strips"
PLANTED = "from pathlib import Path\nPath(__file__).with_name('it_ran').touch()\nS = None\n"


@pytest.fixture(scope="module")
def task() -> Task:
    return load_task(DATA / "domain.pddl", DATA / "problem.pddl")


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "quietmod.py").write_text(PLANTED)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(*keys: Any) -> Callable[[dict[str, Any], str], None]:
    """Puts a name at a place of the metadata."""

    def change(held: Any, name: str) -> None:
        for key in keys[:-1]:
            held = held[key]
        held[keys[-1]] = name

    return change


PLACES = {
    "features": put("features", "name"),
    "model": put("model", "name"),
    "objective": put("objective", "name"),
    "base": put("objective", "base"),
    "decode": put("decode", "name"),
    "lower": put("decode", "lower"),
    "algorithm": put("search", "algorithm"),
    "preferred_by": put("search", "preferred_by"),
    "heuristic": put("search", "heuristic"),
    "in turns": put("search", "alternating", 0, "algorithm"),
}


def written(task: Task, place: str, path: Path, name: str = "quietmod:S") -> Path:
    held = untrained("linear", task, make_objective("gaussian", sigma=1.0)).file
    metadata = json.loads(json.dumps(held.metadata))
    metadata["search"] = {"algorithm": "lazy", "alternating": [{"algorithm": "gbfs"}]}
    PLACES[place](metadata, name)
    write_model(path, ModelFile(metadata, held.tensors))
    return path


@pytest.mark.parametrize("place", PLACES)
def test_a_file_imports_nothing_by_itself(place: str, task: Task, planted: Path) -> None:
    path = written(task, place, planted / "model.safetensors")
    domain, problem = DATA / "domain.pddl", DATA / "problem.pddl"
    for use in (
        lambda: hstar.plan(domain, problem, path),
        lambda: hstar.load_model(path),
        lambda: find_heuristic(f"pdb:{path}"),
        lambda: read_model(path),
    ):
        with pytest.raises(
            ModelFileError, match=r"run the code quietmod:S; if you trust it, plan with --trust"
        ):
            use()
    assert not (planted / "it_ran").exists()


def test_no_command_imports_what_a_file_names(task: Task, planted: Path) -> None:
    path = written(task, "algorithm", planted / "model.safetensors")
    problem = DATA / "problem.pddl"
    for command in (
        ["plan", problem, "-H", path],
        ["bench", problem, "-H", path, "-o", "runs.parquet"],
        ["bench", problem, f"--config=-H {path}", "-o", "runs.parquet"],
        ["solve", "tiles-3x3", "--scramble", "3", "-H", path],
        ["solve", "tiles-3x3", "--scramble", "3", "-H", f"pdb:{path}"],
    ):
        done = program(*command, cwd=planted)
        assert done.code in (31, 36), done
        assert "quietmod:S" in done.err
        assert "Traceback" not in done.err
    shown = program("model", "show", path, cwd=planted)
    assert shown.code == 0
    assert "quietmod:S" in shown.out
    assert not (planted / "it_ran").exists()


def test_trust_says_what_runs(task: Task, planted: Path) -> None:
    path = written(task, "model", planted / "model.safetensors")
    with pytest.warns(TrustedCodeWarning, match=r"model.safetensors runs the code quietmod:S"):
        read_model(path, trust=True)
    done = program("plan", DATA / "problem.pddl", "-H", path, "--trust", cwd=planted)
    assert f"hstar: warning: {path} runs the code quietmod:S\n" in done.err
    assert (planted / "it_ran").exists()


def test_names_of_hstar_need_no_trust(task: Task, planted: Path) -> None:
    path = written(task, "algorithm", planted / "model.safetensors", "gbfs")
    assert program("plan", DATA / "problem.pddl", "-H", path, cwd=planted).code == 0


def test_a_manifest_names_no_code(planted: Path) -> None:
    """Labelling looks up the generator of a folder, to replace what cannot be solved."""
    folder = generated(planted, blocks="3-3", count=2)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "generator": "quietmod:S"}))
    done = program("label", folder, "-o", planted / "labels.parquet", cwd=planted)
    assert done.code == 31, done
    assert "quietmod:S" in done.err
    assert not (planted / "it_ran").exists()


def test_code_that_is_no_search_is_refused(task: Task, planted: Path) -> None:
    path = written(task, "algorithm", planted / "m.safetensors")
    done = program("plan", DATA / "problem.pddl", "-H", path, "--trust", "-q", cwd=planted)
    assert done.code in (31, 36) and "Traceback" not in done.err
    assert "'quietmod:S' is not an object of the class" in done.err

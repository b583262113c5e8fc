"""Model files that earlier versions of hstar wrote, and the command that converts them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load, save

import hstar
from hstar import search
from hstar.commands.cli import run as run_cli
from hstar.planning.task import Task, load_task
from hstar.slots.loader import load_model
from hstar.slots.model_file import FORMAT, ModelFileError, read_model
from hstar.slots.pattern_network import digests, read_learned

DATA = Path(__file__).parents[1] / "data"
OLD = DATA / "old"
SHIPPED = sorted((Path(__file__).parents[2] / "models").glob("*.safetensors"))
KINDS = ("nlm", "hgn", "linear")

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def task() -> Task:
    return load_task(DATA / "strips" / "domain.pddl", DATA / "strips" / "problem.pddl")


def format_of(path: Path) -> str:
    with safe_open(path, framework="numpy") as file:
        return str(json.loads(file.metadata()["hstar"])["format"])


def converted(old: Path, folder: Path) -> Path:
    new = folder / old.name
    assert run_cli(["model", "convert", str(old), str(new)]) == 0
    assert format_of(new) == FORMAT
    return new


def old_values(kind: str, task: Task) -> tuple[Any, list[float]]:
    """States and the values that the version which wrote the file gave them."""
    recorded = json.loads((OLD / "old-values.json").read_text())
    states = np.array(recorded["states"], dtype=np.int32)
    assert [list(task.atoms(state)) for state in states] == recorded["atoms"]
    return states, recorded[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_old_models_keep_their_values(kind: str, task: Task, tmp_path: Path) -> None:
    old = OLD / f"old-{kind}.safetensors"
    assert format_of(old) == "hstar-model-1"
    states, expected = old_values(kind, task)
    for path in (old, converted(old, tmp_path)):
        learned = load_model(path)
        bound: Any = learned.bind(task)
        found = getattr(bound, "evaluate", bound)(states)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        assert search(task, learned).solved
    assert read_model(tmp_path / old.name).metadata == read_model(old).metadata


def test_plan_takes_the_path_of_a_model() -> None:
    files = (DATA / "strips" / "domain.pddl", DATA / "strips" / "problem.pddl")
    path = OLD / "old-nlm.safetensors"
    expected = hstar.plan(*files, heuristic=hstar.load_model(path))
    for given in (path, str(path)):
        found = hstar.plan(*files, heuristic=given)
        assert found.solved
        assert (found.plan, found.evaluated) == (expected.plan, expected.evaluated)


def test_converting_again_changes_nothing(tmp_path: Path) -> None:
    once = converted(OLD / "old-nlm.safetensors", tmp_path)
    content = once.read_bytes()
    assert run_cli(["model", "convert", str(once), str(once)]) == 0
    assert once.read_bytes() == content


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_models_keep_their_certificate(path: Path, tmp_path: Path) -> None:
    new = converted(path, tmp_path)
    before, after = read_learned(path), read_learned(new)  # both must hold a certificate
    assert before.certificate == after.certificate
    assert digests(before.model) == digests(after.model)
    assert before.notes == after.notes


def test_a_converted_certificate_is_verified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = OLD / "old-pdb.safetensors"
    assert format_of(old) == "hstar-learned-pdb-1"
    new = converted(old, tmp_path)
    found = []
    for path in (old, new):
        capsys.readouterr()
        assert run_cli(["pdb", "verify", str(path), "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
        assert found[-1]["holds"] and found[-1]["differences"] == []
    assert found[0] == found[1]


# -- what a file of another version may hold


def with_objective(path: Path, objective: dict[str, Any]) -> None:
    """The old file with another objective and the digest that fits it."""
    content = (OLD / "old-nlm.safetensors").read_bytes()
    with safe_open(OLD / "old-nlm.safetensors", framework="numpy") as file:
        metadata = json.loads(file.metadata()["hstar"])
    tensors = load(content)
    del metadata["digest"]
    metadata["objective"] = objective
    sha = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name in sorted(tensors):
        sha.update(f"{name} {tensors[name].dtype} {tensors[name].shape}".encode())
        sha.update(tensors[name].tobytes())
    metadata["digest"] = sha.hexdigest()
    path.write_bytes(save(tensors, metadata={"hstar": json.dumps(metadata, sort_keys=True)}))


def test_files_of_versions_with_other_options(tmp_path: Path) -> None:
    """An option that was not used does no harm, one that was would change the values."""
    path = tmp_path / "m.safetensors"
    objective = {
        "loss": "truncated-gaussian",
        "sigma": None,
        "base": "ff",
        "lower": "lmcut",
        "epsilon": 0.1,
    }
    with_objective(path, {**objective, "blend": False})
    learned = load_model(path)
    held = {key: learned.metadata["objective"][key] for key in objective if key != "loss"}
    assert {"loss": learned.metadata["objective"]["name"], **held} == objective
    assert "blend" not in learned.metadata["objective"]
    assert learned.specification()["cap"] == 0
    with_objective(path, {**objective, "blend": True})
    with pytest.raises(ModelFileError, match="trained with 'blend', which this version"):
        load_model(path)


# -- the command


@pytest.mark.parametrize("name", [*KINDS, "pdb"])
def test_show_describes_a_file(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = OLD / f"old-{name}.safetensors"
    assert run_cli(["model", "show", str(path)]) == 0
    out = capsys.readouterr().out
    assert f"Size: {path.stat().st_size} bytes" in out
    assert ("0 of 528 states overestimated" in out) == (name == "pdb")
    assert run_cli(["model", "show", str(path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["bytes"] == path.stat().st_size
    assert {key: shown[key] for key in read_model(path).metadata} == read_model(path).metadata


def test_bad_arguments_of_convert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = OLD / "old-nlm.safetensors", tmp_path / "new.safetensors"
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(old.read_bytes()[:-1])
    for arguments, code, message in (
        ([old, tmp_path / "new.model"], 36, "must end in .safetensors"),
        ([old, tmp_path / "missing" / "new.safetensors"], 36, "cannot write"),
        ([damaged, new], 31, "no intact .safetensors file"),
        ([tmp_path / "none.safetensors", new], 31, "no such model file"),
    ):
        assert run_cli(["model", "convert", *map(str, arguments)]) == code
        assert message in capsys.readouterr().err
        assert not new.exists()

"""`hstar train`: its files, its messages, and labels that do not fit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from case_tables import table
from small_trainings import FEATURES, TINY, options, train

from hstar.commands.cli import run as run_cli
from hstar.training.dataset import Dataset
from hstar.training.evaluation import evaluate_model

pytestmark = pytest.mark.usefixtures("one_thread")


def test_a_model_for_each_seed(
    labels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [
        str(labels),
        "-m",
        "linear",
        "--steps",
        "3",
        "--seeds",
        "3,5",
        "--test",
        str(labels),
    ]
    assert run_cli(["train", *arguments, "-o", str(tmp_path / "m.safetensors")]) == 0
    out = capsys.readouterr().out
    assert "5 problems to train on" in out
    assert out.count("on test problems squared error") == 2
    files = {path.name for path in tmp_path.iterdir()}
    models = {"m-seed3.safetensors", "m-seed5.safetensors"}
    assert files == models | {f"{name}.json" for name in models}
    resolved = json.loads((tmp_path / "m-seed5.safetensors.json").read_text())
    assert (resolved["seed"], resolved["steps"], resolved["model"]) == (5, 3, "linear")
    assert resolved["weight_decay"] == 0.0  # what suits this model
    assert run_cli(["train", *arguments, "-o", str(tmp_path / "again-{seed}.safetensors")]) == 0
    pair = [
        (tmp_path / name).read_bytes() for name in ("again-3.safetensors", "m-seed3.safetensors")
    ]
    assert pair[0] == pair[1]


BAD_ARGUMENTS = table("""
-m forest | unknown model 'forest'; choose one of nlm, hgn, gnn, linear, mlp
-l hinge | unknown objective 'hinge'
--base oracle | unknown base 'oracle'
--lower ff | unknown lower bound 'ff'
--sigma wide | --sigma must be 'learn' or a number, not 'wide'
--sigma -1 | sigma must be positive
--epsilon 0 | epsilon must be positive
--cap tight | --cap must be 'fit' or 'none' or a number, not 'tight'
--cap 0.5 | a cap must be finite and at least 1, not 0.5
--cap 2 --base none | a cap takes a base and a lower bound other than blind
--learning-rate nan | the learning rate must be positive
--schedule linear | unknown schedule 'linear'
--device abacus | unknown device 'abacus'
--seeds 1,1 | --seeds names a seed twice
--seeds one | --seeds takes numbers
--option width | --option takes NAME=VALUE, not 'width'
--option width=0 | the width of an NLM must be
--option colour=1 | 'colour'
-m linear --option width=3 | model 'linear' on 'relaxed-plans' has no option 'width'
-m hgn --option hidden=0 | 'hidden' must be a whole number of at least 1
--start m.safetensors | --start is for tables
--sampling uniform | --sampling is for tables
--alpha 0 | --alpha is for tables
--coarser 2 | --coarser is for tables
--quantize-from 0.5 --fit linear | --quantize-from is for tables
-o missing/m.safetensors | cannot write missing/m.safetensors
""")


@pytest.mark.parametrize(("arguments", "message"), BAD_ARGUMENTS)
def test_bad_arguments(
    arguments: str, message: str, labels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "m.safetensors"
    command = ["train", str(labels), "-o", str(output), "--steps", "1", *arguments.split()]
    assert run_cli(command) == 36
    err = capsys.readouterr().err
    assert err.startswith("hstar: ") and err.count("\n") == 1
    assert message in err
    assert not output.exists()


def test_labels_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "missing.parquet")
    assert run_cli(["train", missing, "-o", str(tmp_path / "m.safetensors")]) == 31
    assert "there is no such file; make it with 'hstar label'" in capsys.readouterr().err


@pytest.mark.parametrize("argument", ["--validation", "--test"])
@pytest.mark.parametrize("model", TINY)
def test_labels_of_another_domain_are_refused(
    argument: str,
    model: str,
    labels: Path,
    other_labels: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Which is said before the training, not after it."""
    arguments = ["train", str(labels), "-m", model, "--steps", "1", argument, str(other_labels)]
    if model in FEATURES:
        arguments += ["--features", FEATURES[model]]
    assert run_cli([*arguments, "-o", str(tmp_path / "m.safetensors")]) == 36
    assert list(tmp_path.iterdir()) == []
    err = capsys.readouterr().err.splitlines()[-1]
    assert "blocksworld-4ops" in err
    assert "gripper" in err


def test_labels_of_other_costs_are_refused(dataset: Dataset, tmp_path: Path) -> None:
    priced = replace(dataset, cost="normal")
    path = tmp_path / "m.safetensors"
    with pytest.raises(ValueError, match="--cost one and --cost normal"):
        train(dataset, priced, path, options("linear"))
    train(dataset, dataset, path, options("linear"))
    with pytest.raises(ValueError, match=r"--cost one; the labels are of .* with --cost normal"):
        evaluate_model(path, priced)


def test_a_ranking_model_has_no_error(labels: Path, dataset: Dataset, tmp_path: Path) -> None:
    """Which is said before the training, not after it."""
    path = tmp_path / "m.safetensors"
    arguments = ["train", str(labels), "-l", "l-star", "-m", "linear", "--steps", "1"]
    assert run_cli([*arguments, "--test", str(labels), "-o", str(path)]) == 36
    assert not path.exists()
    assert run_cli([*arguments, "-o", str(path)]) == 0
    with pytest.raises(ValueError, match="a ranking model does not estimate costs"):
        evaluate_model(path, dataset)

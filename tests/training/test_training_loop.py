"""The training loop: checkpoints, early stopping, warnings, and what it leaves as it was."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import load, save
from small_trainings import Killed, interrupted, kill_at, options, train, trained

from hstar.commands.cli import run as run_cli
from hstar.slots.objectives import make_objective
from hstar.training.checkpoint import CheckpointError, weights_of
from hstar.training.dataset import Dataset, base_error
from hstar.training.loop import Loop
from hstar.training.options import TrainOptions
from hstar.training.train import prepare

pytestmark = pytest.mark.usefixtures("one_thread")


def linear_command(labels: Path, output: Path, *more: str) -> list[str]:
    short = ["--steps", "6", "--evaluate-every", "2", "--batch", "16", "--device", "cpu"]
    return ["train", str(labels), "-m", "linear", *short, "-o", str(output), *more]


# -- checkpoints


def test_a_checkpoint_of_other_code_is_recognised(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, chosen = tmp_path / "m.safetensors", options("linear")
    interrupted(dataset, path, chosen, after=8)
    with monkeypatch.context() as patch:
        patch.setattr("hstar.training.train.code_digest", lambda *_: "of other code")
        with pytest.raises(CheckpointError, match="other labels, options or code"):
            trained(dataset, path, chosen)
    trained(dataset, path, chosen)  # with the same code it goes on


@pytest.mark.parametrize("field", [f.name for f in fields(TrainOptions)])
def test_every_option_but_the_place_is_part_of_a_run(field: str, dataset: Dataset) -> None:
    """A checkpoint belongs to a run with the same options; where it runs does not matter."""
    values: dict[str, Any] = {
        "model": "mlp",
        "features": "relaxed-plans",
        "objective": make_objective("truncated-gaussian", epsilon=0.3),
        "decode": "clip",
        "model_options": {"types": False},
        "schedule": "constant",
        "keep": "loss",
        "batches": "shuffled",
        "coarser": 2.0,
        "device": "auto" if not torch.cuda.is_available() else "cpu",
        "compile": True,
        "sampling": None,
        "bits": None,  # on tables alone
        "decode_options": None,
    }
    base = options("linear")
    if field in values and values[field] is None:
        return
    value = values.get(field, getattr(base, field))
    if field not in values:
        value = value + 1 if isinstance(value, int) else 0.9 * value + 0.03
    if field == "model":
        other = options("mlp")
    elif field == "model_options":
        base, other = options("nlm"), options("nlm", model_options={"width": 5, "depth": 4})
    else:
        other = replace(base, **{field: value})
    prints = [prepare(dataset, dataset, one).fingerprint for one in (base, other)]
    assert (prints[0] == prints[1]) == (field in ("device", "compile"))


def test_the_command_refuses_a_checkpoint_of_another_run(
    dataset: Dataset, labels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, partial = tmp_path / "m.safetensors", tmp_path / "m.safetensors.partial"
    interrupted(dataset, path, options("linear"), after=8)
    held = partial.read_bytes()
    assert run_cli(linear_command(labels, path)) == 36
    err = capsys.readouterr().err.splitlines()[-1]
    assert err == (
        f"hstar: {partial}: the checkpoint belongs to a training with other labels, options or "
        "code; delete it to start anew, or choose another output"
    )
    assert partial.read_bytes() == held
    assert not path.exists()
    partial.unlink()
    assert run_cli(linear_command(labels, path)) == 0


class Idle(torch.nn.Module):
    """A linear model with a parameter that takes no part in the output."""

    def __init__(self, network: torch.nn.Module) -> None:
        super().__init__()
        self.idle = torch.nn.Parameter(torch.ones(3))
        self.network = network

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.network(inputs)
        return result


def idle_loop(dataset: Dataset) -> Loop:
    loop = prepare(dataset, dataset.select([0]), options("linear"))
    return Loop(
        Idle(loop.network), loop.source, loop.validation, loop.options, loop.fingerprint, {}
    )


def test_a_parameter_without_gradient_has_no_optimiser_state(
    dataset: Dataset, tmp_path: Path
) -> None:
    whole, first, second = (idle_loop(dataset) for _ in range(3))
    assert whole.run()
    partial = tmp_path / "m.partial"
    with pytest.raises(Killed):
        first.run(partial, kill_at(8))
    steps: list[int] = []
    assert second.run(partial, lambda line, _: steps.append(line["step"]))
    assert steps == [8, 12]
    assert "idle" not in second.state().groups["exp_avg"]
    resumed = weights_of(second.network)
    for name, weights in weights_of(whole.network).items():
        assert weights.tobytes() == resumed[name].tobytes()


# -- time, patience, warnings


def test_the_time_is_that_of_all_runs(dataset: Dataset, tmp_path: Path) -> None:
    path, partial = tmp_path / "m.safetensors", tmp_path / "m.safetensors.partial"
    chosen = options("linear")
    interrupted(dataset, path, chosen, after=8)
    with safe_open(partial, framework="numpy") as file:
        held = json.loads(file.metadata()["hstar"])
    assert held["notes"]["seconds"] > 0
    held["notes"]["seconds"] = 5000.0
    tensors = load(partial.read_bytes())
    partial.write_bytes(save(tensors, metadata={"hstar": json.dumps(held)}))
    result = train(dataset, dataset.select([0]), path, chosen)
    assert result.seconds > 5000
    assert [line["step"] for line in result.curve] == [4, 8, 12]


def too_large(dataset: Dataset) -> Dataset:
    """Labels from which a network only gets worse on the true ones."""
    return replace(dataset, columns={**dataset.columns, "h_star": dataset.column("h_star") + 60})


@pytest.mark.parametrize("patience", [0, 1, 3])
def test_training_stops_after_evaluations_without_progress(
    patience: int, dataset: Dataset, tmp_path: Path
) -> None:
    chosen = options("nlm", steps=40, learning_rate=0.03, patience=patience)
    result = train(too_large(dataset), dataset, tmp_path / "m.safetensors", chosen)
    numbers = [line["validation_mse"] for line in result.curve]
    best = int(np.argmin(numbers))
    assert result.best == result.curve[best]
    if patience:
        assert len(numbers) == best + 1 + patience < 10
    else:
        assert len(numbers) == 10


def test_a_validation_error_that_rises_eightfold_is_warned_of(
    dataset: Dataset, tmp_path: Path
) -> None:
    path = tmp_path / "m.safetensors"
    chosen = options("nlm", steps=60, learning_rate=0.1, patience=0)
    result = train(too_large(dataset), dataset, path, chosen)
    best, last = result.best["validation_mse"], result.curve[-1]["validation_mse"]
    assert last > 8 * best
    warning = result.warning
    assert f"from {best:.3f} at step {result.best['step']} to {last:.3f} at step 60" in warning
    assert "overfits" in warning
    assert train(dataset, dataset, path, options("nlm")).warning is None


class BrokenInEvaluation(Idle):
    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return super().forward(inputs) * (1.0 if self.training else torch.nan)


def test_a_validation_that_is_no_number_is_an_error(dataset: Dataset, tmp_path: Path) -> None:
    """And not a reason to choose by another metric, or by none."""
    loop = prepare(dataset, dataset.select([0]), options("linear"))
    broken = BrokenInEvaluation(loop.network)
    again = Loop(broken, loop.source, loop.validation, loop.options, loop.fingerprint, {})
    partial = tmp_path / "m.partial"
    message = "the validation mse is nan at step 4; lower the learning rate"
    with pytest.raises(FloatingPointError, match=message):
        again.run(partial)
    assert not partial.exists()
    assert again.curve == []


def test_the_command_says_that_training_diverged(
    labels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.safetensors"
    arguments = linear_command(labels, path, "--learning-rate", "1e30", "--clip", "0")
    assert run_cli([*arguments, "--steps", "20"]) == 36
    err = capsys.readouterr().err.splitlines()[-1]
    assert "lower the learning rate" in err
    assert not path.exists()


# -- what the command says


def test_the_error_of_the_base_stands_beside_that_of_the_model(
    labels: Path, dataset: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.safetensors"
    arguments = linear_command(labels, path, "--validation", str(labels), "--base", "hadd")
    assert run_cli(arguments) == 0
    out = capsys.readouterr().out
    alone = base_error(dataset, make_objective("truncated-gaussian", base="hadd"))
    capped = "capped" in out  # then what the model corrects is not hadd itself
    assert "hadd alone: squared error" in out
    assert capped or f"hadd alone: squared error {alone:.3f}" in out
    assert run_cli(linear_command(labels, path, "--base", "none")) == 0
    assert "alone" not in capsys.readouterr().out


def test_help_shows_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run_cli(["train", "--help"])
    assert ended.value.code == 0
    text = " ".join(capsys.readouterr().out.split("examples:")[0].split())
    for option in fields(TrainOptions):
        name = "--" + option.name.replace("_", "-")
        if f"{name} " not in text or not isinstance(option.default, (int, float)):
            continue
        if isinstance(option.default, bool) or name == "--bits":
            continue
        about = re.split(r" --[\w-]+ ", text.rsplit(name + " ", 1)[1])[0]
        assert f"{option.default:g}" in about, (name, about)
    objective = make_objective("truncated-gaussian").to_dict()
    for name in ("base", "lower", "epsilon"):
        assert str(objective[name]) in text.rsplit(f"--{name} ", 1)[1].split(" --", 1)[0]


# -- what training leaves as it was


def settings() -> dict[str, Any]:
    return {
        "threads": torch.get_num_threads(),
        "tf32": torch.backends.cuda.matmul.allow_tf32,
        "cudnn": torch.backends.cudnn.allow_tf32,
        "precision": torch.get_float32_matmul_precision(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "dtype": torch.get_default_dtype(),
        "gradients": torch.is_grad_enabled(),
        "torch": torch.get_rng_state().numpy().tobytes(),
        "numpy": repr(np.random.get_state()),
    }


@pytest.mark.parametrize("model", ["nlm", "hgn", "linear", "mlp"])
def test_training_leaves_the_settings_of_the_process(
    model: str, dataset: Dataset, tmp_path: Path
) -> None:
    before = settings()
    trained(dataset, tmp_path / "m.safetensors", options(model))
    assert settings() == before
    with pytest.raises(ValueError, match="no option"):
        trained(dataset, tmp_path / "m.safetensors", options(model, model_options={"no": 1}))
    assert settings() == before


def test_the_command_leaves_the_settings_of_the_process(labels: Path, tmp_path: Path) -> None:
    before = settings()
    assert run_cli(linear_command(labels, tmp_path / "m.safetensors", "--threads", "2")) == 0
    assert settings() == before

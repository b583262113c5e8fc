"""Training: labels x model x objective -> model file.

AdamW on batches in which every size of state has its share; the weights that did best on the
validation problems are kept. Each evaluation leaves a checkpoint beside the output, so a killed run
goes on from there; on a CPU it ends with the same bytes as an undisturbed one.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hstar.features.atoms import domain_hash
from hstar.learned.modelfile import ModelFile, write_model
from hstar.models import KINDS
from hstar.objectives.losses import RANKING, Objective
from hstar.training.batches import LikelihoodTask, RankingTask, with_fitted_cap
from hstar.training.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from hstar.training.dataset import Dataset, check_same_kind

SCHEDULES = ("cosine", "constant")


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """How to train. `clip` bounds the norm of the gradient; 0 means no bound. With `fit_cap` an
    objective without a cap on its base gets the one that the training labels ask for, if any."""

    model: str = "nlm"
    model_options: dict[str, Any] = field(default_factory=dict)
    objective: Objective = field(default_factory=Objective)
    fit_cap: bool = True
    steps: int = 4000
    batch: int = 256
    learning_rate: float = 1e-2
    weight_decay: float = 1e-2
    clip: float = 0.1
    schedule: str = "cosine"
    seed: int = 0
    evaluate_every: int = 200
    device: str = "auto"

    def __post_init__(self) -> None:
        if self.model not in KINDS:
            known = ", ".join(KINDS)
            raise ValueError(f"unknown model '{self.model}'; choose one of {known}")
        if self.schedule not in SCHEDULES:
            raise ValueError(f"unknown schedule '{self.schedule}'; choose cosine or constant")
        for name in ("steps", "batch", "evaluate_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if not (self.learning_rate > 0 and self.weight_decay >= 0 and self.clip >= 0):
            raise ValueError("the learning rate must be positive, weight decay and clip at least 0")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


# What suits each model; anything given explicitly goes first.
DEFAULTS: dict[str, dict[str, Any]] = {
    "nlm": {},
    "hgn": {"learning_rate": 1e-3, "weight_decay": 0.0},
    "linear": {"weight_decay": 0.0},
}


def defaults_of(model: str, objective: Objective) -> dict[str, Any]:
    """Training options for a model. Ranking losses train on one problem a step, so evaluating on
    all validation problems costs more steps' worth of time."""
    chosen = dict(DEFAULTS.get(model, {}))
    if objective.loss in RANKING:
        chosen |= {"learning_rate": 1e-3, "evaluate_every": 500}
    return chosen


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One line of the training curve. `train_loss` is the mean since the line before; what the
    objective does not define is NaN."""

    step: int
    train_loss: float
    validation_loss: float
    validation_mse: float
    validation_mse_clip: float

    @property
    def score(self) -> float:
        """What the best weights are chosen by."""
        return self.validation_loss if math.isnan(self.validation_mse) else self.validation_mse


@dataclass(frozen=True, slots=True)
class TrainResult:
    best: Evaluation
    curve: tuple[Evaluation, ...]
    seconds: float
    parameters: int


Report = Callable[[Evaluation, int], None]


def train(
    training: Dataset,
    validation: Dataset,
    output: str | os.PathLike[str],
    options: TrainOptions,
    report: Report | None = None,
) -> TrainResult:
    """Train a model and write its file.

    `report` is called with every evaluation and the number of steps. Raises ValueError for data
    that do not fit the objective, LabelsError, OSError.
    """
    started = time.monotonic()
    trainer = Trainer(training, validation, options)
    partial = Path(f"{os.fspath(output)}.partial")
    curve: list[Evaluation] = []
    best_weights = trainer.weights()
    checkpoint = read_checkpoint(partial, trainer.fingerprint)
    if checkpoint is not None:
        trainer.restore(checkpoint)
        curve = [Evaluation(**line) for line in checkpoint.notes["curve"]]
        best_weights = checkpoint.group("best")
    while trainer.step < options.steps:
        end = min(trainer.step + options.evaluate_every, options.steps)
        loss = trainer.advance(end)
        line = Evaluation(trainer.step, loss, *trainer.evaluate())
        if not math.isfinite(line.train_loss):
            raise FloatingPointError(
                f"the loss is {line.train_loss} at step {trainer.step}; lower the learning rate"
            )
        if not curve or line.score < min(other.score for other in curve):
            best_weights = trainer.weights()
        curve.append(line)
        if report is not None:
            report(line, options.steps)
        if trainer.step < options.steps:
            notes = {"step": trainer.step, "curve": [asdict(other) for other in curve]}
            tensors = {"best": best_weights, **trainer.state()}
            write_checkpoint(partial, Checkpoint(trainer.fingerprint, notes, tensors))
    best = min(curve, key=lambda line: line.score)
    write_model(output, trainer.model_file(best_weights, best, curve))
    partial.unlink(missing_ok=True)
    parameters = sum(int(w.size) for w in best_weights.values())
    return TrainResult(best, tuple(curve), time.monotonic() - started, parameters)


class Trainer:
    """The state of a training run, from which it can be continued."""

    def __init__(self, training: Dataset, validation: Dataset, options: TrainOptions) -> None:
        self.training = training
        self.device = choose_device(options.device)
        check_same_kind(training, validation)
        objective = options.objective
        if options.fit_cap:
            objective = with_fitted_cap(training, objective)
        self.options = options = replace(options, objective=objective)
        kind = KINDS[options.model]
        tasks = [labelled.task for labelled in training.tasks]
        self.config = kind.configure(
            training.domain, tasks, objective.outputs, options.model_options
        )
        generator = torch.Generator().manual_seed(options.seed)
        self.model = kind.build(self.config, generator).to(self.device)
        task_class = RankingTask if objective.loss in RANKING else LikelihoodTask
        make = (self.model, options.model, self.config, objective, options.batch, options.seed)
        self.train_task = task_class(training, *make)
        self.validation_task = task_class(validation, *make)
        self.step = 0
        self.optimiser = torch.optim.AdamW(
            self.model.parameters(),
            # On the GPU, so that recorded steps read the rate of the moment.
            lr=torch.tensor(options.learning_rate, device=self.device)
            if self._on_gpu
            else options.learning_rate,
            weight_decay=options.weight_decay,
            capturable=self._on_gpu,
        )
        self.fingerprint = _fingerprint(training, validation, options, self.config)

    @property
    def _on_gpu(self) -> bool:
        return self.device.type == "cuda"

    def advance(self, end: int) -> float:
        """Train up to step `end`; returns the mean loss."""
        self.model.train()
        losses = []
        update = self.train_task.updater(self._update)
        while self.step < end:
            self._set_learning_rate(self._learning_rate(self.step))
            losses.append(update(self.step))
            self.step += 1
        return float(torch.stack(losses).mean())

    def evaluate(self) -> tuple[float, float, float]:
        """Loss, squared error, and squared error after clipping, on the validation problems."""
        self.model.eval()
        with torch.no_grad():
            return self.validation_task.evaluate()

    def _update(self, loss: Tensor) -> Tensor:
        """One step of the optimiser; may be recorded and replayed on a GPU."""
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if self.options.clip:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.options.clip)
        self.optimiser.step()
        return loss.detach()

    def _learning_rate(self, step: int) -> float:
        """A short linear start; then constant, or half a cosine down to a hundredth."""
        options = self.options
        warm_up = max(1, min(100, options.steps // 20))
        rate = options.learning_rate * min(1.0, (step + 1) / warm_up)
        if options.schedule == "constant":
            return rate
        share = max(0.0, (step - warm_up) / max(1, options.steps - warm_up))
        return rate * (0.01 + 0.99 * (1 + math.cos(math.pi * share)) / 2)

    def _set_learning_rate(self, rate: float) -> None:
        for group in self.optimiser.param_groups:
            if self._on_gpu:
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate

    def weights(self) -> dict[str, np.ndarray[Any, Any]]:
        return {
            name: tensor.detach().cpu().numpy().copy()
            for name, tensor in self.model.state_dict().items()
        }

    def state(self) -> dict[str, dict[str, np.ndarray[Any, Any]]]:
        """What to save besides the best weights: current weights, first and second moments."""
        moments: dict[str, dict[str, np.ndarray[Any, Any]]] = {"first": {}, "second": {}}
        for name, parameter in self.model.named_parameters():
            held = self.optimiser.state[parameter]
            moments["first"][name] = held["exp_avg"].cpu().numpy()
            moments["second"][name] = held["exp_avg_sq"].cpu().numpy()
        return {"weights": self.weights(), **moments}

    def restore(self, checkpoint: Checkpoint) -> None:
        self.step = int(checkpoint.notes["step"])
        first, second = checkpoint.group("first"), checkpoint.group("second")
        weights = {n: torch.from_numpy(a) for n, a in checkpoint.group("weights").items()}
        self.model.load_state_dict(weights)
        for name, parameter in self.model.named_parameters():
            count = torch.tensor(float(self.step))
            self.optimiser.state[parameter] = {
                "step": count.to(self.device) if self._on_gpu else count,
                "exp_avg": torch.from_numpy(first[name]).to(self.device),
                "exp_avg_sq": torch.from_numpy(second[name]).to(self.device),
            }

    def model_file(
        self, weights: dict[str, Any], best: Evaluation, curve: list[Evaluation]
    ) -> ModelFile:
        domain = self.training.domain
        options = self.options.to_dict()
        options.pop("device")  # the same training on another machine gives the same file
        metadata = {
            "model": self.options.model,
            "config": self.config,
            "objective": self.options.objective.to_dict(),
            "decode": self.options.objective.decode,
            "cost": self.training.cost,
            "domain": {"name": domain.name, "hash": domain_hash(domain)},
            "training": {
                "options": options,
                "problems": len(self.training.tasks),
                "states": len(self.training),
                "best": asdict(best),
                "curve": [asdict(line) for line in curve],
            },
        }
        return ModelFile(json.loads(json.dumps(metadata)), weights)


def choose_device(name: str) -> torch.device:
    """The device of that name; "auto" takes a GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(f"unknown device '{name}'; choose auto, cpu or cuda") from None
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"cannot train on device '{name}'; choose auto, cpu or cuda")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError("there is no GPU that torch can use; choose --device cpu")
    return device


def _fingerprint(
    training: Dataset, validation: Dataset, options: TrainOptions, config: dict[str, Any]
) -> str:
    """Identifies a run: a checkpoint of another one must not be continued."""
    sha = hashlib.sha256(json.dumps([options.to_dict(), config], sort_keys=True).encode())
    for data in (training, validation):
        sha.update(domain_hash(data.domain).encode())
        for labelled in data.tasks:
            sha.update(json.dumps([labelled.name, labelled.plan]).encode())
            sha.update(labelled.states.tobytes())
        for name in ("h_star", "lower", "upper"):
            sha.update(data.column(name).tobytes())
    return sha.hexdigest()

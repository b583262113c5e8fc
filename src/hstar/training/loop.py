"""The one training loop.

    for every step:   draw a batch, compute the loss, one step of AdamW
    now and then:     evaluate, remember the best weights, write a checkpoint, perhaps stop early
    once, if wanted:  go on with the rounding of integers (Model.rounded)

Every step has random numbers of its own, so a killed run goes on from its checkpoint and ends, on a
CPU, with the same bytes as an undisturbed one. Torch's global settings stay as they were.
"""

from __future__ import annotations

import glob
import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hstar.slots.model_file import ModelFile, model_metadata, write_model
from hstar.slots.models import MODELS
from hstar.training.checkpoint import Arrays, Checkpoint, groups_of, restore_groups, weights_of
from hstar.training.options import TrainOptions
from hstar.training.source import BatchSource

CALIBRATION_BATCHES = 50
CALIBRATED_STATES = 8192
RISE = 8  # how many times its best the validation score may end at without a warning
BEST = "best "  # groups of a checkpoint: the weights that a metric chose
NOTED = ("step", "restarted", "curve", "seconds")  # of a loop, in its checkpoint
WARM_UP_STEPS = 3  # until lazy initialisation (compiled code, optimiser state) has finished

# Of the training curve: "step", "train_..." (means since the line before) and other metrics.
Line = dict[str, Any]
Report = Callable[[Line, int], None]


@dataclass(eq=False)
class Loop:
    """A run that can be stopped and continued. `network` is what is trained: from when rounding
    begins another one than at the start. `about` is what the model file says besides what the
    options and the curve do, and `kept` what it holds besides weights. `seconds` count all runs of
    one that was stopped."""

    network: nn.Module
    source: BatchSource
    validation: BatchSource | None
    options: TrainOptions
    fingerprint: str
    about: dict[str, Any]
    kept: Arrays = field(default_factory=dict)
    is_rounding: bool = False
    step: int = 0
    restarted: int = 0
    seconds: float = 0.0
    curve: list[Line] = field(default_factory=list)
    best_weights: dict[str, Arrays] = field(default_factory=dict)  # by the metric that chose them

    def __post_init__(self) -> None:
        self.model = MODELS.find(self.options.model)
        self.device = self.source.device
        self.on_gpu = self.device.type == "cuda"
        self.sums = ("train_loss", *self.source.objective.statistic_names)
        self.totals = torch.zeros(len(self.sums), dtype=torch.float64, device=self.device)
        self._prepare()

    @property
    def metric(self) -> str:
        """What the best weights are chosen by: one metric, the same for the whole run."""
        return self.options.keep or self.source.metric

    def score(self, line: Line, metric: str | None = None) -> float:
        score: float = line.get(f"validation_{metric or self.metric}", math.nan)
        return score

    def best_by(self, metric: str) -> Line:
        """The line of the best weights; the last one where nothing is validated."""
        if self.validation is None:
            return self.curve[-1]
        return min(self.curve, key=lambda line: self.score(line, metric))

    @property
    def best(self) -> Line:
        return self.best_by(self.metric)

    @property
    def parameters(self) -> int:
        """The number of the best weights."""
        return sum(int(weights.size) for weights in self.best_weights[self.metric].values())

    @property
    def warning(self) -> str | None:
        """What is wrong with the curve of a run that has ended."""
        begin, end = self.best, self.curve[-1]
        best, last = self.score(begin), self.score(end)
        if last <= RISE * best:
            return None
        return (
            f"the validation score rose from {best:.3f} at step {begin['step']} to {last:.3f} at "
            f"step {end['step']}: the model overfits; label more problems, or train a smaller model"
        )

    def write(self, output: str | os.PathLike[str], report: Report | None = None) -> Loop:
        """Train to the end and write the model file. `report` is called with every line of the
        curve and the number of steps. A killed run goes on from `output`.partial. Raises what `run`
        does, and OSError."""
        partial = checkpoint_of(output)
        self.run(partial, report)
        write_model(output, self.model_file())
        halves = partial.parent.glob(f".{glob.escape(partial.name)}.*")  # what a kill left
        for path in (partial, *halves):
            path.unlink(missing_ok=True)
        return self

    def model_file(self, metric: str | None = None) -> ModelFile:
        """The best weights so far, by the metric of the options or another."""
        options, metric = self.options, metric or self.metric
        _, _, decode = options.entries()
        constants = {**decode.options, **options.decode_options, **options.objective.constants()}
        name = options.decode or options.objective.decodes[0]
        name = decode.name if decode.alias == name else name
        curve = {"best": self.best_by(metric), "curve": self.curve}
        about = {**self.about, "training": {**self.about["training"], **curve}}
        metadata = model_metadata(
            objective=options.objective.to_dict(),
            decode={**constants, "name": name},
            **about,
        )
        # A table is not validated.
        weights = self.best_weights.get(metric) or weights_of(self.network)
        if options.bits == 16:
            floats = {n: one.astype(np.float16) for n, one in weights.items() if one.dtype == "f4"}
            weights = {**weights, **floats}
        return ModelFile(metadata, {**weights, **self.kept})

    def run(
        self,
        checkpoint: Path | None = None,
        report: Report | None = None,
        deadline: float | None = None,
    ) -> bool:
        """Train to the end or the deadline (of time.monotonic); True if the end was reached. Raises
        FloatingPointError for a loss that is no number, CheckpointError."""
        held = Checkpoint.read(checkpoint, self.fingerprint)
        if held is not None:
            self.restore(held)
        before, started = self.seconds, time.monotonic()
        while not self.is_finished:
            if deadline is not None and time.monotonic() >= deadline:
                return False
            end = min(self.step + self.options.evaluate_every, self.options.steps)
            line = self._advance(end)
            self.seconds = before + time.monotonic() - started
            self.note(line)
            if report is not None:
                report(line, self.options.steps)
            if checkpoint is not None:
                self.state().write(checkpoint)
        self._finish()
        return True

    @property
    def is_finished(self) -> bool:
        if self.step >= self.options.steps:
            return True
        patience = self.options.patience
        if self.validation is None or not patience or len(self.curve) <= patience:
            return False
        earlier = min(self.score(line) for line in self.curve[:-patience])
        return all(self.score(line) >= earlier for line in self.curve[-patience:])

    def _advance(self, end: int) -> Line:
        """Steps up to `end`, and the line of the curve there."""
        self.totals.zero_()
        self.network.train()
        first, rounded_from = self.step, round(self.options.quantize_from * self.options.steps)
        while self.step < end:
            if self.options.in_integers and self.step == rounded_from and not self.is_rounding:
                self._begin_rounding(self._sample()[:CALIBRATED_STATES])
            for group in self.optimiser.param_groups:
                self.set_rate(group, self.options.rate(self.step, self.restarted))
            self.take_step(self.source.draw(self.step))
            self.step += 1
        return self.line((self.totals / (self.step - first)).tolist())

    def line(self, means: Sequence[float]) -> Line:
        """Of the curve at this step, from the means of the sums since the one before."""
        metrics = {**dict(zip(self.sums, means, strict=True)), **self.source.objective.schedule()}
        if self.validation is not None:
            self.network.eval()
            with torch.no_grad():
                found = self.validation.evaluate(self.network)
            metrics |= {f"validation_{name}": value for name, value in found.items()}
        return {"step": self.step, **metrics}

    def note(self, line: Line) -> None:
        """Raises FloatingPointError for numbers that no choice can be made by."""
        names = ["train_loss"]
        if self.validation is not None:
            names.append(f"validation_{self.metric}")
        for name in names:
            if not math.isfinite(line[name]):
                raise FloatingPointError(
                    f"the {name.replace('_', ' ')} is {line[name]} at step {self.step}; "
                    "lower the learning rate"
                )
        for metric in {self.metric, "loss"} if self.validation is not None else ():
            best = self.score(self.best_by(metric), metric) if self.curve else math.inf
            if self.score(line, metric) < best:
                self.best_weights[metric] = weights_of(self.network)
        self.curve.append(line)
        objective = self.source.objective.after(line)
        if objective != self.source.objective:
            self.source.objective = objective
            self._record()  # its numbers are part of a recording

    def _compute(self, drawn: Any) -> None:
        """One step on a batch; `totals` grow by the loss and the statistics."""
        loss, statistics = self.source.loss(self.forward, drawn)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if self.options.clip:
            nn.utils.clip_grad_norm_(self.network.parameters(), self.options.clip)
        self.optimiser.step()
        with torch.no_grad():
            self.totals += torch.stack([loss.detach().double(), *statistics])

    def set_rate(self, group: dict[str, Any], rate: float) -> None:
        """Of a group of an optimiser's parameters; a recording reads it from its tensor."""
        if self.on_gpu:
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate

    def optimiser_of(self, parameters: Iterable[nn.Parameter]) -> torch.optim.AdamW:
        rate = self.options.learning_rate
        return torch.optim.AdamW(
            parameters,
            # a tensor can change under a recording
            lr=torch.tensor(rate, device=self.device) if self.on_gpu else rate,
            weight_decay=self.options.weight_decay,
            fused=self.on_gpu,
            capturable=self.on_gpu,
        )

    def _prepare(self) -> None:
        """The optimiser and the compiled form of the network as it is."""
        self.network.train()
        self.optimiser = self.optimiser_of(self.network.parameters())
        self.forward: Any = torch.compile(self.network) if self.options.compile else self.network
        self._record()

    def _record(self) -> None:
        """What takes a step from now on."""
        self.take_step: Callable[[Any], None] = self._compute
        if self.on_gpu and self.source.is_recordable:
            self.take_step = RecordedStep(self._compute)

    def _begin_rounding(self, sample: Tensor | None) -> None:
        """From now on with the rounding of the integer network, and a fresh optimiser."""
        with torch.no_grad():
            rounded = self.model.rounded(self.network, self.options.bits, sample)
        self.network = rounded.to(self.device)
        self.is_rounding = True
        self.restarted = self.step
        self._prepare()

    def _sample(self, number: int = 0) -> Tensor:
        """The inputs of a batch that no step has seen."""
        return self.source.inputs(self.source.draw(self.options.steps + number)).float()

    def _finish(self) -> None:
        if self.options.in_integers and not self.is_rounding:
            self._begin_rounding(self._sample()[:CALIBRATED_STATES])
        if self.is_rounding:
            samples = (self._sample(number) for number in range(CALIBRATION_BATCHES))
            with torch.no_grad():
                self.model.calibrate(self.network, samples)
        self.network.eval()

    def state(self) -> Checkpoint:
        notes = {name: getattr(self, name) for name in ("is_rounding", *NOTED)}
        best = {f"{BEST}{metric}": weights for metric, weights in self.best_weights.items()}
        return Checkpoint(self.fingerprint, notes, best | groups_of(self.network, self.optimiser))

    def restore(self, checkpoint: Checkpoint) -> None:
        notes, groups = checkpoint.notes, checkpoint.groups
        if notes["is_rounding"] and not self.is_rounding:
            self._begin_rounding(None)
        for name in NOTED:
            setattr(self, name, notes[name])
        best = {name for name in groups if name.startswith(BEST)}
        self.best_weights = {name.removeprefix(BEST): groups[name] for name in best}
        for line in self.curve:
            self.source.objective = self.source.objective.after(line)
        count_on = self.device if self.on_gpu else torch.device("cpu")
        restore_groups(self.network, self.optimiser, groups, count_on)


def checkpoint_of(output: str | os.PathLike[str]) -> Path:
    """What a killed training of this model file goes on from."""
    return Path(f"{os.fspath(output)}.partial")


class RecordedStep:
    """Calls `compute` with tensors that always have the same shapes. The first calls are plain
    ones; then the operations are recorded, and later calls only replay them: to start some hundred
    small operations one by one takes a GPU longer than most of them. All else that differs from
    step to step must lie in tensors on the device."""

    def __init__(self, compute: Callable[[list[Tensor]], None]) -> None:
        self.compute = compute
        self.tensors: list[Tensor] = []
        self.graph: torch.cuda.CUDAGraph | None = None
        self.calls = 0

    def __call__(self, drawn: list[Tensor]) -> None:
        if not self.tensors:
            self.tensors = [tensor.clone() for tensor in drawn]
        for held, tensor in zip(self.tensors, drawn, strict=True):
            held.copy_(tensor)
        self.calls += 1
        if self.calls <= WARM_UP_STEPS:
            stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                self.compute(self.tensors)
            torch.cuda.current_stream().wait_stream(stream)
            return
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.compute(self.tensors)
        self.graph.replay()

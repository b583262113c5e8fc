"""The one training loop.

    for every step:   draw a batch, compute the loss, one step of AdamW
    now and then:     evaluate, remember the best weights, write a checkpoint, perhaps stop early
    once, if wanted:  go on with the rounding of integers (hstar.models.rounding)

Every step has random numbers of its own, so a killed run goes on from its checkpoint and ends, on a
CPU, with the same bytes as an undisturbed one. Torch's global settings stay as they were.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from hstar.models.residual import ResidualNet
from hstar.models.rounding import RoundedNet
from hstar.training.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from hstar.training.options import TrainOptions
from hstar.training.recorded import RecordedStep
from hstar.training.source import Source

CALIBRATION_BATCHES = 50
CALIBRATED_STATES = 8192
Weights = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the training curve. `train_...` are means since the line before."""

    step: int
    metrics: dict[str, float] = field(default_factory=dict)

    def __getitem__(self, name: str) -> float:
        return self.metrics.get(name, math.nan)

    def to_dict(self) -> dict[str, Any]:
        return {"step": self.step, **self.metrics}

    @staticmethod
    def from_dict(held: dict[str, Any]) -> Line:
        return Line(held["step"], {name: held[name] for name in held if name != "step"})


Report = Callable[[Line, int], None]


class Loop:
    """A run that can be stopped and continued. `network` is what is trained: after the rounding
    phase another one than at the start."""

    def __init__(
        self,
        network: nn.Module,
        source: Source,
        validation: Source | None,
        options: TrainOptions,
        fingerprint: str,
    ) -> None:
        self.source = source
        self.validation = validation
        self.options = options
        self.fingerprint = fingerprint
        self.device = source.device
        self.on_gpu = self.device.type == "cuda"
        self.network = network
        self.step = 0
        self.restarted = 0
        self.seconds = 0.0
        self.curve: list[Line] = []
        self.best_weights: Weights = {}
        self.rounds_from = round(options.quantize_from * options.steps)
        self.totals = torch.zeros(
            1 + len(source.statistics), dtype=torch.float64, device=self.device
        )
        self._prepare()

    @property
    def is_rounding(self) -> bool:
        return isinstance(self.network, RoundedNet)

    def score(self, line: Line) -> float:
        """What the best weights are chosen by: one metric, the same for the whole run."""
        return line[f"validation_{self.source.objective.score}"]

    @property
    def best(self) -> Line:
        """The line of the best weights; the last one where nothing is validated."""
        if self.validation is None:
            return self.curve[-1]
        return min(self.curve, key=self.score)

    def run(
        self,
        checkpoint: Path | None = None,
        report: Report | None = None,
        deadline: float | None = None,
    ) -> bool:
        """Train to the end or the deadline (of time.monotonic); True if the end was reached.

        Raises FloatingPointError for a loss that is no number, CheckpointError.
        """
        held = None if checkpoint is None else read_checkpoint(checkpoint, self.fingerprint)
        if held is not None:
            self.restore(held)
        before, started = self.seconds, time.monotonic()
        with _tensor_float_32(self.source.is_exact_in_tf32):
            while not self.is_finished:
                if deadline is not None and time.monotonic() >= deadline:
                    return False
                line = self._advance(
                    min(self.step + self.options.evaluate_every, self.options.steps)
                )
                self.seconds = before + time.monotonic() - started
                self._note(line)
                if report is not None:
                    report(line, self.options.steps)
                if checkpoint is not None:
                    write_checkpoint(checkpoint, self.state())
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

    def weights(self) -> Weights:
        return {
            name: tensor.detach().cpu().numpy().copy()
            for name, tensor in self.network.state_dict().items()
        }

    def _advance(self, end: int) -> Line:
        self.totals.zero_()
        self.network.train()
        first = self.step
        while self.step < end:
            if self.options.bits and self.step == self.rounds_from and not self.is_rounding:
                self._begin_rounding()
            self._set_rate(self.options.rate(self.step, self.restarted))
            self.take_step(self.source.draw(self.step))
            self.step += 1
        names = ("train_loss", *self.source.statistics)
        means = (self.totals / (self.step - first)).tolist()
        metrics = {**dict(zip(names, means, strict=True)), **self.source.objective.schedule()}
        if self.validation is not None:
            self.network.eval()
            with torch.no_grad():
                found = self.validation.evaluate(self.network)
            metrics |= {f"validation_{name}": value for name, value in found.items()}
        return Line(self.step, metrics)

    def _note(self, line: Line) -> None:
        """Raises FloatingPointError for numbers that no choice can be made by."""
        names = ["train_loss"]
        if self.validation is not None:
            names.append(f"validation_{self.source.objective.score}")
        for name in names:
            if not math.isfinite(line[name]):
                what = name.replace("_", " ")
                raise FloatingPointError(
                    f"the {what} is {line[name]} at step {self.step}; lower the learning rate"
                )
        if self.validation is not None and (
            not self.curve or self.score(line) < self.score(self.best)
        ):
            self.best_weights = self.weights()
        self.curve.append(line)
        objective = self.source.objective.after(line.metrics)
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

    def _set_rate(self, rate: float) -> None:
        for group in self.optimiser.param_groups:
            if self.on_gpu:
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate

    def _prepare(self) -> None:
        """The optimiser and the compiled form of the network as it is."""
        rate = self.options.learning_rate
        self.network.train()
        self.optimiser = torch.optim.AdamW(
            self.network.parameters(),
            # a tensor can change under a recording
            lr=torch.tensor(rate, device=self.device) if self.on_gpu else rate,
            weight_decay=self.options.weight_decay,
            fused=self.on_gpu,
            capturable=self.on_gpu,
        )
        compiled = torch.compile(self.network) if self.options.compile else self.network
        self.forward: Any = compiled
        self._record()

    def _record(self) -> None:
        """What takes a step from now on."""
        recorded = self.on_gpu and self.source.is_recordable
        self.take_step: Callable[[Any], None] = (
            RecordedStep(self._compute) if recorded else self._compute
        )

    def _begin_rounding(self) -> None:
        """From now on with the rounding of the integer network, and a fresh optimiser."""
        net = self.network
        assert isinstance(net, ResidualNet)
        with torch.no_grad():
            drawn = self.source.draw(self.options.steps)
            sample = self.source.inputs(drawn)[:CALIBRATED_STATES].float()
            self.network = RoundedNet.from_float(net, self.options.bits, sample)
        self.restarted = self.step
        self._prepare()

    def _finish(self) -> None:
        """Rounded networks get the statistics of batch normalisation of the weights as they are."""
        if self.options.bits and not self.is_rounding:
            self._begin_rounding()
        if isinstance(self.network, RoundedNet) and not self.network.is_settled:
            norms = [m for m in self.network.modules() if isinstance(m, nn.BatchNorm1d)]
            for norm in norms:
                norm.reset_running_stats()
                norm.momentum = None  # a plain mean
            with torch.no_grad():
                for number in range(CALIBRATION_BATCHES):
                    drawn = self.source.draw(self.options.steps + number)
                    self.network(self.source.inputs(drawn).float())
        self.network.eval()

    def state(self) -> Checkpoint:
        groups: dict[str, Weights] = {"weights": self.weights(), "best": self.best_weights}
        moments: dict[str, Weights] = {"first": {}, "second": {}, "count": {}}
        for name, parameter in self.network.named_parameters():
            held = self.optimiser.state.get(parameter)
            if held:  # a parameter without gradient has none
                moments["first"][name] = held["exp_avg"].cpu().numpy()
                moments["second"][name] = held["exp_avg_sq"].cpu().numpy()
                moments["count"][name] = np.array([float(held["step"])])
        notes = {
            "step": self.step,
            "restarted": self.restarted,
            "seconds": self.seconds,
            "is_rounding": self.is_rounding,
            "objective": self.source.objective.progress(),
            "curve": [line.to_dict() for line in self.curve],
        }
        return Checkpoint(self.fingerprint, notes, {**groups, **moments})

    def restore(self, checkpoint: Checkpoint) -> None:
        notes, groups = checkpoint.notes, checkpoint.groups
        if notes["is_rounding"] and not self.is_rounding:
            net = self.network
            assert isinstance(net, ResidualNet)
            steps = [1.0] * len(net.layers)
            self.network = RoundedNet(net, self.options.bits, steps).to(self.device)
            self._prepare()
        self.step, self.restarted = int(notes["step"]), int(notes["restarted"])
        self.seconds = float(notes["seconds"])
        self.curve = [Line.from_dict(line) for line in notes["curve"]]
        self.best_weights = groups.get("best", {})
        self.source.objective = self.source.objective.resumed(notes["objective"])
        weights = {n: torch.from_numpy(a.copy()) for n, a in groups["weights"].items()}
        self.network.load_state_dict(weights)
        for name, parameter in self.network.named_parameters():
            if name not in groups.get("first", {}):
                continue
            count = torch.tensor(float(groups["count"][name][0]), dtype=torch.float32)
            self.optimiser.state[parameter] = {
                "step": count.to(self.device) if self.on_gpu else count,
                "exp_avg": torch.from_numpy(groups["first"][name].copy()).to(self.device),
                "exp_avg_sq": torch.from_numpy(groups["second"][name].copy()).to(self.device),
            }


@contextmanager
def _tensor_float_32(wanted: bool) -> Iterator[None]:
    """TF32 for this training alone."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = wanted
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before

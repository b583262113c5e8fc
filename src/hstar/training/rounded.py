"""Training a network on all states of a pattern.

AdamW without decay; a short linear start and half a cosine down. After a share of the steps
rounding begins (see quantized.py), with a fresh optimiser. A checkpoint holds all there is to go on
from; on a CPU a resumed run ends with the same bits as an undisturbed one.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hstar.features.digits import PatternStates
from hstar.models.integer_network import Network
from hstar.models.mlp import ResidualNet, Shape, first_rows, one_hot
from hstar.models.rounding import RoundedNet
from hstar.objectives.cea import admissible_weights, cea, cross_entropy
from hstar.objectives.pace import Phases
from hstar.training.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from hstar.training.draws import Draws
from hstar.training.options import LearnOptions
from hstar.training.recorded import RecordedStep
from hstar.training.refining import options_from, rounded_from, shape_of

CALIBRATION_BATCHES = 50
CALIBRATED_STATES = 8192
LOWEST_RATE = 0.005  # of the learning rate, at the end of the cosine


@dataclass(frozen=True, slots=True)
class Window:
    """One line of the training curve: means since the line before, argmax decoding."""

    step: int
    loss: float
    accuracy: float
    overestimates: float
    beta: float
    eta: float


Report = Callable[[Window, int], None]


class Training:
    """A run that can be stopped and continued."""

    def __init__(
        self, states: PatternStates, options: LearnOptions, start: Network | None = None
    ) -> None:
        """`start` is a network to go on from; see refining.options_from. Raises ValueError if the
        options or the states are not its own."""
        self.states = states
        self.options = options
        self.start = start
        self.device = states.device
        self.on_gpu = self.device.type == "cuda"
        if self.on_gpu:  # whole numbers up to 127 are exact in TF32, and their sums are float32
            torch.backends.cuda.matmul.allow_tf32 = True
        self.shape = Shape(
            states.domain_sizes,
            options.hidden,
            options.width,
            options.blocks,
            len(states.values),
        )
        self.draws = Draws(states, options.sampling, options.batch, options.seed)
        self.weights = admissible_weights(states.values, self.device)
        self.rounds_from = round(options.quantize_from * options.steps)
        self.step = 0
        self.phases = Phases()
        self.curve: list[Window] = []
        self.first_rows = first_rows(states.domain_sizes, self.device)
        self.weighing = self._weighing()
        self.totals = torch.zeros(3, dtype=torch.float64, device=self.device)
        self.take_step: Callable[[Tensor], None]
        torch.manual_seed(options.seed)
        if start is None and options.coarser != 1:
            raise ValueError("only a network that training goes on from can be made coarser")
        if start is not None and (
            shape_of(start) != self.shape or options_from(start, options) != options
        ):
            raise ValueError(
                "the network to go on from has another shape or other inputs; "
                "take one that was learned from a database of this pattern"
            )
        fresh = ResidualNet(self.shape) if start is None else rounded_from(start, options.coarser)
        self.net: nn.Module = fresh.to(self.device)
        self._prepare()
        self.fingerprint = self._fingerprint()

    @property
    def is_rounding(self) -> bool:
        return isinstance(self.net, RoundedNet)

    def run(
        self,
        checkpoint: Path | None = None,
        report: Report | None = None,
        deadline: float | None = None,
    ) -> bool:
        """Train to the end or the deadline (of time.monotonic); True if the end was reached."""
        if checkpoint is not None:
            held = read_checkpoint(checkpoint, self.fingerprint)
            if held is not None:
                self.restore(held)
        while self.step < self.options.steps:
            if deadline is not None and time.monotonic() >= deadline:
                break
            window = self._advance(min(self.step + self.options.evaluate_every, self.options.steps))
            if not math.isfinite(window.loss):
                raise FloatingPointError(
                    f"the loss is {window.loss} at step {self.step}; lower the learning rate"
                )
            self.curve.append(window)
            if report is not None:
                report(window, self.options.steps)
            if checkpoint is not None:
                write_checkpoint(checkpoint, self.state())
        if self.step < self.options.steps:
            return False
        self._finish()
        return True

    def rounded(self) -> RoundedNet:
        """The trained network. Only after the end."""
        assert isinstance(self.net, RoundedNet)
        return self.net

    def _advance(self, end: int) -> Window:
        self.totals.zero_()
        first = self.step
        weighing = self._weighing()
        if weighing != self.weighing:
            self.weighing = weighing
            self._record()  # the numbers are part of a recording
        while self.step < end:
            if self.step == self.rounds_from and not self.is_rounding:
                self._begin_rounding()
            self._set_rate(self._learning_rate(self.step))
            self.take_step(self.draws.at(self.step))
            self.step += 1
        loss, accuracy, too_large = (self.totals / (self.step - first)).tolist()
        if self.options.pace == "phases":
            self.phases.observe(loss, too_large, self.options.patience)
        return Window(self.step, loss, accuracy, too_large, *weighing)

    def _compute(self, index: Tensor) -> None:
        """One step on a batch; `totals` grow by loss, right and too large answers."""
        x, exact = self._inputs(index), self.states.exact(index)
        with self._autocast():
            logits = self.forward(x)
        loss = self._loss(logits, exact, *self.weighing)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        with torch.no_grad():
            guess = logits.argmax(dim=1)
            counts = [(guess == exact).double().mean(), (guess > exact).double().mean()]
            self.totals += torch.stack([loss.detach().double(), *counts])

    def _weighing(self) -> tuple[float, float]:
        if self.options.pace == "phases":
            return self.phases.beta, self.phases.eta
        return self.options.loss.beta, self.options.loss.eta

    def _loss(self, logits: Tensor, exact: Tensor, beta: float, eta: float) -> Tensor:
        if self.options.loss.name == "ce":
            return cross_entropy(logits, exact)
        return cea(logits, exact, self.weights, beta, eta)

    def _inputs(self, index: Tensor) -> Tensor:
        dtype = torch.bfloat16 if self.on_gpu else torch.float32
        rows = self.states.digits(index) + self.first_rows
        return one_hot(rows, sum(self.states.domain_sizes), dtype)

    def _autocast(self) -> AbstractContextManager[Any]:
        if self.on_gpu:  # whole numbers up to 127 are exact, also those of the rounded network
            return torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False)
        return nullcontext()

    def _learning_rate(self, step: int) -> float:
        """Half a cosine over the run, with a linear start, and another where rounding begins."""
        options = self.options
        warm_up = max(1, min(500, options.steps // 20))
        since = step - self.rounds_from if step >= self.rounds_from else step
        share = step / options.steps
        cosine = LOWEST_RATE + (1 - LOWEST_RATE) * (1 + math.cos(math.pi * share)) / 2
        return options.learning_rate * cosine * min(1.0, (since + 1) / warm_up)

    def _set_rate(self, rate: float) -> None:
        for group in self.optimiser.param_groups:
            if self.on_gpu:
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate

    def _begin_rounding(self) -> None:
        """From now on with the rounding of the integer network."""
        net = self.net
        assert isinstance(net, ResidualNet)
        with torch.no_grad():
            sample = self._inputs(self.draws.at(self.options.steps)[:CALIBRATED_STATES]).float()
            self.net = RoundedNet.from_float(net, self.options.bits, sample)
        self._prepare()

    def _finish(self) -> None:
        """The statistics of batch normalisation, of the weights as they are at the end."""
        if not self.is_rounding:
            self._begin_rounding()
        if self.rounded().is_settled:
            self.net.eval()
            return
        norms = [module for module in self.net.modules() if isinstance(module, nn.BatchNorm1d)]
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None  # a plain mean
        with torch.no_grad():
            for number in range(CALIBRATION_BATCHES):
                self.net(self._inputs(self.draws.at(self.options.steps + number)).float())
        self.net.eval()

    def _prepare(self) -> None:
        """The optimiser and the compiled form of the network as it is."""
        rate = self.options.learning_rate
        self.net.train()
        self.optimiser = torch.optim.AdamW(
            self.net.parameters(),
            # a tensor can change under a recording
            lr=torch.tensor(rate, device=self.device) if self.on_gpu else rate,
            weight_decay=0.0,
            fused=self.on_gpu,
            capturable=self.on_gpu,
        )
        self.forward: Callable[[Tensor], Tensor] = (
            torch.compile(self.net) if self.options.compile else self.net
        )
        self._record()

    def _record(self) -> None:
        """What takes a step from now on."""
        self.take_step = RecordedStep(self._compute) if self.on_gpu else self._compute

    def state(self) -> Checkpoint:
        groups: dict[str, dict[str, Any]] = {"weights": {}, "first": {}, "second": {}, "count": {}}
        for name, tensor in self.net.state_dict().items():
            groups["weights"][name] = tensor.detach().cpu().numpy()
        for name, parameter in self.net.named_parameters():
            held = self.optimiser.state.get(parameter)
            if held:
                groups["first"][name] = held["exp_avg"].cpu().numpy()
                groups["second"][name] = held["exp_avg_sq"].cpu().numpy()
                groups["count"][name] = np.array([float(held["step"])])
        notes = {
            "step": self.step,
            "is_rounding": self.is_rounding,
            "phases": asdict(self.phases),
            "curve": [asdict(window) for window in self.curve],
        }
        return Checkpoint(self.fingerprint, notes, groups)

    def restore(self, checkpoint: Checkpoint) -> None:
        notes = checkpoint.notes
        if notes["is_rounding"] and not self.is_rounding:
            net = ResidualNet(self.shape)
            steps = [1.0] * len(net.layers)
            self.net = RoundedNet(net, self.options.bits, steps).to(self.device)
            self._prepare()
        self.step = int(notes["step"])
        self.phases = Phases(**notes["phases"])
        self.curve = [Window(**window) for window in notes["curve"]]
        weights = {n: torch.from_numpy(a.copy()) for n, a in checkpoint.group("weights").items()}
        self.net.load_state_dict(weights)
        for name, parameter in self.net.named_parameters():
            if name not in checkpoint.groups.get("first", {}):
                continue
            count = torch.tensor(float(checkpoint.group("count")[name][0]), dtype=torch.float32)
            self.optimiser.state[parameter] = {
                "step": count.to(self.device) if self.on_gpu else count,
                "exp_avg": torch.from_numpy(checkpoint.group("first")[name]).to(self.device),
                "exp_avg_sq": torch.from_numpy(checkpoint.group("second")[name]).to(self.device),
            }

    def _fingerprint(self) -> str:
        """Identifies a run: a checkpoint of another one must not be continued."""
        options = json.dumps(
            [self.options.to_dict(), asdict(self.states.database.layout)], sort_keys=True
        )
        sha = hashlib.sha256(options.encode())
        sha.update(self.states.database.table.data)
        for layer in () if self.start is None else self.start.layers:
            sha.update(layer.weights.tobytes() + layer.bias.tobytes() + layer.multiplier.tobytes())
            sha.update(f"{layer.shift} {layer.skip} {layer.bits}".encode())
        return sha.hexdigest()

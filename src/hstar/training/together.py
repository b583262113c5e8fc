"""Networks that differ in seed or objective, trained as one program.

A GPU starts the operations of a small network more slowly than it carries them out. So networks of
one shape that learn from the same states share them: parameters get a leading axis of networks, and
each network has its own batch, gradient norm and moments. All is computed as in a training of its
own, but for rounding. The Loop of each keeps its curve, best weights and checkpoint, so a stopped
run may also go on alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hstar.slots.objectives.objective import Objective
from hstar.training.checkpoint import MOMENTS, Checkpoint
from hstar.training.loop import Loop, RecordedStep, Report
from hstar.training.source import StateSource

MOST_TUPLES = 8_000_000  # of objects, in all batches of a step: bounds the memory


def train_together(
    loops: Sequence[Loop],
    checkpoints: Sequence[Path | None],
    report: Report | None = None,
) -> list[str]:
    """Train all to their ends; those of one shape together, others alone. Says of each why it
    failed, or nothing. Raises CheckpointError."""
    failed: dict[int, str] = {}
    for loop, path in zip(loops, checkpoints, strict=True):
        held = Checkpoint.read(path, loop.fingerprint)
        if held is not None:
            loop.restore(held)
    paths = dict(zip(map(id, loops), checkpoints, strict=True))
    for part in parts_of(loops):
        try:
            if len(part) > 1:
                failed |= Together(part).run(paths, report)
            else:
                part[0].run(paths[id(part[0])], report)
        except FloatingPointError as error:
            failed[id(part[0])] = str(error)
    return [failed.get(id(loop), "") for loop in loops]


def parts_of(loops: Sequence[Loop]) -> list[list[Loop]]:
    """Which are trained together."""
    kinds: dict[Any, list[Loop]] = {}
    for loop in loops:
        kinds.setdefault(_kind(loop) or id(loop), []).append(loop)
    parts = []
    for alike in kinds.values():
        source: Any = alike[0].source
        tuples = int((source.batch_sizes**3).sum()) if len(alike) > 1 else 0
        most = max(1, MOST_TUPLES // max(tuples, 1))
        parts += [alike[first : first + most] for first in range(0, len(alike), most)]
    return parts


def _kind(loop: Loop) -> Any:
    """Equal for loops that can be one program; None for one that is alone in any case."""
    source, options = loop.source, loop.options
    objective = source.objective
    is_plain = type(objective).after is Objective.after and not objective.statistic_names
    if not isinstance(source, StateSource) or options.bits or options.compile or not is_plain:
        return None
    config = loop.about["model"][1]
    if not source.hold(loop.model, config) or source.batch_sizes is None:
        return None
    same = {k: v for k, v in options.to_dict().items() if k not in ("seed", "objective", "decode")}
    described = json.dumps([same, config, loop.step], sort_keys=True)
    return described, id(source.encoded), source.batch_sizes.tobytes(), loop.device


def _loss(objective: Objective) -> str:
    """Equal for objectives with the same loss: base and bounds are numbers of the targets."""
    kept = {k: v for k, v in objective.to_dict().items() if k not in ("base", "lower", "cap")}
    return json.dumps(kept, sort_keys=True)


class Together:
    """Loops of one kind. Weights and moments of each are views of what is trained here."""

    def __init__(self, loops: Sequence[Loop]) -> None:
        self.loops = sorted(loops, key=lambda loop: _loss(loop.source.objective))
        self.first = self.loops[0]
        self.options, self.device = self.first.options, self.first.device
        self.sources: list[Any] = [loop.source for loop in self.loops]
        source = self.sources[0]
        config = self.first.about["model"][1]
        held, sizes = source.held, source.batch_sizes
        self.fixed = self.first.model.fixed(config, held, sizes, len(self.loops))
        self.losses: list[tuple[Objective, slice]] = []
        for _, same in groupby(self.sources, key=lambda one: _loss(one.objective)):
            begin = self.losses[-1][1].stop if self.losses else 0
            objectives = [one.objective for one in same]
            self.losses.append((objectives[0], slice(begin, begin + len(objectives))))
        columns = [one.columns for one in self.sources]
        self.columns = {name: torch.stack([one[name] for one in columns]) for name in columns[0]}
        self.totals = torch.zeros(len(self.loops), dtype=torch.float64, device=self.device)
        self._share()
        recorded = self.device.type == "cuda"
        self.take_step: Any = RecordedStep(self._compute) if recorded else self._compute

    def _share(self) -> None:
        """Take over weights and moments."""
        vectors = [nn.utils.parameters_to_vector(one.network.parameters()) for one in self.loops]
        self.thetas = nn.Parameter(torch.stack(vectors).detach())
        self.optimiser = self.first.optimiser_of([self.thetas])
        begun = float(self.first.step)
        on = self.device if self.first.on_gpu else torch.device("cpu")
        state: dict[str, Tensor] = {"step": torch.tensor(begun, device=on)}
        state |= {name: torch.zeros_like(self.thetas) for name in MOMENTS[1:]}
        for row, loop in enumerate(self.loops):
            begin = 0
            for parameter in loop.network.parameters():
                place = (row, slice(begin, begin + parameter.numel()))
                begin = place[1].stop
                before, shared = loop.optimiser.state.get(parameter, {}), {"step": state["step"]}
                for name in MOMENTS[1:]:
                    if name in before:
                        state[name][place] = before[name].flatten()
                    shared[name] = state[name][place].view(parameter.shape)
                loop.optimiser.state[parameter] = shared
                parameter.data = self.thetas.data[place].view(parameter.shape)
        self.optimiser.state[self.thetas] = state

    def run(self, checkpoints: Mapping[int, Path | None], report: Report | None) -> dict[int, str]:
        """Train all to their ends; why some failed. Both are by the id of a loop."""
        failed: dict[int, str] = {}
        step = self.first.step
        started, before = time.monotonic(), [loop.seconds for loop in self.loops]
        while going := [one for one in self.loops if id(one) not in failed and not one.is_finished]:
            end = min(step + self.options.evaluate_every, self.options.steps)
            self.totals.zero_()
            for number in range(step, end):
                for group in self.optimiser.param_groups:
                    self.first.set_rate(group, self.options.rate(number))
                self.take_step([self._draw(number)])
            means = (self.totals / (end - step)).tolist()
            step = end
            for loop, mean, seconds in zip(self.loops, means, before, strict=True):
                if loop in going:
                    loop.step, loop.seconds = end, seconds + time.monotonic() - started
                    try:
                        line = loop.line([mean])
                        loop.note(line)
                    except FloatingPointError as error:
                        failed[id(loop)] = str(error)
                        continue
                    if report is not None:
                        report(line, self.options.steps)
                    path = checkpoints[id(loop)]
                    if path is not None:
                        loop.state().write(path)
        for loop in self.loops:
            loop.network.eval()
        return failed

    def _draw(self, step: int) -> Tensor:
        """int64 (K, B): the states of each network."""
        drawn = {source.sampler.seed: source.sampler for source in self.sources}
        rows = {seed: sampler.rows(step) for seed, sampler in drawn.items()}
        each = np.stack([rows[source.sampler.seed] for source in self.sources])
        return torch.from_numpy(each).to(self.device)

    def _compute(self, drawn: list[Tensor]) -> None:
        """One step of each on its batch; `totals` grow by the losses."""
        (rows,) = drawn
        outputs = self.fixed.outputs(self.thetas, rows.flatten())
        outputs = outputs.view(*rows.shape, outputs.shape[1])
        found = []
        for objective, part in self.losses:
            columns = self.columns.items()
            targets = {name: one[part].gather(1, rows[part]).flatten() for name, one in columns}
            losses = objective.loss(outputs[part].flatten(0, 1), targets)
            found.append((losses.view(-1, rows.shape[1]) * self.sources[0].weight).mean(dim=1))
        loss = torch.cat(found)
        self.optimiser.zero_grad(set_to_none=True)
        loss.sum().backward()  # type: ignore[no-untyped-call]
        gradient = self.thetas.grad
        if self.options.clip and gradient is not None:  # each alone, as clip_grad_norm_ has it
            share = self.options.clip / (gradient.norm(dim=1, keepdim=True) + 1e-6)
            gradient.mul_(share.clamp(max=1.0))
        self.optimiser.step()
        with torch.no_grad():
            self.totals += loss.detach().double()

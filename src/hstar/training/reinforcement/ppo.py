"""Proximal policy optimisation (Schulman et al., 2017) of a policy and a value on many problems.

    repeat:  play episodes by pi_old = pi;  A, R = advantages and returns of their steps
             for some epochs, in batches:  r = pi / pi_old
                 minimise  - mean min(r A, clip(r, 1 - c, 1 + c) A)     the policy
                           + b mean cross entropy(V, R)                 the value, in (0, 1)
                           - e mean H(pi)                               keep exploring

The reward is 1 at the goal, as with Rivlin, Hazan and Karpas (2020). A step that takes the policy
farther from pi_old than `most_divergence` is undone; it ends the update and makes the next ones
more careful. An update that stays far below lets them take larger steps again. Many small steps can
still lose what was learned: then the run goes back to the weights with the best mean return of the
last episodes, which are those that are kept.

An update sees whole episodes, so a checkpoint holds weights, moments of Adam and the generator.
Equal options and seeds give equal bytes on one thread, if updates and not time limit the run.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hstar.planning.task import Task, ground
from hstar.runtime.journal import digest_of
from hstar.runtime.resources import Budget
from hstar.slots.features.atoms import ATOMS
from hstar.slots.features.feature import whole_number
from hstar.slots.features.operators import schemas_of
from hstar.slots.features.vocabulary import Vocabulary
from hstar.slots.model_file import ModelFile, model_metadata
from hstar.slots.models.gnn import GNN, GNN_MODEL
from hstar.slots.teachers.folder import read_folder
from hstar.training.checkpoint import Arrays, Checkpoint, groups_of, restore_groups, weights_of
from hstar.training.reinforcement.curriculum import Curriculum
from hstar.training.reinforcement.episodes import Arena, Episodes, play

CHECKPOINT_SECONDS = 60.0
Row = dict[str, float]
LOSSES = ("policy_loss", "value_loss", "entropy", "divergence")
CAREFUL, BOLD = 1 / 1.5, 1.2  # what the learning rate is multiplied by
LOST = 0.6  # of the best mean return
NEAR = 1 / 3  # of `most_divergence`: an update that goes no farther could have gone on
LEAST_SPREAD = 0.05  # of advantages: smaller ones are noise, and stay small


@dataclass(frozen=True, slots=True)
class PPOOptions:
    """`updates` or `seconds` end the run, whichever comes first."""

    hidden: int = 32
    rounds: int = 4
    attention: bool = False
    discount: float = 0.9
    trace: float = 0.95
    clip: float = 0.2
    entropy: float = 0.01
    value: float = 0.5
    learning_rate: float = 1e-3  # at first and at most
    episodes: int = 64  # per update
    epochs: int = 3
    batch: int = 256
    most_gradient: float = 0.5
    most_divergence: float = 0.02  # mean of KL(pi_old, pi), in nats
    seed: int = 0
    updates: int | None = 1000
    seconds: float | None = None

    def __post_init__(self) -> None:
        whole_number(asdict(self), "episodes", "epochs", "batch")
        if self.updates is None and self.seconds is None:
            raise ValueError("give a number of updates or of seconds; else training has no end")
        if not 0 < self.discount < 1:
            raise ValueError(f"the discount lies between 0 and 1, not {self.discount:g}")
        if not 0 <= self.trace <= 1:
            raise ValueError(f"the trace lies between 0 and 1, not {self.trace:g}")
        for name in ("clip", "learning_rate", "most_gradient", "most_divergence"):
            if not getattr(self, name) > 0:
                raise ValueError(f"'{name}' must be positive, not {getattr(self, name)!r}")


@dataclass(frozen=True, slots=True)
class TrainedPolicy:
    """`history` has a row per update: steps, share of episodes that reached the goal, and more."""

    file: ModelFile
    history: list[Row]


def train_policy(
    directory: str | os.PathLike[str],
    options: PPOOptions | None = None,
    checkpoint: Path | None = None,
) -> TrainedPolicy:
    """Learn a policy and a value on the problems of a folder, all of one domain.

    With the file `checkpoint` a run that was killed goes on from it; delete it to start anew.
    Raises InputFileError for files, ValueError for a domain or problems that cannot be learned on.
    """
    problems = [one.problem for one in read_folder(directory).problems]
    tasks = [ground(problem) for problem in problems]
    run = PolicyRun(tasks, options or PPOOptions(), checkpoint)
    run.go()
    return run.trained()


class PolicyRun:
    """Learning on tasks of one domain, and what was learned so far. `report` gets each row of the
    history. Raises ValueError for what cannot be learned on, CheckpointError."""

    def __init__(
        self,
        tasks: Sequence[Task],
        options: PPOOptions,
        checkpoint: Path | None = None,
        budget: Budget | None = None,
        report: Callable[[Row], None] = lambda _row: None,
    ) -> None:
        self.options, self.path, self.report = options, checkpoint, report
        self.budget = budget or Budget()
        self.domain = tasks[0].problem.domain
        self.vocabulary = Vocabulary.of(self.domain)
        if wide := self.vocabulary.omitted:
            raise ValueError(f"predicate {wide[0]} has more arguments than a graph shows")
        chosen = {name: getattr(options, name) for name in GNN_MODEL.options}
        self.config = GNN_MODEL.configure(self.vocabulary.to_dict(), 1, chosen)
        self.config["schemas"] = schemas_of(self.domain)
        arenas = [Arena(task, self.vocabulary, self.config["schemas"]) for task in tasks]
        self.arenas = [arena for arena in arenas if arena.is_of_use]
        if not self.arenas:
            raise ValueError("every problem is solved already or has no applicable operator")
        self.curriculum = Curriculum([arena.most_steps for arena in self.arenas])
        generator = torch.Generator().manual_seed(options.seed)
        self.network: GNN = GNN_MODEL.build(self.config, generator)
        self.rate = options.learning_rate  # of the policy
        self.parts = self.network.policy_parameters(), self.network.value_parameters()
        groups = [{"params": part} for part in self.parts]
        self.adam = torch.optim.Adam(groups, options.learning_rate, eps=1e-5)
        self.rng = np.random.default_rng(options.seed)
        self.history: list[Row] = []
        self.seconds = 0.0  # of earlier runs
        self.best, self.best_return = weights_of(self.network), 0.0
        self.at_best = self.curriculum.state()
        endless = {k: v for k, v in asdict(options).items() if k not in ("updates", "seconds")}
        contents = [str(task.problem) for task in tasks]
        self.fingerprint = digest_of(json.dumps([endless, self.config, contents]))
        held = Checkpoint.read(self.path, self.fingerprint)
        if held is not None:
            self.history, self.seconds = held.notes["history"], held.notes["seconds"]
            self.best, self.best_return = held.groups["best"], held.notes["best_return"]
            self.rate, self.at_best = held.notes["rate"], held.notes["at_best"]
            self.rng.bit_generator.state = held.notes["random"]
            self.curriculum.restore(held.notes["curriculum"])
            restore_groups(self.network, self.adam, held.groups, torch.device("cpu"))

    def go(self) -> None:
        """Until the options end it. Raises OutOfResources, also in the middle of an update, which
        is then lost; and FloatingPointError if the network gives what is no number."""
        options, began, saved = self.options, time.monotonic(), time.monotonic()
        updates = math.inf if options.updates is None else options.updates
        seconds = math.inf if options.seconds is None else options.seconds

        def spent() -> float:
            return self.seconds + time.monotonic() - began

        while len(self.history) < updates and spent() < seconds:
            how = options.discount, options.trace, self.budget
            drawn = self.curriculum.draw(self.rng, options.episodes)
            played = play([self.arenas[i] for i in drawn], self.network, self.rng, *how)
            self.curriculum.learn(drawn, played.earned)
            is_lost = self._judge()
            row: Row = {
                "update": len(self.history) + 1,
                "seconds": spent(),
                "steps": len(played),
                "solved": float(self.curriculum.solved.mean()),
                "return": float(self.curriculum.gained.mean()),
                "rate": self.rate,
                **(dict.fromkeys(LOSSES, 0.0) if is_lost else self._update(played)),
            }
            self.history.append(row)
            self.report(row)
            if time.monotonic() - saved >= CHECKPOINT_SECONDS:
                self._save(spent())
                saved = time.monotonic()
        self._save(spent())

    def trained(self) -> TrainedPolicy:
        """The best weights so far."""
        metadata = model_metadata(
            features=(ATOMS.name, self.vocabulary.to_dict()),
            model=(GNN_MODEL.name, self.config),
            objective={"name": "ppo"},
            decode={"name": "h-adjusted", "base": "none", "lower": "none", "cap": None},
            domain=self.domain,
            training={
                **asdict(self.options),
                "problems": len(self.arenas),
                "done": len(self.history),
            },
        )
        return TrainedPolicy(ModelFile(metadata, self.best), self.history)

    def _judge(self) -> bool:
        """Keep the weights if the last policies, which were nearly these, did best. If they did far
        worse than the best, go back to those, and say that these are lost."""
        mean = float(self.curriculum.gained.mean())
        is_lost = mean < LOST * self.best_return
        if is_lost:
            self._set_weights(self.best)
            self.curriculum.restore(self.at_best)
            self.adam.state.clear()
            self.rate *= CAREFUL
        elif mean >= self.best_return:
            self.best, self.best_return = weights_of(self.network), mean
            self.at_best = self.curriculum.state()
        return is_lost

    def _set_weights(self, weights: Arrays) -> None:
        tensors = {name: torch.from_numpy(one.copy()) for name, one in weights.items()}
        self.network.load_state_dict(tensors)

    def _update(self, played: Episodes) -> Row:
        """Change the weights; mean losses, entropy and divergence over all batches."""
        advantages = played.advantages
        spread = max(float(advantages.std()), LEAST_SPREAD)
        normed = torch.from_numpy((advantages - advantages.mean()) / spread)
        self.adam.param_groups[0]["lr"] = self.rate
        sums, batches = np.zeros(len(LOSSES)), 0
        before: Arrays = {}  # the weights before the last step
        for rows in self._batches(len(played)):
            self.budget.check()
            loss, parts = self._loss(played, rows, normed[rows])
            if not self._is_near(parts):
                break
            sums += parts
            batches += 1
            before = weights_of(self.network)
            self.adam.zero_grad()
            loss.backward()
            for part in self.parts:
                torch.nn.utils.clip_grad_norm_(part, self.options.most_gradient)
            self.adam.step()
        else:
            with torch.inference_mode():
                _, parts = self._loss(played, rows, normed[rows])
        if not before:
            raise FloatingPointError("the training diverged; lower the learning rate")
        if not self._is_near(parts):
            self._set_weights(before)
            self.rate *= CAREFUL
        elif parts[-1] < NEAR * self.options.most_divergence:
            self.rate = min(BOLD * self.rate, self.options.learning_rate)
        return dict(zip(LOSSES, (sums / batches).tolist(), strict=True))

    def _is_near(self, parts: Sequence[float]) -> bool:
        return math.isfinite(sum(parts)) and parts[-1] <= self.options.most_divergence

    def _batches(self, steps: int) -> Iterator[NDArray[np.int64]]:
        for _ in range(self.options.epochs):
            order = self.rng.permutation(steps)
            for first in range(0, steps, self.options.batch):
                yield np.sort(order[first : first + self.options.batch])

    def _loss(self, played: Episodes, rows: Any, advantages: torch.Tensor) -> Any:
        choices = played.choices.select(rows)
        log_pi, logit = self.network.policy(played.inputs.select(rows), choices)
        taken = played.taken[rows] - played.choices.starts[rows] + choices.starts[:-1]
        change = log_pi[torch.from_numpy(taken)] - torch.from_numpy(played.log_pi[rows])
        ratio = change.exp()
        clipped = ratio.clamp(1 - self.options.clip, 1 + self.options.clip)
        policy = -torch.minimum(ratio * advantages, clipped * advantages).mean()
        value = torch.nn.functional.binary_cross_entropy_with_logits(
            logit, torch.from_numpy(played.returns[rows])
        )
        entropy = -(log_pi.exp() * log_pi).sum() / len(rows)
        loss = policy + self.options.value * value - self.options.entropy * entropy
        divergence = (ratio - 1 - change).mean()  # Schulman's estimate: never negative
        return loss, [float(one.detach()) for one in (policy, value, entropy, divergence)]

    def _save(self, seconds: float) -> None:
        if self.path is None:
            return
        notes = {
            "history": self.history,
            "seconds": seconds,
            "best_return": self.best_return,
            "rate": self.rate,
            "at_best": self.at_best,
            "random": self.rng.bit_generator.state,
            "curriculum": self.curriculum.state(),
        }
        groups = {"best": self.best, **groups_of(self.network, self.adam)}
        Checkpoint(self.fingerprint, notes, groups).write(self.path)

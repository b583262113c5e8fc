"""Episodes of a policy on many problems at once, with reward 1 at the goal and 0 elsewhere.

An episode ends at a goal, in a state without applicable operators, or after 5 h^FF(I) steps (50
where that is infinite or 0), the limit of the look-ahead of the reward-shaping paper. A step that a
goal follows has reward 1 and nothing after it; where only the limit ended an episode, the value of
the last state stands for the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hstar.planning.heuristics import make_heuristic
from hstar.planning.task import Task
from hstar.runtime.resources import Budget
from hstar.slots.features.atoms import Batch, Encoder
from hstar.slots.features.operators import ApplicableOperators, Operators, Schemas
from hstar.slots.features.vocabulary import Vocabulary
from hstar.slots.models.gnn import GNN

States = NDArray[np.int32]
Floats = NDArray[np.float32]


class Arena:
    """A problem to learn on."""

    def __init__(self, task: Task, vocabulary: Vocabulary, schemas: Schemas) -> None:
        self.task = task
        self.encoder = Encoder(task, vocabulary)
        self.operators = Operators.of(task, self.encoder.objects, schemas)
        self.start = task.initial_state
        h = float(make_heuristic(task, "ff", "one").evaluate(self.start)[0])
        self.most_steps = int(5 * h) if h and math.isfinite(h) else 50

    @property
    def is_of_use(self) -> bool:
        """Whether there is anything to do and to choose at the start."""
        return not self.task.is_goal(self.start) and len(self.task.successors(self.start)[0]) > 0


@dataclass(frozen=True, slots=True)
class Episodes:
    """T steps of several episodes. A step is a state, its applicable operators, and the one that
    was taken, a number among all operators of all steps."""

    inputs: Batch
    choices: ApplicableOperators
    taken: NDArray[np.int64]  # (T,)
    log_pi: Floats  # (T,), of what was taken
    advantages: Floats  # (T,)
    returns: Floats  # (T,), estimates of V
    earned: list[float]  # per episode gamma^(length - 1), 0 if it reached no goal

    def __len__(self) -> int:
        return len(self.taken)


class _Running:
    """An episode so far. `steps` are the numbers of its steps, `rest` is the value of what a limit
    cut off."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self.steps: list[int] = []
        self.rest = 0.0
        self.enter(arena.start)

    def enter(self, state: States) -> None:
        self.state = state
        self.ops, self.children = self.arena.task.successors(state)
        self.reward = float(self.arena.task.is_goal(state))

    @property
    def is_over(self) -> bool:
        """Whether nothing can follow."""
        return bool(self.reward) or len(self.ops) == 0

    @property
    def goes_on(self) -> bool:
        return not self.is_over and len(self.steps) < self.arena.most_steps


def play(
    arenas: Sequence[Arena],
    network: GNN,
    rng: np.random.Generator,
    discount: float,
    trace: float,
    budget: Budget | None = None,
) -> Episodes:
    """An episode in each arena, by the network's policy. `trace` is the lambda of generalised
    advantage estimation (Schulman et al., 2016). Raises OutOfResources."""
    budget = budget or Budget()
    running = [_Running(arena) for arena in arenas]
    played: list[tuple[Any, ...]] = []
    alive, num_steps, num_operators = running, 0, 0
    while alive:
        budget.check()
        batch = _encoded(alive)
        tables = [one.arena.operators for one in alive]
        choice = ApplicableOperators.of(tables, [one.ops for one in alive])
        with torch.inference_mode():
            log_pi_all, logit = network.policy(batch, choice)
            log_pi, value = log_pi_all.double().numpy(), torch.sigmoid(logit).numpy()
        chosen = _draw(log_pi, choice, rng)
        played.append((batch, choice, chosen + num_operators, log_pi[chosen], value))
        places = (chosen - choice.starts[:-1]).tolist()
        for i, (one, place) in enumerate(zip(alive, places, strict=True)):
            one.steps.append(num_steps + i)
            one.enter(one.children[place])
        num_steps += len(alive)
        num_operators += len(choice.schema)
        alive = [one for one in alive if one.goes_on]
    cut = [one for one in running if not one.is_over]
    with torch.inference_mode():
        last = torch.sigmoid(network(_encoded(cut))[:, 0]).tolist()
    for one, rest in zip(cut, last, strict=True):
        one.rest = rest
    inputs, choices, taken, log_pis, values = zip(*played, strict=True)
    value = np.concatenate(values)
    advantages = np.zeros(num_steps, dtype=np.float32)
    for one in running:
        follows, gain = one.reward + discount * one.rest, 0.0
        for step in reversed(one.steps):
            gain = follows - float(value[step]) + discount * trace * gain
            advantages[step] = gain
            follows = discount * float(value[step])
    return Episodes(
        Batch.concatenate(inputs),
        ApplicableOperators.concatenate(choices),
        np.concatenate(taken),
        np.concatenate(log_pis).astype(np.float32),
        advantages,
        np.clip(advantages + value, 0.0, 1.0),
        [one.reward and discount ** (len(one.steps) - 1) for one in running],
    )


def _encoded(running: Sequence[_Running]) -> Batch:
    return Batch.concatenate([one.arena.encoder.encode(one.state[None]) for one in running])


def _draw(
    log_pi: NDArray[np.float64], choices: ApplicableOperators, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Per state one of its operators, drawn by the policy: numbers among all of them."""
    noise = rng.gumbel(size=len(log_pi))
    starts = choices.starts[:-1]
    most = np.maximum.reduceat(log_pi + noise, starts)
    is_most = log_pi + noise == np.repeat(most, choices.counts)
    numbers = np.where(is_most, np.arange(len(log_pi)), len(log_pi))
    return np.minimum.reduceat(numbers, starts)

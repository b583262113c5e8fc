"""Where training batches come from. The loop knows no more of a source than this.

A step has two parts. `draw` chooses a batch on the host; `loss` computes on the device what the
optimiser minimises. Where all batches have the same shapes, `draw` returns tensors only, and a GPU
can replay a recorded step.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hstar.pdb import PatternDatabase
from hstar.planning.heuristics import make_heuristic
from hstar.slots.decode import DECODES, Decode
from hstar.slots.features.digits import first_rows, one_hot
from hstar.slots.features.feature import Config, Feature, SpaceStates
from hstar.slots.features.pattern_states import PatternStates, states_to_learn
from hstar.slots.features.relaxed_plans import large_where_infinite
from hstar.slots.loader import find_heuristic
from hstar.slots.models.model import Model
from hstar.slots.objectives.objective import Objective, Targets
from hstar.slots.teachers.states import follow
from hstar.training.dataset import Dataset, LabelledTask, target_columns
from hstar.training.options import Sampling
from hstar.training.samplers import Draws, Sampler, StratifiedSampler

Metrics = dict[str, float]
EVALUATION_TUPLES = 4_000_000  # how many rows of arity 3 are evaluated at once


class BatchSource:
    """`objective` may be replaced between steps."""

    is_recordable = False  # whether all batches have the same shapes

    def __init__(self, objective: Objective, device: torch.device) -> None:
        self.objective = objective
        self.device = device

    @property
    def metric(self) -> str:
        """What weights are chosen by, unless the options say."""
        return self.objective.score

    def hold(self, model: Model, config: Config) -> bool:
        """Keep the inputs on the device, if the model has a form for that; whether it has."""
        return False

    def draw(self, step: int) -> Any:
        """The batch of a step; it depends on the seed and the step alone."""
        raise NotImplementedError

    def loss(self, network: torch.nn.Module, drawn: Any) -> tuple[Tensor, list[Tensor]]:
        """The loss of a batch, and the statistics of the objective as double scalars."""
        raise NotImplementedError

    def evaluate(self, network: torch.nn.Module) -> Metrics:
        """How well a network does on all of the source: "loss" and whatever else applies."""
        raise NotImplementedError

    def inputs(self, drawn: Any) -> Tensor:
        """The inputs of a drawn batch as one matrix; only models that can be rounded need it."""
        raise NotImplementedError

    def _statistics(self, outputs: Tensor, targets: Targets) -> list[Tensor]:
        with torch.no_grad():
            found = self.objective.statistics(outputs, targets)
        return [found[name] for name in self.objective.statistic_names]


@dataclass(frozen=True)
class RowOptions:
    """What sources of labelled states have in common."""

    objective: Objective
    decode: Decode
    decode_options: Config
    features: Feature
    feature_config: Config
    batch: int
    seed: int
    sampler: Callable[[NDArray[np.int64], int, int], Sampler] | None = None  # else stratified


def _theta(network: torch.nn.Module) -> Tensor:
    """float[1, P]: all parameters in one row."""
    return torch.nn.utils.parameters_to_vector(network.parameters())[None]


def on_device(inputs: Any, device: torch.device) -> Any:
    """What a network takes: plain arrays become tensors."""
    if isinstance(inputs, np.ndarray):
        inputs = torch.from_numpy(np.ascontiguousarray(inputs))
    return inputs.to(device) if isinstance(inputs, Tensor) else inputs


class StateSource(BatchSource):
    """States of many problems; every size of state has its share of each batch."""

    def __init__(self, dataset: Dataset, options: RowOptions, device: torch.device) -> None:
        super().__init__(options.objective, device)
        self.decode, self.decode_options = options.decode, options.decode_options
        columns = target_columns(dataset, options.objective)
        self.columns = {name: torch.from_numpy(one).to(device) for name, one in columns.items()}
        self.dataset, self.features = dataset, options.features
        self.described = json.dumps([self.features.name, options.feature_config])
        self.encoded = dataset.once(
            f"inputs {self.described}",
            lambda: self.features.inputs(options.feature_config, self.states_of(dataset)),
        )
        make = options.sampler or StratifiedSampler
        self.sampler = make(self.encoded.sizes, options.batch, options.seed)
        self.weight = torch.from_numpy(self.sampler.weights).to(device)
        self.held: Any = None

    @staticmethod
    def states_of(dataset: Dataset) -> list[SpaceStates]:
        """The states that are drawn from."""
        return [SpaceStates(one.task, one.states) for one in dataset.tasks]

    @property
    def batch_sizes(self) -> NDArray[np.int64] | None:
        """int64[B]: of the states of a batch, if they are the same for every step."""
        if not isinstance(self.sampler, StratifiedSampler):
            return None
        sizes: NDArray[np.int64] = self.encoded.sizes[self.sampler.rows(0)].astype(np.int64)
        return sizes

    def hold(self, model: Model, config: Config) -> bool:
        self.model, self.config = model, config
        self.held = self.dataset.once(
            f"held {model.name} {self.described} {self.device}",
            lambda: model.held(config, self.encoded, self.device),
        )
        self.is_recordable = self.held is not None and self.batch_sizes is not None
        return self.is_recordable

    @cached_property
    def fixed(self) -> Any:
        """Of the batches."""
        return self.model.fixed(self.config, self.held, self.batch_sizes)

    def draw(self, step: int) -> Any:
        rows = self.sampler.rows(step)
        numbers = torch.from_numpy(rows).to(self.device)
        return [numbers] if self.is_recordable else (self.encoded.select(rows), numbers)

    def loss(self, network: torch.nn.Module, drawn: Any) -> tuple[Tensor, list[Tensor]]:
        rows = drawn[-1]
        if self.is_recordable:
            outputs = self.fixed.outputs(_theta(network), rows)
        else:
            outputs = network(on_device(drawn[0], self.device))
        targets = self._targets(rows)
        losses = self.objective.loss(outputs, targets)
        return (losses * self.weight).mean(), self._statistics(outputs, targets)

    def evaluate(self, network: torch.nn.Module) -> Metrics:
        """The mean loss, and the squared errors of the decoded value and of the clipped mean. Where
        a plan is all that is known of h*, and the objective takes it for a bound, a value is wrong
        as far as it leaves the bounds."""
        decodes = {"mse": self.decode}
        if self.objective.form == "location-scale":
            decodes["mse_clip"] = DECODES.find("clip")
        constants = {**self.decode_options, **self.objective.constants()}
        sums = torch.zeros(1 + len(decodes), dtype=torch.float64)
        for rows, outputs in self._outputs(network):
            targets = self._targets(rows)
            parts = [self.objective.loss(outputs, targets)]
            for decode in decodes.values():
                value = decode.value(outputs, targets["base"], targets["lower"], constants)
                nearest = targets["h_star"]
                if self.has_bounds:
                    within = value.clamp(targets["lower"], targets["upper"])
                    nearest = torch.where(targets["is_bound"], within, nearest)
                parts.append((value - nearest) ** 2)
            sums += torch.stack([part.double().sum() for part in parts]).cpu()
        means = (sums / len(self.encoded.sizes)).tolist()
        return dict(zip(("loss", *decodes), means, strict=True))

    @property
    def metric(self) -> str:
        """Bounds may be wide, and all values within them are right; the loss still tells them
        apart."""
        return "loss" if self.has_bounds else super().metric

    @property
    def has_bounds(self) -> bool:
        """Whether the cost of a plan is all that is known of some states, and taken for a bound."""
        return self.objective.takes_bounds and "is_bound" in self.columns

    def _targets(self, rows: Tensor) -> dict[str, Tensor]:
        return {name: column[rows] for name, column in self.columns.items()}

    def _outputs(self, network: torch.nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
        """The network's outputs for all states, a few at a time."""
        tuples = np.maximum(self.encoded.sizes, 1).astype(np.int64) ** 3
        groups = np.cumsum(tuples) // EVALUATION_TUPLES
        for number in np.unique(groups).tolist():
            rows = np.flatnonzero(groups == number)
            numbers = torch.from_numpy(rows).to(self.device)
            if self.held is not None:
                yield numbers, self._evaluated(number, rows).outputs(_theta(network), numbers)
            else:
                yield numbers, network(on_device(self.encoded.select(rows), self.device))

    def _evaluated(self, number: int, rows: NDArray[np.int64]) -> Any:
        """What evaluates a group of the held states; made once for all networks of a shape."""
        return self.dataset.once(
            f"group {number} {self.model.name} {json.dumps(self.config)} {self.device}",
            lambda: self.model.fixed(self.config, self.held, self.encoded.sizes[rows]),
        )


class PairSource(BatchSource):
    """Plans as examples of which state search should prefer (Chrestien et al. 2023). Raises
    ValueError if no problem has a choice to learn from.

    With s_1 .. s_n a plan's states, all successors of s_1 .. s_i are open when s_{i+1} should be
    chosen; each that is not on the plan makes a pair with it. A step sees all pairs of one problem.
    """

    def __init__(self, dataset: Dataset, options: RowOptions, device: torch.device) -> None:
        super().__init__(options.objective, device)
        self.seed = options.seed
        self.problems = []
        base = self.objective.constants()["base"]
        for labelled in dataset.tasks:
            states, pairs = open_list_pairs(labelled, dataset.cost)
            if len(pairs["better"]) == 0:
                continue  # every state has one successor: nothing to prefer
            group = [SpaceStates(labelled.task, states)]
            inputs = options.features.inputs(options.feature_config, group)
            values = np.zeros(len(states), dtype=np.float32)
            if base != "none":
                heuristic = find_heuristic(base)
                found = make_heuristic(labelled.task, heuristic, dataset.cost).evaluate(states)
                values = large_where_infinite(found / labelled.task.cost_scale)
            pairs["base"] = torch.from_numpy(values)
            targets = {name: column.to(device) for name, column in pairs.items()}
            self.problems.append((inputs, targets))
        if not self.problems:
            raise ValueError("no problem has a choice to learn from; label larger ones")

    @staticmethod
    def states_of(dataset: Dataset) -> list[SpaceStates]:
        """The states that are compared."""
        return [
            SpaceStates(one.task, open_list_pairs(one, dataset.cost)[0]) for one in dataset.tasks
        ]

    def draw(self, step: int) -> int:
        return int(np.random.default_rng([self.seed, step]).integers(len(self.problems)))

    def loss(self, network: torch.nn.Module, drawn: int) -> tuple[Tensor, list[Tensor]]:
        inputs, targets = self.problems[drawn]
        everything = inputs.select(np.arange(len(inputs.sizes)))
        outputs = network(on_device(everything, self.device))
        return self.objective.loss(outputs, targets), self._statistics(outputs, targets)

    def evaluate(self, network: torch.nn.Module) -> Metrics:
        """The mean loss; a ranking has no error in cost."""
        losses = [float(self.loss(network, number)[0]) for number in range(len(self.problems))]
        return {"loss": float(np.mean(losses))}


def open_list_pairs(labelled: LabelledTask, cost: str) -> tuple[NDArray[np.int32], Targets]:
    """All states generated along the plan int32[S, V], and the pairs among them."""
    task = labelled.task
    plan_states, to_go = follow(task, labelled.plan)
    states = list(plan_states)
    g = [to_go[0] - rest for rest in to_go]
    known = {state.tobytes() for state in states}
    better: list[int] = []
    worse: list[int] = []
    beside: list[int] = []
    for i in range(len(plan_states) - 1):
        operators, successors = task.successors(plan_states[i])
        for operator, successor in zip(operators, successors, strict=True):
            if successor.tobytes() in known:
                continue
            known.add(successor.tobytes())
            beside.append(len(states))
            states.append(successor)
            g.append(g[i] + (1.0 if cost == "one" else task.operator(int(operator)).cost))
        better += [i + 1] * len(beside)
        worse += beside
    pairs = {
        "better": torch.tensor(better, dtype=torch.int64),
        "worse": torch.tensor(worse, dtype=torch.int64),
        "g": torch.tensor(g, dtype=torch.float32),
    }
    return np.stack(states), pairs


@dataclass(frozen=True)
class TableData:
    """A table of exact values and the space it is of. Training sees the states `known`, or all."""

    database: PatternDatabase
    space: Any
    known: PatternStates | None = None

    def states(self, device: torch.device) -> PatternStates:
        return self.known or states_to_learn(self.database, self.space, device)


class PatternSource(BatchSource):
    """All states of a pattern, whose exact values are a table. Indices are drawn; digits and labels
    are gathered on the device."""

    is_recordable = True

    def __init__(
        self, states: PatternStates, objective: Objective, sampling: Sampling, batch: int, seed: int
    ) -> None:
        super().__init__(objective, states.device)
        self.states = states
        self.draws = Draws(states, sampling, batch, seed)
        self.first_rows = torch.from_numpy(first_rows(states.domain_sizes)).to(self.device)
        self.width = sum(states.domain_sizes)
        self.values = torch.tensor(states.values, dtype=torch.float32, device=self.device)

    def draw(self, step: int) -> list[Tensor]:
        return [self.draws.at(step)]

    def loss(self, network: torch.nn.Module, drawn: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        x, targets = self.inputs(drawn), self._targets(drawn[0])
        # Whole numbers up to 127 are exact in bfloat16, also those of the rounded network.
        with torch.autocast(
            self.device.type, torch.bfloat16, self.device.type == "cuda", cache_enabled=False
        ):
            outputs = network(x)
        loss = self.objective.loss(outputs, targets).mean()
        return loss, self._statistics(outputs, targets)

    def inputs(self, drawn: list[Tensor]) -> Tensor:
        on_gpu = self.device.type == "cuda"
        rows = self.states.digits(drawn[0]) + self.first_rows
        return one_hot(rows, self.width, torch.bfloat16 if on_gpu else torch.float32)

    def _targets(self, index: Tensor) -> Targets:
        exact = self.states.exact(index)
        if self.objective.form == "logits":
            return {"class": exact}
        h_star = self.values[exact]
        none = torch.full_like(h_star, torch.inf)
        return {"h_star": h_star, "base": torch.zeros_like(h_star), "lower": -none, "upper": none}

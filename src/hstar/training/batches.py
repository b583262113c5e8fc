"""What a training step computes its loss on, and how well a network does on a data set.

LikelihoodTask draws batches of labelled states. RankingTask takes one problem per step: the states
of its plan against all that search would have had open beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hstar.heuristics import make_heuristic
from hstar.models import KINDS, TaskStates
from hstar.models.nlm import NLM, dense_inputs
from hstar.models.ragged import Ragged
from hstar.objectives.cap import capped_base, fitted_cap
from hstar.objectives.losses import (
    Objective,
    Pairs,
    Targets,
    decoded,
    negative_log_likelihood,
    ranking_loss,
)
from hstar.teachers.following import follow
from hstar.training.dataset import Dataset, LabelledTask
from hstar.training.sampling import StratifiedSampler

Update = Callable[[Tensor], Tensor]  # loss -> loss, after one step of the optimiser
EVALUATION_TUPLES = 4_000_000  # how many rows of arity 3 are evaluated at once
WARM_UP_STEPS = 3  # a GPU's libraries allocate in the first steps, which must not be recorded


class LikelihoodTask:
    """Labelled states under a distribution of h*.

    Where h* is unknown but a plan is, its cost stands in. Raises ValueError where a lower bound
    exceeds a label: it is not admissible, or labels and bound are in different units.
    """

    def __init__(
        self,
        dataset: Dataset,
        model: torch.nn.Module,
        kind: str,
        config: dict[str, Any],
        objective: Objective,
        batch: int,
        seed: int,
    ) -> None:
        self.model = model
        self.objective = objective
        self.device = next(model.parameters()).device
        self.columns = target_columns(dataset, objective)
        features = dataset.features
        states = [
            TaskStates(labelled.task, list(labelled.facts), features[rows])
            for labelled, rows in _rows_of_tasks(dataset)
        ]
        self.inputs = KINDS[kind].inputs(config, states)
        self.sampler = StratifiedSampler(self.inputs.sizes, batch, seed)
        self._weights = torch.from_numpy(self.sampler.weights).to(self.device)
        self._recorded: _RecordedStep | None = None

    def updater(self, update: Update) -> Callable[[int], Tensor]:
        """A function from the number of a step to its loss, which trains on that step's batch."""
        if self.device.type == "cuda" and isinstance(self.model, NLM):
            if self._recorded is None:
                self._recorded = _RecordedStep(self, self.model, update)
            return self._recorded
        return lambda step: update(self._loss(step))

    def _loss(self, step: int) -> Tensor:
        rows = self.sampler.rows(step)
        outputs = self.model(self.inputs.select(rows))
        return self.weighted_loss(outputs, self.targets(rows))

    def weighted_loss(self, outputs: Tensor, targets: Targets) -> Tensor:
        losses = negative_log_likelihood(outputs, targets, self.objective)
        return (losses * targets.weight).mean()

    def targets(self, rows: NDArray[np.int64], weight: Tensor | None = None) -> Targets:
        """The columns of some states, of a training batch unless weights are given."""
        chosen = {
            name: torch.from_numpy(column[rows]).to(self.device)
            for name, column in self.columns.items()
        }
        return Targets(**chosen, weight=self._weights if weight is None else weight)

    def outputs(self) -> Iterator[tuple[NDArray[np.int64], Tensor]]:
        """The network's outputs for all states, a few at a time."""
        tuples = np.maximum(self.inputs.sizes, 1) ** 3
        groups = np.cumsum(tuples) // EVALUATION_TUPLES
        for number in np.unique(groups):
            rows = np.flatnonzero(groups == number)
            yield rows, self.model(self.inputs.select(rows))

    def evaluate(self) -> tuple[float, float, float]:
        """Mean loss, squared error of the decoded value, and of the mean clipped to the bounds."""
        sums = torch.zeros(3, dtype=torch.float64)
        objective = self.objective
        for rows, outputs in self.outputs():
            targets = self.targets(rows, torch.ones(len(rows), device=self.device))
            loss = negative_log_likelihood(outputs, targets, objective)
            errors = [
                (decoded(outputs, targets, objective, decode) - targets.h_star) ** 2
                for decode in (objective.decode, "clip")
            ]
            sums += torch.stack([part.double().sum() for part in (loss, *errors)]).cpu()
        loss, mse, clipped = (sums / len(self.inputs.sizes)).tolist()
        return loss, mse, clipped


class _RecordedStep:
    """Training steps of an NLM on a GPU, recorded once and replayed.

    A step is some hundred small operations; starting them one by one takes longer than computing
    them. All batches have the same sizes, so a recording fits them all.
    """

    def __init__(self, task: LikelihoodTask, model: NLM, update: Update) -> None:
        self.task = task
        self.model = model
        self.update = update
        sizes = task.inputs.sizes[task.sampler.rows(0)].astype(np.int32)
        self.ragged = Ragged(sizes, model.config.breadth, task.device)
        self.inputs: list[Tensor] = []
        self.targets: Targets | None = None
        self.loss: Tensor | None = None
        self.graph: torch.cuda.CUDAGraph | None = None
        self.steps = 0

    def __call__(self, step: int) -> Tensor:
        rows = self.task.sampler.rows(step)
        batch = self.task.inputs.select(rows)
        arrays = dense_inputs(batch, self.ragged, self.model.config.channels)
        targets = self.task.targets(rows)
        if self.graph is not None and self.loss is not None and self.targets is not None:
            self._fill(arrays, targets)
            self.graph.replay()
            return self.loss.clone()
        if not self.inputs:
            self.inputs = [torch.from_numpy(x).to(self.task.device) for x in arrays]
            self.targets = targets
        self._fill(arrays, targets)
        self.steps += 1
        if self.steps <= WARM_UP_STEPS:
            stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                loss = self._compute()
            torch.cuda.current_stream().wait_stream(stream)
            return loss
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._compute()
        self.graph.replay()
        return self.loss.clone()

    def _compute(self) -> Tensor:
        assert self.targets is not None
        outputs = self.model.forward_dense(self.inputs, self.ragged)
        return self.update(self.task.weighted_loss(outputs, self.targets))

    def _fill(self, arrays: list[NDArray[np.float32]], targets: Targets) -> None:
        assert self.targets is not None
        for tensor, array in zip(self.inputs, arrays, strict=True):
            tensor.copy_(torch.from_numpy(array))
        for name in ("h_star", "base", "lower", "upper"):
            getattr(self.targets, name).copy_(getattr(targets, name))


class RankingTask:
    """Plans as examples of which state search should prefer (Chrestien et al. 2023).

    With s_1 .. s_n a plan's states, all successors of s_1 .. s_i are open when s_{i+1} should be
    chosen; each that is not on the plan makes a pair with it.
    """

    def __init__(
        self,
        dataset: Dataset,
        model: torch.nn.Module,
        kind: str,
        config: dict[str, Any],
        objective: Objective,
        batch: int,
        seed: int,
    ) -> None:
        self.model = model
        self.objective = objective
        self.device = next(model.parameters()).device
        self.seed = seed
        self.problems = []
        for labelled in dataset.tasks:
            states, pairs = _open_list_pairs(labelled, dataset.cost)
            if len(pairs.better) == 0:
                continue  # every state has one successor: nothing to prefer
            facts = list(states.astype(np.int64) + _first_facts(labelled))
            features = make_heuristic(labelled.task, "ff", dataset.cost).plan_features(states)
            features[:, 1] /= labelled.task.cost_scale
            features = _large_where_infinite(features)
            base = _base_values(labelled, states, objective.base, dataset.cost)
            inputs = KINDS[kind].inputs(config, [TaskStates(labelled.task, facts, features)])
            self.problems.append((inputs, torch.from_numpy(base).to(self.device), pairs))
        if not self.problems:
            raise ValueError("no problem has a choice to learn from; label larger ones")

    def updater(self, update: Update) -> Callable[[int], Tensor]:
        def step_on_one_problem(step: int) -> Tensor:
            chosen = np.random.default_rng([self.seed, step]).integers(len(self.problems))
            return update(self._loss(int(chosen)))

        return step_on_one_problem

    def evaluate(self) -> tuple[float, float, float]:
        """The mean loss; a ranking has no error in cost."""
        losses = [float(self._loss(number)) for number in range(len(self.problems))]
        return float(np.mean(losses)), float("nan"), float("nan")

    def _loss(self, number: int) -> Tensor:
        inputs, base, pairs = self.problems[number]
        h = self.model(inputs.select(np.arange(len(inputs.sizes))))[:, 0] + base
        on_device = Pairs(*(part.to(self.device) for part in (pairs.better, pairs.worse, pairs.g)))
        return ranking_loss(h, on_device, self.objective.loss)


def _open_list_pairs(labelled: LabelledTask, cost: str) -> tuple[NDArray[np.int32], Pairs]:
    """All states generated along the plan int32[S, V], and the pairs among them."""
    task = labelled.task
    plan_states, to_go = follow(task, labelled.plan)
    states = list(plan_states)
    g = [to_go[0] - rest for rest in to_go]
    known = {state.tobytes(): number for number, state in enumerate(states)}
    better: list[int] = []
    worse: list[int] = []
    beside: list[int] = []
    for i in range(len(plan_states) - 1):
        operators, successors = task.successors(plan_states[i])
        for operator, successor in zip(operators, successors, strict=True):
            if successor.tobytes() in known:
                continue
            known[successor.tobytes()] = len(states)
            beside.append(len(states))
            states.append(successor)
            g.append(g[i] + (1.0 if cost == "one" else task.operator(int(operator)).cost))
        better += [i + 1] * len(beside)
        worse += beside
    pairs = Pairs(
        torch.tensor(better, dtype=torch.int64),
        torch.tensor(worse, dtype=torch.int64),
        torch.tensor(g, dtype=torch.float32),
    )
    return np.stack(states), pairs


def _base_values(
    labelled: LabelledTask, states: NDArray[np.int32], base: str, cost: str
) -> NDArray[np.float32]:
    if base == "none":
        return np.zeros(len(states), dtype=np.float32)
    values = make_heuristic(labelled.task, base, cost).evaluate(states) / labelled.task.cost_scale
    return _large_where_infinite(values)


def _large_where_infinite(values: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Dead ends get a number that is worse than any other, since losses cannot take infinity."""
    finite = np.isfinite(values)
    largest = np.max(values, initial=0.0, where=finite)
    return np.where(finite, values, 2 * largest + 1).astype(np.float32)


def _first_facts(labelled: LabelledTask) -> NDArray[np.int64]:
    return np.cumsum([0, *labelled.task.domain_sizes[:-1]])


def _rows_of_tasks(dataset: Dataset) -> Iterator[tuple[LabelledTask, slice]]:
    start = 0
    for labelled in dataset.tasks:
        yield labelled, slice(start, start + len(labelled.states))
        start += len(labelled.states)


def target_columns(dataset: Dataset, objective: Objective) -> dict[str, NDArray[np.float32]]:
    """float32[S] each: h_star, base (capped), lower, upper."""
    columns = {name: dataset.column(name) for name in ("h_star", "upper")}
    size = len(dataset)
    known = ~np.isnan(columns["h_star"])
    plan_cost = np.where(np.isnan(columns["upper"]), np.inf, columns["upper"])
    h_star = np.where(known, columns["h_star"], plan_cost)
    upper = np.where(known, plan_cost, np.inf)
    base = np.zeros(size) if objective.base == "none" else dataset.column(objective.base)
    lower = np.full(size, -np.inf) if objective.lower == "none" else dataset.column(objective.lower)
    if not np.isfinite(h_star).all():
        raise ValueError("some states have neither h* nor a plan; label the problems again")
    if not np.isfinite(base).all():
        raise ValueError(f"{objective.base} is infinite on a state of a plan; choose another base")
    names = [labelled.name for labelled in dataset.tasks]
    for bound, wrong, what in (
        (lower, lower - objective.epsilon >= h_star, f"lower bound {objective.lower}"),
        (upper, upper + objective.epsilon <= h_star, "upper bound"),
    ):
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"the {what} is {bound[row]:g} where h* is {h_star[row]:g} "
                f"(in {names[dataset.task_numbers[row]]}); bounds must hold for every label"
            )
    found = {"h_star": h_star, "base": base, "lower": lower, "upper": upper}
    targets = {name: np.asarray(column, dtype=np.float32) for name, column in found.items()}
    targets["base"] = capped_base(targets["base"], targets["lower"], objective.cap)
    return targets


def with_fitted_cap(dataset: Dataset, objective: Objective) -> Objective:
    """The objective with the cap that the labels ask for, if they do and it has none yet.

    Only where a truncated Gaussian is learned: search then computes the bound anyway, which for a
    plain one would make every state dearer.
    """
    wanted = objective.loss == "truncated-gaussian" and objective.can_be_capped
    if objective.cap is not None or not wanted:
        return objective
    columns = target_columns(dataset, objective)
    return replace(objective, cap=fitted_cap(columns["base"], columns["lower"], columns["h_star"]))


def base_error(dataset: Dataset, objective: Objective) -> float:
    """The squared error of what the network corrects, taken as an estimate of h*."""
    columns = target_columns(dataset, objective)
    return float(np.mean((columns["base"].astype(np.float64) - columns["h_star"]) ** 2))

"""Labels as training data: states of grounded tasks, and columns of numbers.

The columns that an objective compares a model's outputs with are made of them: h_star is the label;
where h* is unknown but a plan is, its cost stands in. base, lower and upper are what the objective
asks for, and nothing that it does not ask for is computed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar.pddl import Domain, Problem
from hstar.pddl.domain import read_domain
from hstar.pddl.source import source_from_bytes
from hstar.planning.task import Task, ground
from hstar.slots.features import FEATURES
from hstar.slots.features.vocabulary import domain_hash
from hstar.slots.loader import find_heuristic
from hstar.slots.objectives.cap import capped_base
from hstar.slots.objectives.objective import Objective
from hstar.slots.teachers.attempt import Attempt, read_problem_text
from hstar.slots.teachers.labels import (
    SOLVED,
    LabelledProblem,
    LabelRows,
    Labels,
    LabelsError,
    read_labels,
)
from hstar.slots.teachers.states import NOT_COSTS, heuristic_values, states_of_atoms


@dataclass(frozen=True, slots=True)
class LabelledTask:
    """A problem with its labelled states int32[S, V]. With `has_open` they are sets of atoms that
    may leave variables open; such a variable is -1."""

    name: str
    task: Task
    plan: tuple[str, ...]
    states: NDArray[np.int32]
    has_open: bool = False


@dataclass(frozen=True, slots=True)
class Dataset:
    """The states of several problems of one domain, problem after problem. `columns` holds
    float32[S] each: h_star, lower, upper (NaN where unknown), and the heuristics that were needed
    so far. Use `column` to get one."""

    domain: Domain
    cost: str
    tasks: tuple[LabelledTask, ...]
    columns: dict[str, NDArray[np.float32]]
    made: dict[str, Any] = field(default_factory=dict, init=False, compare=False)

    def __reduce__(self) -> tuple[object, ...]:
        return Dataset, (self.domain, self.cost, self.tasks, self.columns)

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What is made of the states: the same object for the same name."""
        if name not in self.made:
            self.made[name] = make()
        return self.made[name]

    def __len__(self) -> int:
        return sum(len(labelled.states) for labelled in self.tasks)

    def column(self, name: str) -> NDArray[np.float32]:
        """float32[S]: a label or the values of a heuristic, computed when first needed."""
        if name not in self.columns:
            scaled = name not in NOT_COSTS
            found = find_heuristic(name)
            values = [heuristic_values(one.task, one.states, found, scaled) for one in self.tasks]
            self.columns[name] = np.concatenate(values)
        return self.columns[name]

    @property
    def is_bound(self) -> NDArray[np.bool_]:
        """bool[S]: where the cost of a plan is all that is known of h*. Some teachers give it as
        the label too."""
        h, upper = self.column("h_star"), self.column("upper")
        return ~np.isnan(upper) & ~(h < upper)

    def digest(self) -> str:
        """Identifies the labels."""
        sha = hashlib.sha256(domain_hash(self.domain).encode())
        for labelled in self.tasks:
            sha.update(json.dumps([labelled.name, labelled.plan]).encode())
            sha.update(labelled.states.tobytes())
        for name in ("h_star", "lower", "upper"):
            sha.update(self.column(name).tobytes())
        return sha.hexdigest()

    @property
    def task_numbers(self) -> NDArray[np.int64]:
        """int64[S]: which task each state belongs to."""
        counts = [len(labelled.states) for labelled in self.tasks]
        return np.repeat(np.arange(len(self.tasks)), counts)

    @property
    def has_open_variables(self) -> bool:
        """Whether states may leave variables open, even if by chance none does."""
        return any(labelled.has_open for labelled in self.tasks)

    def select(self, tasks: Sequence[int]) -> Dataset:
        """The data of some of the problems, given in ascending order."""
        rows = np.isin(self.task_numbers, tasks)
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Dataset(self.domain, self.cost, tuple(self.tasks[i] for i in tasks), columns)

    def without_dead_ends(self) -> Dataset:
        """Most losses need a finite h."""
        kept = ~np.isposinf(self.column("h_star"))
        parts = np.split(kept, np.cumsum([len(one.states) for one in self.tasks]))
        tasks = tuple(
            replace(one, states=one.states[part])
            for one, part in zip(self.tasks, parts, strict=False)
        )
        columns = {name: column[kept] for name, column in self.columns.items()}
        return Dataset(self.domain, self.cost, tasks, columns)

    def split(self, share: float, seed: int) -> tuple[Dataset, Dataset]:
        """All but a share of the problems, and that share, drawn at random. Whole problems are
        drawn, because states of one plan are too alike to test on."""
        order = np.random.default_rng(seed).permutation(len(self.tasks))
        held_out = max(1, round(share * len(self.tasks)))
        kept, drawn = (sorted(part.tolist()) for part in (order[held_out:], order[:held_out]))
        return self.select(kept), self.select(drawn)


def check_same_kind(first: Dataset, second: Dataset) -> None:
    """Raises ValueError if labels of two files cannot be compared."""
    if domain_hash(first.domain) != domain_hash(second.domain):
        raise ValueError(
            f"the labels are of different domains: {first.domain.name} and {second.domain.name}"
        )
    if first.cost != second.cost:
        raise ValueError(
            f"the labels count costs differently: --cost {first.cost} and --cost {second.cost}"
        )


def load_dataset(path: str | os.PathLike[str], *, dead_ends: bool = False) -> Dataset:
    """Read a file of labels and ground its problems. Raises LabelsError, PddlError."""
    return dataset_of(read_labels(Path(path)), os.fspath(path), dead_ends=dead_ends)


def dataset_of(labels: Labels, path: str, *, dead_ends: bool = False) -> Dataset:
    """Training data from labels that were read from `path`. Dead ends are left out unless they are
    wanted: most losses need a finite h. Raises LabelsError."""
    domain = read_domain(source_from_bytes(f"{path}: domain", labels.domain.encode()))
    tasks, rows = [], []
    for number, problem in enumerate(labels.problems):
        if problem.status != SOLVED:
            continue
        lifted = read_problem_text(problem.problem, problem.pddl, domain, labels.cost)
        rows.append(labels.rows.of_problem(number))
        try:
            tasks.append(labelled_task(problem.problem, lifted, problem, rows[-1]))
        except ValueError as error:
            message = f"{problem.problem} {error}; label the problems again"
            raise LabelsError(message, path) from None
    dataset = _dataset(domain, labels.cost, tasks, rows)
    if not dead_ends:
        dataset = dataset.without_dead_ends()
    if len(dataset) == 0:
        raise LabelsError("there are no labelled states; was any problem solved?", path)
    return dataset


def labelled_task(
    name: str, problem: Problem, about: Attempt | LabelledProblem, rows: LabelRows
) -> LabelledTask:
    """A problem, grounded, with its labelled states. `about` says what the rows may hold. Raises
    ValueError for rows that are not states of the problem."""
    task = ground(problem, keep_constant=about.has_open)
    states = states_of_atoms(
        task, about.atoms, rows, drop_unknown=about.has_irrelevant, allow_open=about.has_open
    )
    plan = tuple(about.plan)
    if about.has_irrelevant:  # leave out steps that change nothing in this task
        changes = (states[1:] != states[:-1]).any(axis=1)
        plan = tuple(step for step, change in zip(plan, changes, strict=False) if change)
    return LabelledTask(name, task, plan, states, about.has_open)


def dataset_in_memory(parts: Sequence[tuple[str, Problem, Attempt]]) -> Dataset:
    """Training data from solved attempts at problems of one domain, dead ends included: there costs
    count as the problems say."""
    tasks, rows = [], []
    for name, problem, attempt in parts:
        assert attempt.rows is not None
        rows.append(attempt.rows)
        tasks.append(labelled_task(name, problem, attempt, attempt.rows))
    return _dataset(parts[0][1].domain, "one", tasks, rows)


def _dataset(
    domain: Domain, cost: str, tasks: Sequence[LabelledTask], parts: Sequence[LabelRows]
) -> Dataset:
    rows = LabelRows.concatenate(parts)
    columns = {"h_star": rows.h, "lower": rows.lower, "upper": rows.upper}
    return Dataset(domain, cost, tuple(tasks), columns)


def open_states(features: str) -> ValueError:
    """The error for labels with open variables."""
    fitting = [name for name in FEATURES if FEATURES.find(name).reads_open]
    return ValueError(
        f"some labelled states leave variables open, and features '{features}' need whole states; "
        f"choose features {', '.join(fitting)}, or another teacher"
    )


def no_plans(objective: str) -> ValueError:
    """The error for labels without plans."""
    return ValueError(
        f"objective '{objective}' compares states of plans, and these labels have none; choose "
        "another objective or teacher"
    )


Columns = dict[str, NDArray[Any]]


def target_columns(dataset: Dataset, objective: Objective) -> Columns:
    """float32[S] each: h_star, base (capped), lower, and upper, the cost of a plan if one is known;
    bool[S] is_bound, true where h_star is that cost, if it is anywhere; int64[S] class, if there
    are classes. Raises ValueError where a lower bound exceeds a label: it is not admissible, or
    labels and bound are in different units."""
    constants = objective.constants()
    size = len(dataset)
    h_star, plan_cost = dataset.column("h_star"), dataset.column("upper")
    known = ~np.isnan(h_star)
    upper = np.where(np.isnan(plan_cost), np.inf, plan_cost)
    h_star = np.where(known, h_star, upper)
    base_name, lower_name = constants["base"], constants["lower"]
    base = np.zeros(size) if base_name == "none" else dataset.column(base_name)
    lower = np.full(size, -np.inf) if lower_name == "none" else dataset.column(lower_name)
    if not np.isfinite(h_star).all():
        raise ValueError("some states have neither h* nor a plan; label the problems again")
    if not np.isfinite(base).all():
        raise ValueError(f"{base_name} is infinite on a state of a plan; choose another base")
    epsilon = constants.get("epsilon", 0.0)
    names = [labelled.name for labelled in dataset.tasks]
    for bound, wrong, what in (
        (lower, lower - epsilon > h_star, f"lower bound {lower_name}"),
        (upper, upper + epsilon < h_star, "upper bound"),
    ):
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"the {what} is {bound[row]:g} where h* is {h_star[row]:g} "
                f"(in {names[dataset.task_numbers[row]]}); bounds must hold for every label"
            )
    found = {"h_star": h_star, "base": base, "lower": lower, "upper": upper}
    targets: Columns = {name: np.asarray(c, dtype=np.float32) for name, c in found.items()}
    targets["base"] = capped_base(targets["base"], targets["lower"], constants["cap"])
    if dataset.is_bound.any():
        targets["is_bound"] = dataset.is_bound
    if objective.form == "logits" and objective.outputs:
        targets["class"] = objective.classes_of(targets["h_star"])
    return targets


def fitted(objective: Objective, dataset: Dataset) -> Objective:
    """The objective with what it takes from the training labels. Raises ValueError."""
    return objective.fitted(target_columns(dataset, objective))


def base_error(dataset: Dataset, objective: Objective) -> float:
    """The squared error of what the model corrects, taken as an estimate of h*."""
    columns = target_columns(dataset, objective)
    return float(np.mean((columns["base"].astype(np.float64) - columns["h_star"]) ** 2))

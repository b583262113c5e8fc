"""The fit "mlp": a small network on the facts of one task, in the core.

The network reads the atoms of a state by name, so it serves every problem with the same domain,
objects and goal. A trained one is best at the end of an epoch (hstar.training.native).
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar.planning.task import REACH_GOAL, Task
from hstar.runtime.resources import stopped
from hstar.slots.features.facts import FACTS, true_atoms
from hstar.slots.model_file import ModelFile, model_metadata
from hstar.slots.objectives import objectives_of
from hstar.training.dataset import Dataset
from hstar.training.fact_network import NETWORK
from hstar.training.fit.fit import Fit, Lesson, Limits, ModelRow
from hstar.training.native import FactRows, MlpOptions, train_mlp

BOUNDED = ("interval", "truncated-gaussian")  # objectives that use bounds


def fit_mlp(lesson: Lesson, row: ModelRow, limits: Limits) -> ModelFile:
    """Until the deadline, or until the network gets no better. Raises ValueError if there is
    nothing to learn, OutOfResources for other limits and signals."""
    dataset = lesson.dataset
    options = network_options(row)
    features = FACTS.configure([one.task for one in dataset.tasks], {}, "one")
    rows = fact_rows_of(dataset, features, has_bounds=row.objective in BOUNDED)
    deadline, memory_bytes = limits.budget.limits
    trained = train_mlp(
        rows, features["width"], options, limits.seed, deadline, memory_bytes=memory_bytes
    )
    if trained.stopped not in (None, "time"):
        raise stopped(trained.stopped)
    metadata = model_metadata(
        features=(FACTS.name, features),
        model=("mlp", options.config(features["width"])),
        objective={"name": options.objective},
        decode={"name": "value", "base": "none", "lower": "none", "cap": None},
        domain=dataset.domain,
        training={
            "teacher": {"name": row.teacher, **row.teacher_options},
            "states": len(rows),
            **trained.summary(),
        },
    )
    return ModelFile(metadata, trained.tensors())


def network_options(row: ModelRow) -> MlpOptions:
    """Raises ValueError for options that the network does not have."""
    known = {one.name for one in dataclasses.fields(MlpOptions)} - {"objective"}
    for name in row.options:
        if name not in known:
            has = ", ".join(sorted(known))
            raise ValueError(f"a network on facts has no option '{name}'; it has: {has}")
    options: dict[str, Any] = dict(row.options)
    return dataclasses.replace(NETWORK, objective=row.objective, **options)


def fact_rows_of(dataset: Dataset, features: dict[str, Any], has_bounds: bool) -> FactRows:
    """The atoms that are inputs, of each state; labels that are infinite are left out. Lower bounds
    take a while, so they are made only where they are asked for."""
    starts, atoms, lower = [np.zeros(1, np.int64)], [], []
    h, upper = dataset.column("h_star"), dataset.column("upper")
    is_label = ~np.isposinf(h)
    number = 0
    for one in dataset.tasks:
        kept = is_label[number : number + len(one.states)]
        number += len(one.states)
        states = one.states[kept]
        begins, held = true_atoms(features, one.task, states)
        starts.append(starts[-1][-1] + begins[1:])
        atoms.append(held)
        bounds = goal_count_bounds(one.task, states) if has_bounds else np.full(len(states), np.nan)
        lower.append(np.asarray(bounds, np.float32))
    # A bound is the best label where no distance is known.
    labels = np.where(np.isnan(h), upper, h)[is_label]
    return FactRows(
        features["width"],
        np.concatenate(starts),
        np.concatenate(atoms).astype(np.int32),
        labels.astype(np.float32),
        np.concatenate(lower),
        upper[is_label],
    )


def goal_count_bounds(task: Task, states: NDArray[np.int32]) -> NDArray[np.float32]:
    """Lower bounds on the steps to the goal: missing goals / the most that one operator reaches.

    An artificial goal is reached by an operator that is no step, so there the bounds are 0. An open
    variable (-1) may have the value that the goal asks for.
    """
    names = {task.operator_name(op) for op in range(task.num_operators)}
    if REACH_GOAL in names:
        return np.zeros(len(states), np.float32)
    goal = dict(task.goal)
    most = 1
    for op in range(task.num_operators):
        effects = {(variable, value) for _, variable, value in task.core.operator_parts(op)[3]}
        most = max(most, sum(goal.get(variable) == value for variable, value in effects))
    wanted = states[:, list(goal)]
    missing = ((wanted != list(goal.values())) & (wanted >= 0)).sum(axis=1)
    return np.asarray(np.ceil(missing / most), np.float32)


MLP = Fit(
    "a network on the facts of one task, in the core",
    fit_mlp,
    lambda row: (
        (row.model, row.features) == ("mlp", "facts") and row.objective in objectives_of("mlp")
    ),
    f"takes model mlp on features facts with objective {', '.join(objectives_of('mlp'))}",
    network_options,
)

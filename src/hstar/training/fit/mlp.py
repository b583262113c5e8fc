"""The fit "mlp": a small network on the facts of one task, in the core.

The network reads the atoms of a state by name, so it serves every problem with the same domain,
objects and goal. A trained one is best at the end of an epoch (hstar.training.native).
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.pddl import Domain
from hstar.planning.task import Task
from hstar.runtime.resources import stopped
from hstar.slots.features.facts import FACTS
from hstar.slots.features.feature import SpaceStates
from hstar.slots.model_file import ModelFile, model_metadata
from hstar.slots.objectives import OBJECTIVES, objectives_of
from hstar.training.dataset import Dataset
from hstar.training.fit import Fit, Lesson, Limits, ModelRow
from hstar.training.native import NETWORK, Layer, MlpOptions, to_tensors, train_mlp


def fit_mlp(lesson: Lesson, row: ModelRow, limits: Limits) -> ModelFile:
    """Until the deadline, or until the network gets no better. Raises ValueError if there is
    nothing to learn, OutOfResources for other limits and signals."""
    dataset = lesson.dataset
    options = network_options(row)
    features = FACTS.configure([one.task for one in dataset.tasks], {}, "one")
    rows = fact_rows_of(dataset, features, OBJECTIVES.find(row.objective).takes_bounds)
    trained = train_mlp(rows, features["width"], options, limits.seed, *limits.budget.limits)
    if trained.stopped not in (None, "time"):
        raise stopped(trained.stopped)
    training = {
        "teacher": {"name": row.teacher, **row.teacher_options},
        "states": len(rows),
        **trained.summary(),
    }
    return fact_model(features, options, trained.layers, dataset.domain, training)


def fact_model(
    features: dict[str, Any],
    options: MlpOptions,
    layers: list[Layer],
    domain: Domain,
    training: dict[str, Any],
) -> ModelFile:
    """A network on facts as a model file."""
    metadata = model_metadata(
        features=(FACTS.name, features),
        model=("mlp", options.config(features["width"])),
        objective={"name": options.objective},
        decode={"name": "value", "base": "none", "lower": "none", "cap": None},
        domain=domain,
        training=training,
    )
    return ModelFile(metadata, to_tensors(layers))


def network_options(row: ModelRow) -> MlpOptions:
    """Raises ValueError for options that the network does not have."""
    known = {one.name for one in dataclasses.fields(MlpOptions)} - {"objective"}
    for name in row.options:
        if name not in known:
            has = ", ".join(sorted(known))
            raise ValueError(f"a network on facts has no option '{name}'; it has: {has}")
    options: dict[str, Any] = dict(row.options)
    return dataclasses.replace(NETWORK, objective=row.objective, **options)


def fact_rows_of(
    dataset: Dataset, features: dict[str, Any], takes_bounds: bool
) -> _core.TrainingRows:
    """The atoms that are inputs, of each state that is no dead end. Lower bounds take a while, so
    they are made only where they are asked for."""
    held = dataset.without_dead_ends()
    inputs = FACTS.inputs(features, [SpaceStates(one.task, one.states) for one in held.tasks])
    h, upper = held.column("h_star"), held.column("upper")
    lower = np.full(len(h), np.nan, np.float32)
    if takes_bounds:
        lower = np.concatenate([goal_count_bounds(one.task, one.states) for one in held.tasks])
        labels = np.where(held.is_bound, np.nan, h)
    else:  # a bound is the best where no distance is known
        labels = np.where(np.isnan(h), upper, h)
    width, atoms = features["width"], inputs.columns
    return _core.TrainingRows(width, inputs.starts, atoms, labels, lower, upper)


def goal_count_bounds(task: Task, states: NDArray[np.int32]) -> NDArray[np.float32]:
    """Lower bounds on the steps to the goal: missing goals / the most that one operator reaches.

    An artificial goal is reached by an operator that is no step, so there the bounds are 0. An open
    variable (-1) may have the value that the goal asks for.
    """
    if any(map(task.core.is_artificial, range(task.num_operators))):
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
    fit_mlp,
    lambda row: (
        (row.model, row.features) == ("mlp", "facts") and row.objective in objectives_of("mlp")
    ),
    f"takes model mlp on features facts with objective {', '.join(objectives_of('mlp'))}",
    network_options,
)

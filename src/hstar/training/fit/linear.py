"""The fit "linear": linear models on Weisfeiler-Leman features, in the core.

A function of states has one of these objectives:

    rank-svm   worse states are at least 1 above better ones, squared hinge
    l-gbfs     the same pairs with the logistic loss
    squared    the distance to the goal, where it is known (along plans that are not optimal, what
               is left of the plan)

Beside it, a rank-SVM on the colours of operators (cpp/wl/operators.hpp) says which of them to try
first in a state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.runtime.resources import Budget
from hstar.slots.features.feature import Config, SpaceStates
from hstar.slots.features.wl import WL, SparseRows, joined, operator_colours, rows_at_once, sparse
from hstar.slots.model_file import ModelFile, model_metadata
from hstar.slots.objectives import objectives_of
from hstar.training.dataset import no_plans, open_states
from hstar.training.fit import Fit, Lesson, Limits, ModelRow
from hstar.training.fit.choices import Choices, all_choices

LOSSES = {"squared": "squared", "l-gbfs": "logistic"}  # what the core calls them
Colours = NDArray[np.uint64]


def fit_linear(lesson: Lesson, row: ModelRow, limits: Limits) -> ModelFile:
    """Raises ValueError for labels that do not suit the objective, and for features that tell no
    states apart or are too many; OutOfResources."""
    check_options(row)
    if any((one.states < 0).any() for one in lesson.dataset.tasks):
        raise open_states(row.features)
    choices = all_choices(lesson.dataset, lesson.minima)
    if row.objective != "squared" and not any(len(one.better) for one in choices):
        raise no_plans(row.objective)
    tasks = [one.task for one in choices]
    config = WL.configure(tasks, {**WL.options, **row.options}, "one")
    config = WL.fit(config, [SpaceStates(one.task, one.states) for one in choices])
    weights, training = _fit(choices, config, row.objective, limits.budget)
    domain = tasks[0].problem.domain
    tensors = {"weight": weights[None].astype(np.float32), "bias": np.zeros(1, np.float32)}
    optional: dict[str, Any] = {}
    ranking = rank_operators(choices, config, limits.budget)
    if ranking is not None:
        optional["operators"], tensors["operators"] = ranking
    metadata = model_metadata(
        features=(WL.name, config),
        model=("linear", {"inputs": config["width"], "outputs": 1}),
        objective={"name": row.objective, "base": "none"},
        decode={"name": "value", "base": "none", "lower": "none", "cap": None},
        domain=domain,
        training=training,
        **optional,
    )
    return ModelFile(metadata, tensors)


def _fit(
    choices: Sequence[Choices], config: Config, objective: str, budget: Budget
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """The weights of states, and how they were found."""
    targets = np.zeros(0)
    if objective == "squared":
        rows, targets = states_with_distances(config, choices)
    else:
        rows = distinct_differences(config, choices)
    if len(rows[0]) == 1:
        raise ValueError("the features do not tell the states of plans apart")
    limits = asdict(budget)
    with budget.native():
        if objective == "rank-svm":
            found = _core.rank_svm(*rows, config["width"], **limits)
        else:
            if objective not in LOSSES:
                raise ValueError(f"the core has no loss for the objective '{objective}'; use torch")
            found = _core.newton_fit(*rows, config["width"], LOSSES[objective], targets, **limits)
    weights, passes, converged = found
    made = {"method": objective, "plans": len(choices), "rows": len(rows[0]) - 1}
    return weights, {**made, "passes": passes, "converged": converged}


def distinct_differences(config: Config, choices: Sequence[Choices]) -> SparseRows:
    """The features of worse states minus those of better ones. Of equal rows there is one, and none
    is zero."""
    # Rows are equal if these sums are: 63 random bits for each column.
    factors = np.random.default_rng(0).integers(2**63, size=config["width"], dtype=np.uint64)
    seen = {0}
    made = []
    size = rows_at_once(config)
    for one in choices:
        encode = WL.encoder(config, one.task)
        for first in range(0, len(one.better), size):
            part = slice(first, first + size)
            needed, places = np.unique([one.better[part], one.worse[part]], return_inverse=True)
            counts = encode(one.states[needed]).astype(np.int32)
            better, worse = places.reshape(2, -1)
            rows = counts[worse] - counts[better]
            sums = (rows.astype(np.uint64) * factors).sum(axis=1)
            fresh = []
            for i, key in enumerate(sums.tolist()):
                if key not in seen:
                    seen.add(key)
                    fresh.append(i)
            made.append(sparse(rows[fresh]))
    return joined(made)


def states_with_distances(
    config: Config, choices: Sequence[Choices]
) -> tuple[SparseRows, NDArray[np.float64]]:
    """The features of all states whose distance is known, and the distances."""
    known = [np.isfinite(one.distances) for one in choices]
    chosen = list(zip(choices, known, strict=True))
    made = WL.inputs(config, [SpaceStates(one.task, one.states[rows]) for one, rows in chosen])
    assert made.values is not None
    targets = np.concatenate([np.zeros(0), *(one.distances[rows] for one, rows in chosen)])
    return (made.starts, made.columns, made.values), targets


def check_options(row: ModelRow) -> None:
    """Raises ValueError for options that the features do not have."""
    for name in row.options:
        if name not in WL.options:
            names = ", ".join(WL.options)
            raise ValueError(f"a linear model on wl has no option '{name}'; it has: {names}")


def takes(row: ModelRow) -> bool:
    return (row.model, row.features) == ("linear", "wl") and row.objective in objectives_of(
        "linear"
    )


def rank_operators(
    choices: Sequence[Choices], config: Config, budget: Budget
) -> tuple[dict[str, Any], NDArray[np.float32]] | None:
    """Actions and colours of operators, and weights float32[C]. None if no two operators that were
    chosen between look different. Raises OutOfResources."""
    used = [one for one in choices if len(one.steps)]
    if not used:
        return None
    actions = [action.name for action in used[0].task.problem.domain.actions]
    parts = [_colours_of_steps(config, one, actions) for one in used]
    better, worse = (np.concatenate(side) for side in zip(*parts, strict=True))
    pairs = np.unique(np.concatenate([better, worse], axis=1), axis=0)
    better, worse = np.split(pairs, 2, axis=1)  # [Q, rounds + 2] each
    pairs = pairs[(better != worse).any(axis=1)]
    if not len(pairs):
        return None
    colours, places = np.unique(pairs, return_inverse=True)
    rows = _differences(*np.split(places.reshape(pairs.shape), 2, axis=1))
    with budget.native():
        weights, _, _ = _core.rank_svm(*rows, len(colours), **asdict(budget))
    kept = np.flatnonzero(weights)
    described = {"actions": actions, "colours": [f"{colour:016x}" for colour in colours[kept]]}
    return described, weights[kept].astype(np.float32)


def _colours_of_steps(
    config: Config, one: Choices, actions: Sequence[str]
) -> tuple[Colours, Colours]:
    """Of the better and of the worse operator of each step, uint64[Q, rounds + 2]."""
    rows, better, worse = one.steps.T
    both = np.concatenate([np.stack([rows, better], 1), np.stack([rows, worse], 1)])
    distinct, places = np.unique(both, axis=0, return_inverse=True)
    states = one.states[distinct[:, 0]]
    found = operator_colours(config, one.task, states, distinct[:, 1], actions)
    better, worse = np.split(places.reshape(-1), 2)
    return found[better], found[worse]


def _differences(better: NDArray[np.int64], worse: NDArray[np.int64]) -> SparseRows:
    """The colours of worse operators minus those of better ones. Colours of different rounds
    differ, so two operators share one in the same round only."""
    places, rounds = np.nonzero(better != worse)
    columns = np.concatenate([better[places, rounds], worse[places, rounds]])
    values = np.repeat(np.array([-1, 1], np.float32), len(places))
    owners = np.tile(places, 2)
    order = np.lexsort((columns, owners))
    lengths = np.bincount(owners, minlength=len(better))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return starts, columns[order].astype(np.int32), values[order]


LINEAR = Fit(
    fit_linear,
    takes,
    f"takes model linear on features wl with objective {', '.join(objectives_of('linear'))}",
    check_options,
    corrected=True,
    seeded=False,
)

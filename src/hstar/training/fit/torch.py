"""The fit "torch": every model that has a network in torch, by gradient descent."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from hstar.slots.features import FEATURES
from hstar.slots.model_file import ModelFile
from hstar.slots.models import MODELS
from hstar.slots.objectives import OBJECTIVES, make_objective
from hstar.training.fit import Fit, Lesson, Limits, ModelRow

if TYPE_CHECKING:
    from hstar.training.options import TrainOptions

VALIDATION = 0.1  # of the problems


def fit_torch(lesson: Lesson, row: ModelRow, limits: Limits) -> ModelFile | None:
    """A tenth of the problems chooses the weights; with one problem, it does. None if no weights
    were judged in time. Raises ValueError for pieces that do not fit, OutOfResources."""
    require_torch(row.label)
    from hstar.training.train import prepare

    data = lesson.dataset.without_dead_ends()
    parts = data.split(VALIDATION, limits.seed) if len(data.tasks) > 1 else (data, data)
    if lesson.validation is not None:
        parts = (data, lesson.validation)
    options = replace(train_options(row), seed=limits.seed)
    if limits.steps is not None:
        options = replace(options, steps=min(options.steps, limits.steps))
    loop = prepare(*parts, options)
    loop.run(deadline=limits.budget.deadline or None)
    return loop.model_file() if loop.curve else None


def require_torch(what: str) -> None:
    """Raises ValueError if it is not installed."""
    if find_spec("torch") is None:
        advice = "run in a checkout of hstar: pip install '.[learn]'"
        raise ValueError(f"{what} needs torch; {advice}")


def train_options(row: ModelRow) -> TrainOptions:
    """Raises ValueError for options that neither model, features, objective nor training has."""
    from hstar.training.options import TrainOptions, default_options

    kind = OBJECTIVES.find(row.objective)
    named = dict(row.options)

    def taken(by: Any) -> dict[str, Any]:
        return {name: named.pop(name) for name in by.__dataclass_fields__ if name in named}

    objective = make_objective(row.objective, **taken(kind))
    options: dict[str, Any] = default_options(row.model, objective)
    return TrainOptions(
        **{**options, **taken(TrainOptions)},
        model=row.model,
        features=row.features,
        objective=objective,
        model_options=named,
    )


def takes(row: ModelRow) -> bool:
    model, features = MODELS.find(row.model), FEATURES.find(row.features)
    objective = OBJECTIVES.find(row.objective)
    return features.name in model.features and objective.batches in ("states", "pairs")


TORCH = Fit(
    fit_torch,
    takes,
    "takes a model that reads the features, and an objective that learns from labels",
    train_options,
)

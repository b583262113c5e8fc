"""A model file from a file of labels, by any fit that learns from labels."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hstar.slots.model_file import ModelFile, write_model
from hstar.slots.models import MODELS
from hstar.slots.teachers.labels import read_labels
from hstar.training.dataset import check_same_kind, dataset_of, load_dataset
from hstar.training.fit import ACTING, FITS, Lesson, Limits, ModelRow, fit_for

USUAL = {  # model, features and objective of a fit; no features: what the model reads
    "linear": ("linear", "wl", "rank-svm"),
    "mlp": ("mlp", "facts", "squared"),
    "torch": ("nlm", None, "truncated-gaussian"),
}


def train_from_labels(
    labels: str | os.PathLike[str],
    output: str | os.PathLike[str],
    fit: str,
    limits: Limits,
    *,
    model: str | None = None,
    features: str | None = None,
    objective: str | None = None,
    options: Mapping[str, Any] | None = None,
    validation: str | os.PathLike[str] | None = None,
) -> ModelFile:
    """Write the model file. What is not named suits the fit; `options` are those of features, model
    and objective. Dead ends are learned from where the fit can use them. Raises LabelsError,
    PddlError, ValueError for what does not fit, OutOfResources, OSError."""
    chosen = FITS.find(fit)
    if chosen.acts:
        how = f"use 'hstar learn --recipe {ACTING.get(fit, 'rollouts')}'"
        raise ValueError(f"the fit '{fit}' learns by acting; {how}")
    usual = USUAL.get(fit, (None, None, None))
    model, objective = model or usual[0], objective or usual[2]
    if model is None or objective is None:
        raise ValueError(f"say which model and objective the fit '{fit}' shall have")
    features = features or usual[1] or MODELS.find(model).features[0]
    held = read_labels(Path(labels))
    row = ModelRow(held.teacher, features, model, objective, fit, held.options, options or {})
    fit_for(row).check(row)
    data = dataset_of(held, os.fspath(labels), dead_ends=True)
    judges = None if validation is None else load_dataset(validation)
    if judges is not None:
        check_same_kind(data, judges)
    found = chosen.run(Lesson(data, validation=judges), row, limits)
    if found is None:
        raise ValueError("the limits are too tight for any model")
    write_model(output, found)
    return found

"""How far a model's predictions are from labels."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import torch

from hstar.slots.features.vocabulary import domain_hash
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import read_model, refusing_malformed
from hstar.slots.objectives import make_objective
from hstar.slots.objectives.objective import Objective
from hstar.training.dataset import Dataset
from hstar.training.source import RowOptions, StateSource


def evaluate_model(
    path: str | os.PathLike[str], dataset: Dataset, *, trust: bool = False
) -> dict[str, float]:
    """The errors of a model file: "mse" of the decoded prediction, "mse_clip" of the clipped mean
    (NaN where there is none), and "nll", the mean loss or negative log-likelihood; and the numbers
    of "states" and "problems". Raises ModelFileError, ValueError for a ranking model."""
    name = os.fspath(path)
    file = read_model(name, trust=trust)
    trained = file.metadata
    with refusing_malformed(name):
        objective = objective_of(trained["objective"])
    if objective.batches == "pairs":
        raise ValueError("a ranking model does not estimate costs, so it has no error")
    domain = trained["domain"] or {"name": "none", "hash": ""}
    if domain_hash(dataset.domain) != domain["hash"] or dataset.cost != trained["cost"]:
        raise ValueError(
            f"{name} was trained on domain {domain['name']} with --cost {trained['cost']}; "
            f"the labels are of {dataset.domain.name} with --cost {dataset.cost}"
        )
    heuristic = LearnedHeuristic(file, name)
    config = trained["features"]["config"]
    options = RowOptions(
        objective, heuristic.decode, heuristic.constants, heuristic.features, config, 256, 0
    )
    source = StateSource(dataset, options, torch.device("cpu"))
    with torch.no_grad():
        found = source.evaluate(heuristic.network())
    errors = {"mse": found["mse"], "mse_clip": found.get("mse_clip", math.nan)}
    return {**errors, "nll": found["loss"], "states": len(dataset), "problems": len(dataset.tasks)}


def objective_of(described: dict[str, Any]) -> Objective:
    """The objective that a model file describes. Raises ValueError, TypeError, KeyError."""
    options = {key: value for key, value in described.items() if key != "name"}
    if "values" in options:
        options["values"] = tuple(options["values"])
    return make_objective(described["name"], **options)


def baseline_mse(dataset: Dataset, heuristic: str) -> float:
    """The squared error of a built-in heuristic taken as an estimate of h*."""
    error = dataset.column(heuristic).astype(np.float64) - dataset.column("h_star")
    return float(np.mean(error**2))

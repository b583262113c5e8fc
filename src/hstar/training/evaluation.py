"""How far a model's predictions are from labels."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import torch

from hstar.features.atoms import domain_hash
from hstar.learned.modelfile import read_model
from hstar.models import KINDS
from hstar.objectives.losses import RANKING, Objective
from hstar.training.batches import LikelihoodTask
from hstar.training.dataset import Dataset


@dataclass(frozen=True, slots=True)
class Metrics:
    """Mean squared errors of the decoded prediction and of the clipped mean, and the mean
    negative log-likelihood, over the states of some problems."""

    mse: float
    mse_clip: float
    nll: float
    states: int
    problems: int

    def describe(self) -> str:
        return (
            f"squared error {self.mse:.3f} ({self.mse_clip:.3f} clipped), "
            f"negative log-likelihood {self.nll:.3f}, "
            f"{self.states} states of {self.problems} problems"
        )


def evaluate_model(path: str | os.PathLike[str], dataset: Dataset) -> Metrics:
    """The errors of a model file. Raises ModelFileError, ValueError for a ranking model."""
    held = read_model(path)
    objective = Objective.from_dict(held.metadata["objective"])
    if objective.loss in RANKING:
        raise ValueError("a ranking model does not estimate costs, so it has no error")
    trained = held.metadata
    if domain_hash(dataset.domain) != trained["domain"]["hash"] or dataset.cost != trained["cost"]:
        raise ValueError(
            f"{os.fspath(path)} was trained on domain {trained['domain']['name']} with --cost "
            f"{trained['cost']}; the labels are of {dataset.domain.name} with --cost {dataset.cost}"
        )
    kind = held.metadata["model"]
    model = KINDS[kind].build(held.metadata["config"], torch.Generator())
    model.load_state_dict({name: torch.from_numpy(a) for name, a in held.tensors.items()})
    model.eval()
    task = LikelihoodTask(dataset, model, kind, held.metadata["config"], objective, 256, 0)
    with torch.no_grad():
        nll, mse, mse_clip = task.evaluate()
    return Metrics(mse, mse_clip, nll, len(dataset), len(dataset.tasks))


def baseline_mse(dataset: Dataset, heuristic: str) -> float:
    """The squared error of a built-in heuristic taken as an estimate of h*."""
    error = dataset.column(heuristic).astype(np.float64) - dataset.column("h_star")
    return float(np.mean(error**2))

"""Small trainings: labels, options and datasets that several tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.objectives import make_objective
from hstar.slots.objectives.objective import Objective
from hstar.slots.teachers import LabelOptions
from hstar.slots.teachers.states import follow
from hstar.training.dataset import Dataset
from hstar.training.loop import Line, Loop, Report
from hstar.training.options import TrainOptions
from hstar.training.train import prepare

# No limit of time or memory, so that the labels are the same on every machine.
LABELLING = LabelOptions(
    options={"max_expansions": 10_000}, time_limit=None, memory_limit=None, jobs=1
)
TINY: dict[str, dict[str, Any]] = {
    "nlm": {"width": 4, "depth": 4},
    "hgn": {"hidden": 4, "steps": 2},
    "gnn": {"hidden": 6, "rounds": 2},
    "linear": {},
    "mlp": {"hidden": 6, "width": 4, "blocks": 1},
}
FEATURES = {"mlp": "relaxed-plans"}  # its default needs one task
LIKELIHOODS = ("gaussian", "truncated-gaussian")
RANKING = ("l-gbfs", "l-star", "rank-svm")
CLASSES = ("ce", "cea")


def options(model: str = "nlm", objective: Objective | None = None, **changes: Any) -> TrainOptions:
    chosen = {"steps": 12, "evaluate_every": 4, "batch": 16, "device": "cpu", **changes}
    chosen = {"features": FEATURES.get(model), "model_options": TINY[model], **chosen}
    return TrainOptions(
        model=model, objective=objective or make_objective("truncated-gaussian"), **chosen
    )


def train(
    training: Dataset,
    validation: Dataset,
    output: Path,
    options: TrainOptions,
    report: Report | None = None,
) -> Loop:
    """Train on labelled states and write the model file."""
    return prepare(training, validation, options).write(output, report)


def trained(dataset: Dataset, path: Path, chosen: TrainOptions) -> bytes:
    train(dataset, dataset.select([0]), path, chosen)
    return path.read_bytes()


def error_in_search(learned: LearnedHeuristic, dataset: Dataset) -> float:
    """The mean squared error of the values that search sees on the plans of a dataset."""
    errors: list[float] = []
    for labelled in dataset.tasks:
        bound: Any = learned.bind(labelled.task)
        states, to_go = follow(labelled.task, labelled.plan)
        h = (bound if callable(bound) else bound.evaluate)(states)
        errors += [(float(a) - b) ** 2 for a, b in zip(h, to_go, strict=True)]
    return float(np.mean(errors))


class Killed(Exception):
    pass


def kill_at(step: int) -> Callable[[Line, int], None]:
    """A report that ends the training at the evaluation after some steps."""

    def report(line: Line, _: int) -> None:
        if line["step"] == step:
            raise Killed

    return report


def interrupted(dataset: Dataset, path: Path, chosen: TrainOptions, after: int) -> list[int]:
    """Train until an evaluation after some steps, but not its checkpoint; the steps of all."""
    steps: list[int] = []

    def report(line: Line, total: int) -> None:
        assert total == chosen.steps
        steps.append(line["step"])
        if line["step"] >= after:
            raise Killed

    with pytest.raises(Killed):
        train(dataset, dataset.select([0]), path, chosen, report)
    assert not path.exists()
    return steps

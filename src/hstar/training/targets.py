"""The columns that objectives compare a model's outputs with.

h_star is the label; where h* is unknown but a plan is, its cost stands in. base, lower and upper
are what the objective asks for, and nothing that it does not ask for is computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar.slots.objectives.cap import capped_base
from hstar.slots.objectives.objective import Objective
from hstar.training.dataset import Dataset

Columns = dict[str, NDArray[Any]]


def target_columns(dataset: Dataset, objective: Objective) -> Columns:
    """float32[S] each: h_star, base (capped), lower, upper; int64[S] class, if there are classes.
    Raises ValueError where a lower bound exceeds a label: it is not admissible, or labels and bound
    are in different units."""
    constants = objective.constants()
    size = len(dataset)
    h_star, plan_cost = dataset.column("h_star"), dataset.column("upper")
    known = ~np.isnan(h_star)
    plan_cost = np.where(np.isnan(plan_cost), np.inf, plan_cost)
    upper = np.where(known, plan_cost, np.inf)
    h_star = np.where(known, h_star, plan_cost)
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

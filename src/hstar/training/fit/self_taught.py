"""The fit "self-taught": the network that labels states for itself is the one that is kept.

The teachers "bootstrap" (h^Boot) and "value-iteration" (h^AVI) train a network while they label.
Elsewhere another network learns from the rows that they leave; here there is only theirs, as Ferber
et al. (2022) have it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hstar.planning.task import ground
from hstar.slots.model_file import ModelFile
from hstar.slots.teachers.backward import attempt_of
from hstar.slots.teachers.labels import LabelRows
from hstar.slots.teachers.registry import TEACHERS
from hstar.slots.teachers.teacher import SamplingTask
from hstar.training.fit import Fit, Lesson, Limits, ModelRow
from hstar.training.fit.mlp import fact_model, network_options
from hstar.training.native import FactNetwork
from hstar.training.teachers.bootstrap import sample_bootstrap
from hstar.training.teachers.value_iteration import sample_value_iteration

ENDLESS = 2**31 - 1
TEACHING: dict[str, Callable[..., LabelRows]] = {
    "bootstrap": sample_bootstrap,
    "value-iteration": sample_value_iteration,
}


def fit_self_taught(lesson: Lesson, row: ModelRow, limits: Limits) -> ModelFile:
    """Until the time is over, or so many rounds as `limits` has steps. Raises ValueError if nothing
    can be drawn around the goal, OutOfResources."""
    (first,) = lesson.tasks
    task = ground(first.problem, keep_constant=True, budget=limits.budget)
    options = self_taught_options(row)
    network = FactNetwork(task, limits.seed, network_options(row))
    rounds = {"rounds": limits.steps or ENDLESS}
    wanted = SamplingTask(task, limits.budget, options.pop("states"), limits.seed)
    rows = TEACHING[row.teacher](wanted, network=network, **{**options, **rounds})
    limits.tell(attempt_of(task, rows))
    training = {"teacher": {"name": row.teacher, **row.teacher_options}, "states": len(rows)}
    return fact_model(
        network.features, network.options, network.layers, first.problem.domain, training
    )


def self_taught_options(row: ModelRow) -> dict[str, Any]:
    """Raises ValueError for options that teacher or network do not have."""
    network_options(row)
    settings = TEACHERS.find(row.teacher).settings(row.teacher_options)
    return {name: value for name, value in settings.items() if name != "seed"}


SELF_TAUGHT = Fit(
    fit_self_taught,
    lambda row: (
        row.teacher in TEACHING
        and (row.features, row.model, row.objective) == ("facts", "mlp", "squared")
    ),
    f"takes teacher {' or '.join(TEACHING)}, model mlp on features facts, and objective squared",
    self_taught_options,
    acts=True,
)

"""Labelling a problem and fitting a model, as jobs of worker processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hstar.learning.trials import TOO_MUCH, WORK, Effort, raise_signals
from hstar.pddl import Problem
from hstar.runtime.resources import Budget, OutOfResources
from hstar.slots.model_file import to_bytes
from hstar.slots.teachers.attempt import Attempt
from hstar.slots.teachers.registry import TEACHERS
from hstar.training.dataset import Dataset, dataset_in_memory
from hstar.training.fit import Lesson, Limits, ModelRow, fit_for
from hstar.training.fit.choices import Minima

SAMPLING_SHARE = 0.6  # of the time; what takes longer is tried again with fewer states
FEWER = 4
LEAST_STATES = 1000
STATES_OF_WORK = 20  # labelled by teachers that sample, for each unit of work of a search

_dataset: tuple[str, Dataset] | None = None  # the last one: all models of a recipe learn from it


def label_job(
    problem: Problem,
    name: str,
    options: Mapping[str, Any],
    seed: int,
    states: int | None,
    effort: Effort,
) -> Attempt:
    """Labels of one problem; a status that says why if there are none. Raises OutOfResources for
    signals."""
    teacher = TEACHERS.find(name)
    chosen = teacher.settings(options)
    if "seed" in chosen:
        chosen["seed"] = seed
    if states is not None and "states" in chosen and "states" not in options:
        chosen["states"] = states
    if effort.work is not None:
        work = max(1, effort.work // WORK["ff" if name == "planner" else "lmcut"])
        chosen |= {n: work for n in ("max_evaluations", "max_expansions") if n in chosen}
        if "states" in chosen:
            chosen["states"] = min(chosen["states"], STATES_OF_WORK * effort.work)
    budget = effort.budget()
    try:
        while "states" in chosen and chosen["states"] > LEAST_STATES and budget.deadline:
            share = budget.within(SAMPLING_SHARE * budget.seconds_left)
            attempt = _labelled(teacher.label, problem, share, chosen)
            if attempt.status != "out of time" or budget.seconds_left <= 0:
                return attempt
            chosen["states"] = max(LEAST_STATES, chosen["states"] // FEWER)
        return _labelled(teacher.label, problem, budget, chosen)
    except (*TOO_MUCH, ValueError) as error:  # ValueError: there is nothing to label
        raise_signals(error)
        return Attempt(str(error))


def _labelled(label: Any, problem: Problem, budget: Budget, options: Mapping[str, Any]) -> Attempt:
    try:
        attempt: Attempt = label(problem, budget, **options)
    except OutOfResources as error:
        raise_signals(error)
        return Attempt(error.status)
    return attempt


def fit_job(
    lesson: str,
    parts: Sequence[tuple[str, Problem, Attempt]],
    seed: int,
    row: ModelRow,
    minima: Mapping[str, Minima],
    effort: Effort,
) -> bytes | str:
    """The content of a model file, or why there is none. `lesson` names the labels. Raises
    OutOfResources for signals."""
    global _dataset
    try:
        if _dataset is None or _dataset[0] != lesson:
            _dataset = None
            _dataset = lesson, dataset_in_memory(parts)
        limits = Limits(effort.budget(), seed, effort.work)
        file = fit_for(row).run(Lesson(_dataset[1], minima), row, limits)
    except OutOfResources as error:
        raise_signals(error)
        late = error.status == "out of time"
        return "training takes too long" if late else f"training runs {error.status}"
    except (ValueError, FloatingPointError, MemoryError) as error:
        return str(error) or "out of memory"
    return "training takes too long" if file is None else to_bytes(file)

"""Linear models for tests: learned from plans, or from all that the teacher "siblings" tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hstar import search
from hstar.planning.task import Task
from hstar.runtime.resources import Budget
from hstar.slots.model_file import ModelFile
from hstar.slots.teachers.attempt import labelled
from hstar.slots.teachers.following import follow
from hstar.training.dataset import dataset_in_memory
from hstar.training.fit import Lesson, Limits, ModelRow
from hstar.training.fit.choices import Choices, all_choices, choices_along
from hstar.training.fit.linear import fit_linear
from hstar.training.teachers.siblings import label_with_siblings


def optimal_plan(task: Task) -> list[str]:
    plan = search(task, "lmcut", "astar").plan
    assert plan is not None
    return plan


def from_siblings(tasks: Sequence[Task]) -> Lesson:
    attempts = [label_with_siblings(task.problem, Budget()) for task in tasks]
    return _lesson(tasks, attempts)


def from_plans(tasks: Sequence[Task], plans: Sequence[Sequence[str]] | None = None) -> Lesson:
    """Plans alone, optimal ones if none are given."""
    attempts = []
    for task, plan in zip(tasks, plans or map(optimal_plan, tasks), strict=True):
        path, remaining = follow(task, plan)
        attempts.append(labelled(task, path, list(plan), remaining[0], h=remaining))
    return _lesson(tasks, attempts)


def _lesson(tasks: Sequence[Task], attempts: Sequence[Any]) -> Lesson:
    parts = [(str(i), task.problem, attempts[i]) for i, task in enumerate(tasks)]
    return Lesson(dataset_in_memory(parts))


def choices_of(lesson: Lesson) -> list[Choices]:
    return all_choices(lesson.dataset, {})


def plain_choices(task: Task, plan: Sequence[str]) -> Choices:
    """Where no distances beside the plan are known."""
    return choices_along(task, plan, {})


def linear_model(
    lesson: Lesson, options: Mapping[str, Any] | None = None, objective: str = "rank-svm"
) -> ModelFile:
    row = ModelRow("siblings", "wl", "linear", objective, options=options or {})
    return fit_linear(lesson, row, Limits(Budget()))

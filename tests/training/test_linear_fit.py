"""The fit "linear": what each objective learns, and the choices that it learns from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from linear_lessons import choices_of, from_plans, from_siblings, linear_model, optimal_plan

from hstar import _core
from hstar.domains import generate
from hstar.learning.recipe import RECIPES
from hstar.planning.task import Task, load_task
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import to_bytes
from hstar.slots.objectives import objectives_of
from hstar.training.fit import Lesson
from hstar.training.fit.choices import Choices

OBJECTIVES = list(objectives_of("linear"))
FEATURES = {"rounds": 2, "orders": True}


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> list[Task]:
    folder = tmp_path_factory.mktemp("blocksworld")
    generate("blocksworld", folder, ["train"], seed=1, count=2, ranges={"blocks": [4, 5, 6]})
    files = sorted(p for p in (folder / "train").glob("*.pddl") if p.stem != "domain")
    found = [load_task(folder / "train" / "domain.pddl", path) for path in files]
    return [task for task in found if not task.is_goal(task.initial_state)]


@pytest.fixture(scope="module")
def lesson(tasks: list[Task]) -> Lesson:
    return from_siblings(tasks)


def with_distances(task: Task) -> Choices:
    return choices_of(from_siblings([task]))[0]


def exact(task: Task) -> Callable[[Any], float]:
    """The distance to the goal, from all states of the task."""
    explored = _core.explore(task.core, 100_000, 0.0, 0)
    assert explored is not None
    known = {s.tobytes(): float(h) for s, h in zip(explored[0], explored[1], strict=True)}
    return lambda state: known[state.tobytes()]


def test_choices_agree_with_exact_distances(tasks: list[Task]) -> None:
    """Better states are nearer to the goal, and steps are called better for the same reason."""
    task = tasks[0]
    made = with_distances(task)
    distance = exact(task)
    h = [distance(state) for state in made.states]
    assert all(h[b] < h[w] for b, w in zip(made.better, made.worse, strict=True))
    known = np.isfinite(made.distances)
    assert known.any() and made.distances[known].tolist() == [h[i] for i in np.flatnonzero(known)]
    assert len(made.steps)
    for row, better, worse in made.steps.tolist():
        ops, successors = task.successors(made.states[row])
        reached = dict(zip(ops.tolist(), successors, strict=True))
        assert distance(reached[better]) == h[row] - 1
        assert distance(reached[worse]) > h[row] - 1


def test_every_worse_step_beside_the_plan_is_there(tasks: list[Task]) -> None:
    task = tasks[-1]
    made = with_distances(task)
    distance = exact(task)
    found = {(row, worse) for row, _, worse in made.steps.tolist()}
    for row in range(len(optimal_plan(task))):
        ops, successors = task.successors(made.states[row])
        h = distance(made.states[row])
        worse = {
            (row, op)
            for op, state in zip(ops.tolist(), successors, strict=True)
            if distance(state) > h - 1
        }
        assert worse == {one for one in found if one[0] == row}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_objectives(objective: str, lesson: Lesson) -> None:
    file = linear_model(lesson, FEATURES, objective)
    assert file.metadata["objective"]["name"] == objective
    assert file.metadata["training"]["converged"]
    assert to_bytes(linear_model(lesson, FEATURES, objective)) == to_bytes(file)
    model = LearnedHeuristic(file, "learned")
    right, errors = [], []
    for one in choices_of(lesson):
        h = model.bind(one.task).evaluate(one.states)  # type: ignore[union-attr]
        right += (h[one.better] < h[one.worse]).tolist()
        known = np.isfinite(one.distances)
        errors += np.abs(h[known] - one.distances[known]).tolist()
    assert np.mean(right) > 0.9
    if objective == "squared":
        assert np.mean(errors) < 0.5


def test_a_loss_that_the_core_does_not_have_is_refused(lesson: Lesson) -> None:
    """It must not be fitted by another one."""
    with pytest.raises(ValueError, match="the core has no loss for the objective 'l-star'"):
        linear_model(lesson, FEATURES, "l-star")


def test_only_the_squared_objective_needs_distances(tasks: list[Task]) -> None:
    """Without values beside plans the distances of the plans' own states remain."""
    plan, plain = optimal_plan(tasks[0]), from_plans(tasks[:1])
    assert np.isfinite(choices_of(plain)[0].distances).sum() == len(plan) + 1
    rows = {o: linear_model(plain, FEATURES, o).metadata["training"]["rows"] for o in OBJECTIVES}
    assert rows["squared"] == len(plan) + 1 and rows["rank-svm"] == rows["l-gbfs"] > len(plan)


CORRIDOR = """(define (domain corridor) (:requirements :strips)
 (:predicates (at ?r) (door ?a ?b))
 (:action go :parameters (?a ?b) :precondition (and (at ?a) (door ?a ?b))
  :effect (and (at ?b) (not (at ?a)))))"""


def test_without_choices_there_is_no_ranking(tmp_path: Path) -> None:
    """In a corridor of doors that open in one direction."""
    (tmp_path / "domain.pddl").write_text(CORRIDOR)
    (tmp_path / "p.pddl").write_text(
        "(define (problem p) (:domain corridor) (:objects a b c) "
        "(:init (at a) (door a b) (door b c)) (:goal (at c)))"
    )
    task = load_task(tmp_path / "domain.pddl", tmp_path / "p.pddl")
    file = linear_model(from_siblings([task]), {"rounds": 2, "statics": True})
    assert "operators" not in file.metadata and "operators" not in file.tensors
    recipe = RECIPES["domain"]
    assert not any(search.ranked for search in recipe.searches_with(file))
    ranked = linear_model(from_siblings([with_a_choice(tmp_path)]), {"rounds": 2})
    assert any(search.ranked for search in recipe.searches_with(ranked))


def with_a_choice(folder: Path) -> Task:
    (folder / "q.pddl").write_text(
        "(define (problem q) (:domain corridor) (:objects a b c d) "
        "(:init (at a) (door a b) (door b c) (door b d) (door d a)) (:goal (at c)))"
    )
    return load_task(folder / "domain.pddl", folder / "q.pddl")

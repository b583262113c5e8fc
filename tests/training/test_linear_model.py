"""Linear models of `hstar learn`: what each objective learns, and choices that they learn from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hstar.learning.attempts import CHEAPEST
from hstar.learning.candidates import RECIPES, candidates_with
from hstar.learning.choices import Choices, choices_along
from hstar.learning.linear_model import OBJECTIVES, linear_model
from hstar.learning.sibling_values import sibling_values

from hstar import _core, search
from hstar.domains import generate
from hstar.planning.task import Task, load_task
from hstar.runtime.resources import Budget
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import to_bytes

FEATURES = {"rounds": 2, "orders": True}


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> list[Task]:
    folder = tmp_path_factory.mktemp("blocksworld")
    generate("blocksworld", folder, ["train"], seed=1, count=2, ranges={"blocks": [4, 5, 6]})
    files = sorted(p for p in (folder / "train").glob("*.pddl") if p.stem != "domain")
    found = [load_task(folder / "train" / "domain.pddl", path) for path in files]
    return [task for task in found if not task.is_goal(task.initial_state)]


@pytest.fixture(scope="module")
def choices(tasks: list[Task]) -> list[Choices]:
    return [with_distances(task) for task in tasks]


def with_distances(task: Task) -> Choices:
    plan = search(task, "lmcut", "astar").plan
    assert plan is not None
    return choices_along(task, plan, sibling_values(task, plan, CHEAPEST, None, Budget()))


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
    plan = search(task, "lmcut", "astar").plan
    distance = exact(task)
    found = {(row, worse) for row, _, worse in made.steps.tolist()}
    for row in range(len(plan or ())):
        ops, successors = task.successors(made.states[row])
        h = distance(made.states[row])
        worse = {
            (row, op)
            for op, state in zip(ops.tolist(), successors, strict=True)
            if distance(state) > h - 1
        }
        assert worse == {one for one in found if one[0] == row}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_objectives(objective: str, choices: list[Choices]) -> None:
    file = linear_model(choices, FEATURES, Budget(), objective)
    assert file.metadata["objective"]["name"] == objective
    assert file.metadata["training"]["converged"]
    assert to_bytes(linear_model(choices, FEATURES, Budget(), objective)) == to_bytes(file)
    model = LearnedHeuristic(file, "learned")
    right, errors = [], []
    for one in choices:
        h = model.bind(one.task).evaluate(one.states)  # type: ignore[union-attr]
        right += (h[one.better] < h[one.worse]).tolist()
        known = np.isfinite(one.distances)
        errors += np.abs(h[known] - one.distances[known]).tolist()
    assert np.mean(right) > 0.9
    if objective == "squared":
        assert np.mean(errors) < 0.5


def test_only_the_squared_objective_needs_distances(choices: list[Choices]) -> None:
    """Without values beside plans the distances of the plans' own states remain."""
    task = choices[0].task
    plan = search(task, "lmcut", "astar").plan
    assert plan is not None
    plain = choices_along(task, plan)
    assert np.isfinite(plain.distances).sum() == len(plan) + 1
    rows = [linear_model([plain], FEATURES, Budget(), o).metadata["training"]["rows"]
            for o in OBJECTIVES]  # fmt: skip
    assert rows[2] == len(plan) + 1 and rows[0] == rows[1] > len(plan)


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
    file = linear_model([with_distances(task)], {"rounds": 2, "statics": True}, Budget())
    assert "operators" not in file.metadata and "operators" not in file.tensors
    assert not any(one.way.get("ranked") for one in candidates_with("x", file))
    ranked = linear_model([with_distances(with_a_choice(tmp_path))], {"rounds": 2}, Budget())
    assert any(one.way.get("ranked") for one in candidates_with("x", ranked))


def with_a_choice(folder: Path) -> Task:
    (folder / "q.pddl").write_text(
        "(define (problem q) (:domain corridor) (:objects a b c d) "
        "(:init (at a) (door a b) (door b c) (door b d) (door d a)) (:goal (at c)))"
    )
    return load_task(folder / "domain.pddl", folder / "q.pddl")


def test_recipes_have_names_of_their_own() -> None:
    labels = [recipe.label for recipe in RECIPES]
    assert len(set(labels)) == len(labels)
    assert labels[0] == "2 rounds, orders" and "2 rounds, orders, squared" in labels

"""Local minima of models on training problems, and what is learned from them."""

from __future__ import annotations

import functools
import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from label_folders import write_folder
from linear_lessons import from_plans, linear_model

from hstar import _core
from hstar.learning.corrections import MOST_MINIMA, find_minima, local_minima
from hstar.learning.trials import Effort, Start
from hstar.planning.heuristics import bind_heuristic
from hstar.planning.task import Task, load_task
from hstar.runtime.resources import Budget
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import ModelFile, to_bytes
from hstar.training.fit.choices import Minima, choices_at

UNLIMITED = 2**50  # bytes: the process that runs the tests may hold a lot
EFFORT = Effort(60.0, None, UNLIMITED)


@functools.cache
def tasks() -> list[Task]:
    with tempfile.TemporaryDirectory() as name:
        folder = write_folder(Path(name) / "p", "blocks", 8)
        files = sorted(folder.glob("p*.pddl"))
        found = [load_task(folder / "domain.pddl", path) for path in files]
        return [task for task in found if not task.is_goal(task.initial_state)]


@functools.cache
def weak_model() -> ModelFile:
    """Of atoms alone, from one plan."""
    return linear_model(from_plans(tasks()[:1]), {"rounds": 0})


def exact_distances(task: Task) -> dict[bytes, float]:
    found = _core.explore(task.core, 100_000, 0.0, UNLIMITED)
    assert found is not None
    return {state.tobytes(): float(h) for state, h in zip(found[0], found[1], strict=True)}


def reference_minima(task: Task, model: LearnedHeuristic, steps: int) -> list[bytes]:
    """One state at a time."""
    bound = bind_heuristic(model, task, "one", Budget())
    assert isinstance(bound, _core.Heuristic)
    state, path, found = task.initial_state, [task.initial_state.tobytes()], []
    while steps > 0 and not task.is_goal(state) and len(found) < MOST_MINIMA:
        steps -= 1
        best = None
        for successor in task.successors(state)[1]:
            h = bound.evaluate(successor[None])[0]
            if successor.tobytes() not in path and (best is None or h < best[0]):
                best = h, successor
        if best is None:
            break
        if best[0] >= bound.evaluate(state[None])[0]:
            found.append(state.tobytes())
        state = best[1]
        path.append(state.tobytes())
    return found


def test_the_walk_is_the_plain_one() -> None:
    count = 0
    for task in tasks():
        model = LearnedHeuristic(weak_model(), "weak")
        for steps in (1, 7, 100):
            found = local_minima(task, model, steps, Budget())
            assert [state.tobytes() for state in found] == reference_minima(task, model, steps)
            count += len(found)
    assert count > 10


def test_the_goal_ends_the_way() -> None:
    for task in tasks():
        good = linear_model(from_plans([task]), {"rounds": 3, "orders": True})
        assert len(local_minima(task, LearnedHeuristic(good, "good"), 200, Budget())) <= 2


def test_values_are_exact_and_choices_agree_with_them() -> None:
    count = 0
    for number, task in enumerate(tasks()):
        found = find_minima(Start(number, task.problem), to_bytes(weak_model()), 20, EFFORT)
        exact = exact_distances(task)
        for listed, values in zip(found.states, found.values, strict=True):
            successors = task.successors(np.array(listed, np.int32))[1]
            assert values == [exact[state.tobytes()] for state in successors]
        choices = choices_at(task, found)
        if choices is None:
            assert not found.states
            continue
        distance = [exact[state.tobytes()] for state in choices.states]
        for better, worse in zip(choices.better, choices.worse, strict=True):
            assert distance[better] < distance[worse]
            count += 1
    assert count > 10


def test_what_is_not_known_is_not_compared() -> None:
    task = tasks()[0]
    state, successors = task.initial_state, task.successors(task.initial_state)[1]
    unknown = [math.nan] * len(successors)
    assert choices_at(task, Minima([state.tolist()], [unknown])) is None
    dead = [math.inf] * len(successors)
    assert choices_at(task, Minima([state.tolist()], [dead])) is None
    some = [2.0, *unknown[1:]]
    assert len(some) > 1 and choices_at(task, Minima([state.tolist()], [some])) is None
    equal = [2.0] * len(successors)
    choices = choices_at(task, Minima([state.tolist()], [equal]))
    assert choices is not None and len(choices.better) == 1
    np.testing.assert_array_equal(choices.states[choices.better[0]], successors[0])
    np.testing.assert_array_equal(choices.states[choices.worse[0]], state)


@pytest.mark.parametrize("work", [1, 10_000_000])
def test_work_limits_values_not_minima(work: int) -> None:
    task = tasks()[-1]
    effort = Effort(60.0, work, UNLIMITED)
    found, again = (
        find_minima(Start("last", task.problem), to_bytes(weak_model()), 20, effort)
        for _ in range(2)
    )
    assert found.states == again.states and str(found.values) == str(again.values)
    known = sum(not math.isnan(v) for values in found.values for v in values)
    total = sum(map(len, found.values))
    assert total > 0
    assert known == total if work > 1 else known < max(total, 1)

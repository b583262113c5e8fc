"""The teacher "siblings": distances of the states of an optimal plan and of those beside it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from label_folders import write_folder
from program import hstar
from small_domains import ALL

from hstar import _core
from hstar.planning.task import Task, load_task
from hstar.runtime.resources import Budget
from hstar.slots.model_file import read_model
from hstar.slots.teachers import LabelOptions, label
from hstar.slots.teachers.states import follow
from hstar.training.dataset import dataset_in_memory, load_dataset
from hstar.training.teachers.siblings import OPTIMAL, SIBLING, label_with_siblings

CORRIDOR = """(define (domain corridor) (:predicates (at ?r) (next ?a ?b))
 (:action go :parameters (?a ?b) :precondition (and (at ?a) (next ?a ?b))
  :effect (and (at ?b) (not (at ?a)))))"""


def exact_distances(task: Task) -> dict[bytes, float]:
    found = _core.explore(task.core, 1_000_000, 0.0, 0)
    assert found is not None
    costs = found[1] / task.cost_scale
    return {state.tobytes(): float(h) for state, h in zip(found[0], costs, strict=True)}


def check_exact(problem: Path) -> int:
    """How many states beside the plan have labels."""
    task = load_task(problem.with_name("domain.pddl"), problem)
    attempt = label_with_siblings(task.problem, Budget())
    if attempt.rows is None:
        return 0
    (one,) = dataset_in_memory([("p", task.problem, attempt)]).tasks
    exact = exact_distances(one.task)
    h = attempt.rows.h
    assert [exact.get(state.tobytes(), math.inf) for state in one.states] == pytest.approx(
        h.tolist(), rel=1e-6
    )
    path, remaining = follow(one.task, one.plan)
    assert np.array_equal(one.states[: len(path)], np.stack(path))
    assert (attempt.rows.kind[: len(path)] == OPTIMAL).all()
    assert (attempt.rows.kind[len(path) :] == SIBLING).all()
    assert h[: len(path)].tolist() == pytest.approx(remaining)
    beside = {s.tobytes() for state in path[:-1] for s in one.task.successors(state)[1]}
    assert {state.tobytes() for state in one.states} == beside | {s.tobytes() for s in path}
    return len(one.states) - len(path)


@pytest.mark.parametrize("domain", ALL)
def test_labels_are_exact_distances(domain: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "p", domain, 5)
    assert sum(map(check_exact, sorted(folder.glob("p*.pddl")))) > 5


@pytest.mark.parametrize("length", [9, 15])
def test_places_far_from_the_goal_are_told_apart(length: int, tmp_path: Path) -> None:
    """In a corridor the place before and the place behind look the same for several steps."""
    (tmp_path / "domain.pddl").write_text(CORRIDOR)
    cells = [f"c{number}" for number in range(length)]
    doors = [f"(next {a} {b})" for i, a in enumerate(cells) for b in
             cells[max(0, i - 1) : i + 2] if a != b]  # fmt: skip
    middle = cells[length // 2]
    (tmp_path / "p.pddl").write_text(
        f"(define (problem p) (:domain corridor) (:objects {' '.join(cells)}) "
        f"(:init (at {middle}) {' '.join(doors)}) (:goal (at {cells[-1]})))"
    )
    assert check_exact(tmp_path / "p.pddl") == 1


def test_states_that_wl_features_do_not_tell_apart_may_share_a_search(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "p", "gripper", 3)
    for path in sorted(folder.glob("p*.pddl")):
        problem = load_task(folder / "domain.pddl", path).problem
        exact, alike = (label_with_siblings(problem, Budget(), alike=one) for one in (False, True))
        assert (exact.rows is None) == (alike.rows is None)
        if exact.rows is None or alike.rows is None:
            continue
        assert exact.rows.h.tolist() == alike.rows.h.tolist()  # here they are equally far


def test_limits_leave_states_beside_the_plan_without_labels(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "p", "logistics", 4)
    counts = []
    for limit in (60, None):
        attempts = [
            label_with_siblings(load_task(folder / "domain.pddl", path).problem, Budget(), limit)
            for path in sorted(folder.glob("p*.pddl"))
        ]
        rows = [one.rows for one in attempts if one.rows is not None]
        assert rows and all(np.isfinite(one.h[one.kind == OPTIMAL]).all() for one in rows)
        assert not any(np.isnan(one.h).any() for one in rows)
        counts.append(sum(len(one.h) for one in rows))
    assert counts[0] < counts[1]


FLAGS = {
    "rank-svm": ("-m", "linear", "-f", "wl", "-l", "rank-svm"),
    "squared-wl": ("-m", "linear", "-f", "wl", "-l", "squared"),
    "squared-nlm": ("-m", "nlm", "-f", "atoms", "-l", "squared", "--option", "depth=2"),
}


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_folder(tmp_path_factory.mktemp("siblings") / "problems", "gripper", 5)
    output = folder.parent / "labels.parquet"
    assert label(folder, output, LabelOptions("siblings", jobs=1)).solved >= 4
    return output


@pytest.mark.parametrize("flags", FLAGS)
def test_models_are_trained_on_them(flags: str, labels: Path, tmp_path: Path) -> None:
    held = load_dataset(labels)
    assert np.isfinite(held.column("h_star")).all() and len(held) > 50
    model = tmp_path / "m.safetensors"
    quick = ("--steps", "20", "--evaluate-every", "10", "--device", "cpu", "--threads", "1")
    run = hstar("train", labels, "-o", model, *FLAGS[flags], *quick)
    assert run.code == 0, run.err
    assert read_model(model).metadata["objective"]["name"] == flags.partition("-wl")[0].replace(
        "-nlm", ""
    )
    problem = labels.parent / "problems" / "p00.pddl"
    assert hstar("plan", problem, "-H", model, "--plan-file", tmp_path / "plan").code == 0

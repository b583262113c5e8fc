"""Labels as data to train on: states, columns, bounds, and plans that somebody gave."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hard_tasks import write_task
from label_folders import atom_names
from small_domains import problem_text
from small_trainings import LABELLING, TINY, error_in_search, options, train

from hstar import search
from hstar.planning.heuristics import make_heuristic
from hstar.slots.features import FEATURES
from hstar.slots.features.feature import SpaceStates
from hstar.slots.loader import load_model
from hstar.slots.objectives import OBJECTIVES, make_objective
from hstar.slots.teachers import LabelOptions, label, read_labels
from hstar.slots.teachers.labels import LabelsError
from hstar.training.dataset import Dataset, dataset_of, load_dataset, target_columns

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_data_are_those_of_the_labels(labels: Path, dataset: Dataset) -> None:
    found = read_labels(labels)
    rows = found.rows
    assert len(dataset) == len(rows)
    assert dataset.column("h_star").tolist() == rows.h.tolist()
    assert np.isnan(dataset.column("upper")).all()
    names = [dataset.tasks[number].name for number in dataset.task_numbers]
    assert names == [found.problems[number].problem for number in rows.problem]
    for labelled in dataset.tasks:
        states = atom_names(found, labelled.name)
        assert [labelled.task.atoms(state) for state in labelled.states] == states
    groups = [SpaceStates(labelled.task, labelled.states) for labelled in dataset.tasks]
    features = [make_heuristic(group.space, "ff").plan_features(group.states) for group in groups]
    kind = FEATURES.find("relaxed-plans")
    inputs = kind.inputs(kind.configure([], {}, dataset.cost), groups)
    everything = inputs.select(np.arange(len(dataset)))
    assert everything.tolist() == np.concatenate(features).tolist()


def test_a_split_keeps_problems_whole(dataset: Dataset) -> None:
    most, rest = dataset.split(0.3, seed=0)
    assert (len(most.tasks), len(rest.tasks)) == (4, 2)
    assert {t.name for t in most.tasks} | {t.name for t in rest.tasks} == {
        t.name for t in dataset.tasks
    }
    assert len(most) + len(rest) == len(dataset)
    for part in (most, rest):
        first = np.flatnonzero(np.diff(part.task_numbers, prepend=-1))
        lengths = [len(labelled.plan) for labelled in part.tasks]
        assert part.column("h_star")[first].tolist() == lengths


def test_labels_of_other_problems_are_refused(labels: Path, tmp_path: Path) -> None:
    changed = read_labels(labels)
    problem = replace(changed.problems[0], pddl=changed.problems[0].pddl.replace("b2", "b9"))
    with pytest.raises(LabelsError, match=r"has a state with the atom .*b2.* label the problems"):
        dataset_of(replace(changed, problems=(problem, *changed.problems[1:])), "some.parquet")


def test_a_lower_bound_above_a_label_is_an_error(dataset: Dataset, tmp_path: Path) -> None:
    bounds = dataset.column("lmcut").copy()
    bounds[5] = dataset.column("h_star")[5] + 1
    wrong = replace(dataset, columns={**dataset.columns, "lmcut": bounds})
    name = dataset.tasks[dataset.task_numbers[5]].name
    message = f"the lower bound lmcut is {bounds[5]:g} where h* is {bounds[5] - 1:g} (in {name})"
    with pytest.raises(ValueError, match=re.escape(message)):
        train(wrong, dataset, tmp_path / "m.safetensors", options())
    with pytest.raises(ValueError, match=re.escape(message)):  # on the validation problems too
        train(dataset, wrong, tmp_path / "m.safetensors", options())
    train(
        wrong,
        wrong,
        tmp_path / "m.safetensors",
        options(objective=make_objective("truncated-gaussian", lower="hmax")),
    )
    bounds[5] -= 1  # equality is fine
    train(wrong, wrong, tmp_path / "m.safetensors", options())


def test_an_upper_bound_below_a_label_is_an_error(dataset: Dataset, tmp_path: Path) -> None:
    bounds = dataset.column("h_star").copy()
    known = replace(dataset, columns={**dataset.columns, "upper": bounds})
    train(known, known, tmp_path / "m.safetensors", options())
    bounds[3] -= 1
    with pytest.raises(ValueError, match="the upper bound is"):
        train(known, known, tmp_path / "m.safetensors", options())


@pytest.mark.parametrize("name", ["interval", "truncated-gaussian"])
@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_the_cost_of_a_plan_is_a_bound_and_no_label(
    name: str, factor: float, dataset: Dataset, tmp_path: Path
) -> None:
    """Learning from plans that are half as long again as needed, `squared` learns their cost. With
    bounds a model is nearer to h*, whether the cost stands under `upper` alone or is a label too.
    From exact labels it is about as good."""
    h_star = dataset.column("h_star")
    cost = np.ceil(factor * h_star)
    nothing = np.full(len(dataset), np.nan, np.float32)
    known = {"h_star": nothing, "upper": cost} if factor > 1 else {}
    plans = replace(dataset, columns={**dataset.columns, **known})
    errors = {}
    for loss in ("squared", name):
        path = tmp_path / f"{loss}.safetensors"
        train(plans, plans, path, options("linear", make_objective(loss, base="ff"), steps=400))
        errors[loss] = error_in_search(load_model(path), dataset)
    if factor > 1:
        assert errors[name] < 0.7 * errors["squared"]
        labels = replace(plans, columns={**plans.columns, "h_star": cost})
        columns = [target_columns(one, make_objective(name)) for one in (plans, labels)]
        for column in columns[0]:
            assert np.array_equal(columns[0][column], columns[1][column])
        assert columns[0]["is_bound"].all()
    else:
        assert errors[name] <= 1.5 * errors["squared"] + 0.05


def test_weights_are_kept_by_the_loss_where_labels_are_bounds(
    dataset: Dataset, tmp_path: Path
) -> None:
    """Every value within the bounds is right, so errors tell less."""
    nothing = np.full(len(dataset), np.nan, np.float32)
    known = {"h_star": nothing, "upper": dataset.column("h_star") + 6}
    plans = replace(dataset, columns={**dataset.columns, **known})
    for data, metric in ((dataset, "mse"), (plans, "loss")):
        result = train(data, data, tmp_path / "m.safetensors", options("linear", steps=60))
        assert result.metric == metric
        scores = [line[f"validation_{metric}"] for line in result.curve]
        assert result.best[f"validation_{metric}"] == min(scores)


# -- what is learned from given plans

INVERSE = {"pickup": "putdown", "putdown": "pickup", "stack": "unstack", "unstack": "stack"}


def given(plans: Path) -> LabelOptions:
    return replace(LABELLING, teacher="plans", options={"plans": str(plans)})


def test_given_plans_are_enough_to_train(dataset: Dataset, labels: Path, tmp_path: Path) -> None:
    """Their cost stands in for h*, which nobody knows."""
    detours = 0
    for labelled in dataset.tasks:
        plan, task = list(labelled.plan), labelled.task
        operators, _ = task.successors(task.initial_state)
        there = task.operator_name(int(operators[0]))
        if there != plan[0]:
            name, rest = there[1:].split(" ", 1)
            plan = [there, f"({INVERSE[name]} {rest}", *plan]
            detours += 1
        (tmp_path / labelled.name).with_suffix(".plan").write_text("\n".join(plan) + "\n")
    assert detours > 0
    output = tmp_path / "plans.parquet"
    label(
        labels.parent / "train",
        output,
        given(tmp_path),
    )
    upper_only = load_dataset(output)
    assert np.isnan(upper_only.column("h_star")).all()
    assert len(upper_only) == len(dataset) + 2 * detours
    for model, loss in itertools.product(TINY, OBJECTIVES):
        path = tmp_path / "m.safetensors"
        result = train(upper_only, upper_only, path, options(model, make_objective(loss)))
        assert math.isfinite(result.best["validation_loss"])
        assert search(dataset.tasks[0].task, load_model(path)).solved
    columns = target_columns(upper_only, make_objective("gaussian", sigma=1.0, base="none"))
    assert columns["h_star"].tolist() == upper_only.column("upper").tolist()
    assert columns["upper"].tolist() == columns["h_star"].tolist()
    assert columns["is_bound"].all()


LAMPS = """(define (domain lamps) (:predicates (at ?x) (edge ?x ?y) (lamp ?x) (bright))
(:action go :parameters (?x ?y) :precondition (and (at ?x) (edge ?x ?y))
  :effect (and (at ?y) (not (at ?x))))
(:action light :parameters (?x) :precondition (at ?x) :effect (lamp ?x))
(:action look :parameters (?x) :precondition (lamp ?x) :effect (bright)))
"""


@pytest.mark.parametrize(
    "loss",
    [
        "truncated-gaussian",
        "l-gbfs",
    ],
)
def test_given_plans_may_do_what_is_not_needed(loss: str, tmp_path: Path) -> None:
    edges = ["(edge a b)", "(edge b c)", "(edge a d)", "(edge d b)"]
    write_task(tmp_path, LAMPS, problem_text("lamps", "a b c d", ["(at a)", *edges], ["(at c)"]))
    (tmp_path / "problem.plan").write_text("(light a)\n(look a)\n(go a b)\n(go b c)\n")
    label(tmp_path, tmp_path / "l.parquet", given(tmp_path))
    data = load_dataset(tmp_path / "l.parquet")
    (labelled,) = data.tasks
    assert labelled.plan == ("(go a b)", "(go b c)")
    assert [labelled.task.atoms(state)[0] for state in labelled.states] == [
        *["at(a)"] * 3,
        "at(b)",
        "at(c)",
    ]
    assert data.column("upper").tolist() == [4, 3, 2, 1, 0]
    result = train(data, data, tmp_path / "m.safetensors", options(objective=make_objective(loss)))
    assert math.isfinite(result.best["validation_loss"])
    assert search(labelled.task, load_model(tmp_path / "m.safetensors")).solved

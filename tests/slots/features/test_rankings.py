"""Pairs of states to rank, and what is learned from them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hard_tasks import write_task
from small_domains import problem_text
from small_trainings import LABELLING, RANKING, TINY, options, train

from hstar.planning.heuristics import make_heuristic
from hstar.planning.task import Task, load_task
from hstar.slots.loader import load_model
from hstar.slots.objectives import make_objective
from hstar.slots.teachers import label
from hstar.training.dataset import Dataset, LabelledTask, load_dataset
from hstar.training.source import open_list_pairs

pytestmark = pytest.mark.usefixtures("one_thread")

GRAPH = """(define (domain graph) (:requirements :action-costs)
(:predicates (at ?x) (edge ?x ?y)) (:functions (total-cost) (length ?x ?y))
(:action go :parameters (?x ?y) :precondition (and (at ?x) (edge ?x ?y))
  :effect (and (at ?y) (not (at ?x)) (increase (total-cost) (length ?x ?y)))))
"""
LENGTHS = {"ab": 2, "ax": 7, "ba": 2, "bx": 1, "by": 4, "bz": 3, "xz": 1, "yz": 1}


def graph_task(folder: Path, metric: bool) -> Task:
    """From a to z; the plan goes over b, with x and y beside it."""
    init = ["(at a)", *(f"(edge {e[0]} {e[1]})" for e in LENGTHS)]
    init += [f"(= (length {e[0]} {e[1]}) {cost})" for e, cost in LENGTHS.items()]
    end = "(:metric minimize (total-cost))" if metric else ""
    return load_task(
        *write_task(folder, GRAPH, problem_text("graph", "a b x y z", init, ["(at z)"], end))
    )


@pytest.mark.parametrize("cost", ["one", "normal"])
def test_pairs_worked_out_by_hand(cost: str, tmp_path: Path) -> None:
    """When b is chosen x is open, seen from a; when z is chosen x still is, and y, seen from b.
    Going back to a is no choice, and x keeps the g it was first generated with."""
    task = graph_task(tmp_path, metric=cost == "normal")
    states, pairs = open_list_pairs(
        LabelledTask("p", task, ("(go a b)", "(go b z)"), np.zeros((0, 1), np.int32)), cost
    )
    names = [task.atoms(state)[0][3] for state in states]
    found = [(names[b], names[w]) for b, w in zip(pairs["better"], pairs["worse"], strict=True)]
    assert sorted(found) == [("b", "x"), ("z", "x"), ("z", "y")]
    g = dict(zip(names, pairs["g"].tolist(), strict=True))
    if cost == "one":
        assert g == {"a": 0, "b": 1, "z": 2, "x": 1, "y": 2}
    else:
        assert g == {"a": 0, "b": 2, "z": 5, "x": 7, "y": 6}


@pytest.mark.parametrize("kind", RANKING)
@pytest.mark.parametrize("model", TINY)
def test_the_ranking_loss_compares_the_values_of_search(
    kind: str, model: str, dataset: Dataset, tmp_path: Path
) -> None:
    one = dataset.select([5])
    objective = make_objective(kind, base="hadd")
    path = tmp_path / "m.safetensors"
    result = train(one, one, path, options(model, objective, steps=1, evaluate_every=1))
    labelled = one.tasks[0]
    states, pairs = open_list_pairs(labelled, "one")
    bound: Any = load_model(path).bind(labelled.task)
    h = (bound if callable(bound) else bound.evaluate)(states).astype(np.float64)
    f = h + (pairs["g"].numpy() if kind == "l-star" else 0)
    difference = f[pairs["better"]] - f[pairs["worse"]]
    penalty = (
        np.maximum(0, 1 + difference) ** 2 if kind == "rank-svm" else np.logaddexp(0, difference)
    )
    expected = penalty.mean()
    assert result.best["validation_loss"] == pytest.approx(expected, rel=1e-4)
    assert len(pairs["better"]) > 20


BRIDGE = """(define (domain bridge) (:predicates (at ?x) (edge ?x ?y) (whole) (slip ?x ?y))
(:action go :parameters (?x ?y) :precondition (and (at ?x) (edge ?x ?y))
  :effect (and (at ?y) (not (at ?x))))
(:action slip :parameters (?x ?y) :precondition (and (at ?x) (slip ?x ?y))
  :effect (and (at ?y) (not (at ?x)) (not (whole))))
(:action cross :parameters (?x ?y) :precondition (and (at ?x) (edge ?y ?x) (whole))
  :effect (and (at ?y) (not (at ?x)))))
"""


@pytest.mark.parametrize("model", TINY)
@pytest.mark.parametrize("base", ["none", "ff"])
def test_a_dead_end_beside_the_plan_is_ranked(model: str, base: str, tmp_path: Path) -> None:
    init = ["(whole)", "(at a)", "(edge a b)", "(edge b c)", "(slip a d)", "(edge c d)"]
    write_task(tmp_path, BRIDGE, problem_text("bridge", "a b c d", init, ["(at c)"]))
    label(tmp_path, tmp_path / "l.parquet", LABELLING)
    data = load_dataset(tmp_path / "l.parquet")
    states, _ = open_list_pairs(data.tasks[0], "one")
    assert np.isinf(make_heuristic(data.tasks[0].task, "ff").evaluate(states)).any()
    chosen = options(model, make_objective("l-gbfs", base=base))
    result = train(data, data, tmp_path / "m.safetensors", chosen)
    assert all(math.isfinite(line["validation_loss"]) for line in result.curve)


def test_a_problem_without_choices_cannot_be_ranked(tmp_path: Path) -> None:
    init = ["(at a)", "(edge a b)", "(edge b c)", "(= (length a b) 1)", "(= (length b c) 1)"]
    write_task(tmp_path, GRAPH, problem_text("graph", "a b c", init, ["(at c)"]))
    label(tmp_path, tmp_path / "l.parquet", LABELLING)
    data = load_dataset(tmp_path / "l.parquet")
    with pytest.raises(ValueError, match="no problem has a choice"):
        train(data, data, tmp_path / "m.safetensors", options(objective=make_objective("l-star")))

"""Training: what a step learns from, what the file depends on, and what survives a kill."""

from __future__ import annotations

import itertools
import json
import math
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hard_tasks import write_task
from hstar.objectives.losses import LOSSES, LOWER_BOUNDS, RANKING, Objective
from hstar.training.batches import LikelihoodTask, _open_list_pairs
from label_folders import generated, write_folder
from program import COMMAND, SECONDS, environment
from program import hstar as hstar_program
from small_domains import problem_text

from hstar.cli import run as run_cli
from hstar.heuristics import make_heuristic
from hstar.learned.loader import load_model
from hstar.models import KINDS
from hstar.search import search
from hstar.spaces.task import Task, load_task
from hstar.teachers import LabelOptions, label, read_labels
from hstar.teachers.following import follow
from hstar.teachers.labels import LabelsError
from hstar.training.dataset import Dataset, LabelledTask, dataset_of, load_dataset
from hstar.training.evaluation import baseline_mse, evaluate_model
from hstar.training.sampling import StratifiedSampler
from hstar.training.train import Evaluation, TrainOptions, train

# No limit of time or memory, so that the labels are the same on every machine.
LABELLING = LabelOptions(
    options={"max_expansions": 10_000}, time_limit=None, memory_limit=None, jobs=1
)
TINY: dict[str, dict[str, Any]] = {
    "nlm": {"width": 4, "depth": 4},
    "hgn": {"hidden": 4, "steps": 2},
    "linear": {},
}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six blocksworld problems with 3 and 4 blocks."""
    folder = tmp_path_factory.mktemp("blocks")
    label(generated(folder, "3-4", count=6), folder / "blocks.parquet", LABELLING)
    return folder / "blocks.parquet"


@pytest.fixture(scope="module")
def other_labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two problems of another domain."""
    folder = tmp_path_factory.mktemp("gripper")
    label(write_folder(folder / "p", "gripper", count=2), folder / "gripper.parquet", LABELLING)
    return folder / "gripper.parquet"


@pytest.fixture(scope="module")
def dataset(labels: Path) -> Dataset:
    return load_dataset(labels)


def options(model: str = "nlm", objective: Objective | None = None, **changes: Any) -> TrainOptions:
    chosen = {"steps": 12, "evaluate_every": 4, "batch": 16, "device": "cpu", **changes}
    return TrainOptions(model, TINY[model], objective or Objective(), **chosen)


def trained(dataset: Dataset, path: Path, chosen: TrainOptions) -> bytes:
    train(dataset, dataset.select([0]), path, chosen)
    return path.read_bytes()


# -- batches


@pytest.mark.parametrize("batch", [1, 3, 8, 10, 64])
def test_a_batch_has_a_fixed_number_of_states_of_every_size(batch: int) -> None:
    sizes = np.array([3] * 11 + [7] * 5 + [5] + [9] * 2)
    sampler = StratifiedSampler(sizes, batch, seed=4)
    drawn = [sampler.rows(step) for step in range(40)]
    assert {len(rows) for rows in drawn} == {sampler.batch_size}
    assert len({sizes[rows].tobytes() for rows in drawn}) == 1
    assert set(sizes[drawn[0]]) == {3, 5, 7, 9}
    assert max(4, min(batch, 19)) <= sampler.batch_size <= max(4, min(batch, 19)) + 3
    assert len(sampler.weights) == sampler.batch_size


def test_every_state_is_seen_equally_often_within_its_size() -> None:
    sizes = np.array([2] * 7 + [4] * 30 + [6] * 3)
    sampler = StratifiedSampler(sizes, 16, seed=0)
    steps = 7 * 30 * 3  # whole passes for every size
    counts = np.bincount(np.concatenate([sampler.rows(s) for s in range(steps)]), minlength=40)
    for size in (2, 4, 6):
        assert len(set(counts[sizes == size])) == 1
    assert counts.min() > 0


@pytest.mark.parametrize("batch", [2, 5, 16])
def test_weights_make_the_mean_of_batches_that_of_all_states(batch: int) -> None:
    sizes = np.array([2] * 7 + [4] * 30 + [6] * 3)
    losses = np.random.default_rng(1).normal(size=40) + sizes
    sampler = StratifiedSampler(sizes, batch, seed=0)
    weighted = [(losses[sampler.rows(s)] * sampler.weights).mean() for s in range(7 * 30 * 3)]
    assert np.mean(weighted) == pytest.approx(losses.mean(), rel=1e-6)
    unweighted = [losses[sampler.rows(s)].mean() for s in range(7 * 30 * 3)]
    assert abs(np.mean(unweighted) - losses.mean()) > 1e-3  # or the weights were idle


def test_every_pass_has_an_order_of_its_own() -> None:
    sampler = StratifiedSampler(np.full(12, 5), 4, seed=0)
    passes = [np.concatenate([sampler.rows(3 * k + i) for i in range(3)]) for k in range(4)]
    assert all(sorted(order) == list(range(12)) for order in passes)
    assert len({order.tobytes() for order in passes}) == 4


def test_a_batch_depends_on_seed_and_number_alone() -> None:
    sizes = np.array([2] * 9 + [4] * 9)
    sampler, again = StratifiedSampler(sizes, 6, seed=1), StratifiedSampler(sizes, 6, seed=1)
    backwards = {step: again.rows(step).tolist() for step in reversed(range(20))}
    assert all(sampler.rows(step).tolist() == backwards[step] for step in range(20))
    other = StratifiedSampler(sizes, 6, seed=2)
    assert any(other.rows(step).tolist() != backwards[step] for step in range(20))


def test_a_step_weighs_its_states(dataset: Dataset) -> None:
    """The loss of a step is that of each state times its weight, and weights differ here."""
    objective = Objective("gaussian", sigma=1.0, base="none")
    model = KINDS["nlm"].build(
        config := KINDS["nlm"].configure(dataset.domain, [], 1, TINY["nlm"]), torch.Generator()
    )
    task = LikelihoodTask(dataset, model, "nlm", config, objective, 3, 0)
    weights = task.sampler.weights
    assert np.ptp(weights) > 0.1
    rows = task.sampler.rows(5)
    with torch.no_grad():
        mu = model(task.inputs.select(rows))[:, 0].numpy()
    errors = dataset.column("h_star")[rows] - mu
    expected = np.mean(weights * (errors**2 / 2 + math.log(2 * math.pi) / 2))
    assert task.updater(lambda loss: loss.detach())(5).item() == pytest.approx(expected, rel=1e-5)


# -- labels as data


def test_the_data_are_those_of_the_labels(labels: Path, dataset: Dataset) -> None:
    found = read_labels(labels)
    rows = found.rows
    assert len(dataset) == len(rows)
    assert dataset.column("h_star").tolist() == rows.h.tolist()
    assert np.isnan(dataset.column("upper")).all()
    names = [dataset.tasks[number].name for number in dataset.task_numbers]
    assert names == [found.problems[number].problem for number in rows.problem]
    for labelled in dataset.tasks:
        states = found.atom_names(labelled.name)
        assert [labelled.task.atoms(state) for state in labelled.states] == states
    features = [
        make_heuristic(labelled.task, "ff").plan_features(labelled.states)
        for labelled in dataset.tasks
    ]
    assert dataset.features.tolist() == np.concatenate(features).tolist()


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
    train(wrong, wrong, tmp_path / "m.safetensors", options(objective=Objective(lower="hmax")))
    bounds[5] -= 1  # equality is fine
    train(wrong, wrong, tmp_path / "m.safetensors", options())


def test_an_upper_bound_below_a_label_is_an_error(dataset: Dataset, tmp_path: Path) -> None:
    bounds = dataset.column("h_star").copy()
    known = replace(dataset, columns={**dataset.columns, "upper": bounds})
    train(known, known, tmp_path / "m.safetensors", options())
    bounds[3] -= 1
    with pytest.raises(ValueError, match="the upper bound is"):
        train(known, known, tmp_path / "m.safetensors", options())


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
    for model, loss in itertools.product(TINY, LOSSES):
        path = tmp_path / "m.safetensors"
        result = train(upper_only, upper_only, path, options(model, Objective(loss)))
        assert math.isfinite(result.best.validation_loss)
        assert search(dataset.tasks[0].task, load_model(path)).solved
    objective = Objective("gaussian", sigma=1.0, base="none")
    task = LikelihoodTask(upper_only, torch.nn.Linear(1, 1), "linear", {}, objective, 16, 0)
    assert task.columns["h_star"].tolist() == upper_only.column("upper").tolist()
    assert np.isinf(task.columns["upper"]).all()  # a label is no bound on itself


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
    result = train(data, data, tmp_path / "m.safetensors", options(objective=Objective(loss)))
    assert math.isfinite(result.best.validation_loss)
    assert search(labelled.task, load_model(tmp_path / "m.safetensors")).solved


# -- pairs of states to rank

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
    states, pairs = _open_list_pairs(
        LabelledTask("p", task, ("(go a b)", "(go b z)"), np.zeros((0, 1), np.int32)), cost
    )
    names = [task.atoms(state)[0][3] for state in states]
    found = [(names[b], names[w]) for b, w in zip(pairs.better, pairs.worse, strict=True)]
    assert sorted(found) == [("b", "x"), ("z", "x"), ("z", "y")]
    g = dict(zip(names, pairs.g.tolist(), strict=True))
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
    objective = Objective(kind, base="hadd")
    path = tmp_path / "m.safetensors"
    result = train(one, one, path, options(model, objective, steps=1, evaluate_every=1))
    labelled = one.tasks[0]
    states, pairs = _open_list_pairs(labelled, "one")
    bound: Any = load_model(path).bind(labelled.task)
    h = (bound if callable(bound) else bound.evaluate)(states).astype(np.float64)
    f = h + (pairs.g.numpy() if kind == "l-star" else 0)
    expected = np.logaddexp(0, f[pairs.better] - f[pairs.worse]).mean()
    assert result.best.validation_loss == pytest.approx(expected, rel=1e-4)
    assert len(pairs.better) > 20


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
    states, _ = _open_list_pairs(data.tasks[0], "one")
    assert np.isinf(make_heuristic(data.tasks[0].task, "ff").evaluate(states)).any()
    chosen = options(model, Objective("l-gbfs", base=base))
    result = train(data, data, tmp_path / "m.safetensors", chosen)
    assert all(math.isfinite(line.validation_loss) for line in result.curve)


def test_a_problem_without_choices_cannot_be_ranked(tmp_path: Path) -> None:
    init = ["(at a)", "(edge a b)", "(edge b c)", "(= (length a b) 1)", "(= (length b c) 1)"]
    write_task(tmp_path, GRAPH, problem_text("graph", "a b c", init, ["(at c)"]))
    label(tmp_path, tmp_path / "l.parquet", LABELLING)
    data = load_dataset(tmp_path / "l.parquet")
    with pytest.raises(ValueError, match="no problem has a choice"):
        train(data, data, tmp_path / "m.safetensors", options(objective=Objective("l-star")))


# -- what comes out


@pytest.mark.parametrize("model", TINY)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_objective_trains_and_plans(
    model: str, loss: str, dataset: Dataset, tmp_path: Path
) -> None:
    data, steps = dataset.select([0]), 1 if model == "hgn" else 2
    bases = itertools.product(("none", "ff", "lmcut"), LOWER_BOUNDS)
    for (base, lower), sigma in itertools.product(
        [*bases, ("hmax", "lmcut"), ("hadd", "blind"), ("goalcount", "hmax")], (None, 1.4)
    ):
        objective = Objective(loss, sigma, base, lower)
        if objective.can_be_capped and sigma is None:
            objective = replace(objective, cap=1.3)
        path = tmp_path / "m.safetensors"
        result = train(data, data, path, options(model, objective, steps=steps, fit_cap=False))
        assert math.isfinite(result.best.validation_loss), objective
        learned = load_model(path)
        assert learned.metadata["objective"] == objective.to_dict()
        assert learned.decode == objective.decode
        assert search(data.tasks[0].task, learned).solved, objective


def test_the_loss_decreases(dataset: Dataset, tmp_path: Path) -> None:
    chosen = options("nlm", Objective(), steps=150, evaluate_every=15, batch=44)
    result = train(dataset, dataset, tmp_path / "m.safetensors", chosen)
    losses = [line.train_loss for line in result.curve]
    assert losses[-1] < losses[0] / 1.5
    assert result.best.validation_mse < 0.8 * baseline_mse(dataset, "ff")
    assert result.best.score == min(line.score for line in result.curve)


@pytest.mark.parametrize("model", TINY)
def test_the_file_holds_the_best_weights_and_search_sees_their_values(
    model: str, dataset: Dataset, tmp_path: Path
) -> None:
    """Trained on labels that are 20 too large, the network gets worse all the time."""
    path = tmp_path / "m.safetensors"
    too_large = {**dataset.columns, "h_star": dataset.column("h_star") + 20}
    chosen = options(model, learning_rate=0.01)
    result = train(replace(dataset, columns=too_large), dataset, path, chosen)
    assert result.best.step < result.curve[-1].step
    metrics = evaluate_model(path, dataset)
    assert metrics.mse == pytest.approx(result.best.validation_mse, rel=1e-4)
    assert metrics.nll == pytest.approx(result.best.validation_loss, rel=1e-4)
    assert (metrics.states, metrics.problems) == (len(dataset), len(dataset.tasks))
    for decode, mse in (("truncated-mean", metrics.mse), ("clip", metrics.mse_clip)):
        learned = load_model(path, decode)
        errors = []
        for labelled in dataset.tasks:
            bound: Any = learned.bind(labelled.task)
            states, to_go = follow(labelled.task, labelled.plan)
            h = (bound if callable(bound) else bound.evaluate)(states)
            errors += [(float(a) - b) ** 2 for a, b in zip(h, to_go, strict=True)]
        assert np.mean(errors) == pytest.approx(mse, rel=1e-3)


# -- the same file again


@pytest.mark.parametrize("loss", ["truncated-gaussian", "l-star"])
@pytest.mark.parametrize("model", TINY)
def test_a_seed_decides_the_file(model: str, loss: str, dataset: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    chosen = options(model, Objective(loss))
    first = trained(dataset, path, chosen)
    assert trained(dataset, path, chosen) == first
    if model != "hgn":  # matrix products of torch round differently with more threads
        torch.set_num_threads(2)
        assert trained(dataset, path, chosen) == first
    assert trained(dataset, path, replace(chosen, seed=1)) != first


class Killed(Exception):
    pass


def interrupted(dataset: Dataset, path: Path, chosen: TrainOptions, after: int) -> list[int]:
    """Train until an evaluation after some steps, but not its checkpoint; the steps of all."""
    steps: list[int] = []

    def report(line: Evaluation, total: int) -> None:
        assert total == chosen.steps
        steps.append(line.step)
        if line.step >= after:
            raise Killed

    with pytest.raises(Killed):
        train(dataset, dataset.select([0]), path, chosen, report)
    assert not path.exists()
    return steps


@pytest.mark.parametrize(
    ("model", "loss"), [("nlm", "truncated-gaussian"), ("hgn", "gaussian"), ("linear", "l-star")]
)
def test_an_interrupted_run_goes_on_where_it_was(
    model: str, loss: str, dataset: Dataset, tmp_path: Path
) -> None:
    chosen = options(model, Objective(loss), steps=20)
    expected = trained(dataset, tmp_path / "whole.safetensors", chosen)
    path = tmp_path / "m.safetensors"
    assert interrupted(dataset, path, chosen, after=8) == [4, 8]
    assert interrupted(dataset, path, chosen, after=12) == [8, 12]
    steps: list[int] = []
    train(dataset, dataset.select([0]), path, chosen, lambda line, _: steps.append(line.step))
    assert steps == [12, 16, 20]
    assert path.read_bytes() == expected
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.safetensors", "whole.safetensors"]


def test_the_checkpoint_of_another_run_is_not_used(dataset: Dataset, tmp_path: Path) -> None:
    path, whole = tmp_path / "m.safetensors", tmp_path / "whole.safetensors"
    chosen = options(steps=12)
    interrupted(dataset, path, chosen, after=8)
    for other in (
        replace(chosen, seed=1),
        replace(chosen, objective=Objective(epsilon=0.2)),
        replace(chosen, model_options={"width": 4, "depth": 4, "dense": True}),
    ):
        assert trained(dataset, path, other) == trained(dataset, whole, other)
        path.unlink()
        interrupted(dataset, path, chosen, after=8)
    fewer = dataset.select([0, 1, 2])
    assert trained(fewer, path, chosen) == trained(fewer, whole, chosen)


def test_a_damaged_checkpoint_is_not_used(dataset: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    partial = tmp_path / "m.safetensors.partial"
    chosen = options(steps=12)
    expected = trained(dataset, path, chosen)
    path.unlink()
    interrupted(dataset, path, chosen, after=8)
    content = partial.read_bytes()
    for damaged in (b"", content[:100], content[: len(content) // 2]):
        partial.write_bytes(damaged)
        assert trained(dataset, path, chosen) == expected


def killed_training(arguments: list[str], output: Path) -> None:
    """Start `hstar train` and kill it once there is a checkpoint, before it comes to its end."""
    partial = output.with_name(f"{output.name}.partial")
    for _ in range(5):
        process = subprocess.Popen(
            [*COMMAND, "train", *arguments, "-o", output],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        deadline = time.monotonic() + SECONDS
        while not partial.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        _, err = process.communicate()
        if process.returncode == -signal.SIGKILL and not output.exists():
            assert partial.exists(), err.decode()
            return
        assert process.returncode in (0, -signal.SIGKILL), err.decode()
        output.unlink()  # it was faster than we were
        partial.unlink(missing_ok=True)
    pytest.fail("the training always came to its end")


def test_a_killed_command_goes_on_to_the_same_bytes(labels: Path, tmp_path: Path) -> None:
    arguments = [str(labels), "--steps", "120", "--evaluate-every", "3", "--batch", "16"]
    arguments += ["--threads", "1", "--device", "cpu", "--option", "width=4"]
    path, whole = tmp_path / "m.safetensors", tmp_path / "whole.safetensors"
    killed_training(arguments, path)
    again = hstar_program("train", *arguments, "-o", path)
    assert again.code == 0, again.err
    assert run_cli(["train", *arguments, "-o", str(whole)]) == 0
    assert path.read_bytes() == whole.read_bytes()
    assert not (tmp_path / "m.safetensors.partial").exists()


# -- the command


def test_a_model_for_each_seed(
    labels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [
        str(labels),
        "-m",
        "linear",
        "--steps",
        "3",
        "--seeds",
        "3,5",
        "--test",
        str(labels),
    ]
    assert run_cli(["train", *arguments, "-o", str(tmp_path / "m.safetensors")]) == 0
    out = capsys.readouterr().out
    assert "5 problems to train on" in out
    assert out.count("on test problems squared error") == 2
    files = {path.name for path in tmp_path.iterdir()}
    models = {"m-seed3.safetensors", "m-seed5.safetensors"}
    assert files == models | {f"{name}.json" for name in models}
    resolved = json.loads((tmp_path / "m-seed5.safetensors.json").read_text())
    assert (resolved["seed"], resolved["steps"], resolved["model"]) == (5, 3, "linear")
    assert resolved["weight_decay"] == 0.0  # what suits this model
    assert run_cli(["train", *arguments, "-o", str(tmp_path / "again-{seed}.safetensors")]) == 0
    pair = [
        (tmp_path / name).read_bytes() for name in ("again-3.safetensors", "m-seed3.safetensors")
    ]
    assert pair[0] == pair[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-m", "forest"], "unknown model 'forest'; choose one of nlm, hgn, linear"),
        (["-l", "hinge"], "unknown loss 'hinge'"),
        (["--base", "oracle"], "unknown base 'oracle'"),
        (["--lower", "ff"], "unknown lower bound 'ff'"),
        (["--sigma", "wide"], "--sigma must be 'learn' or a number, not 'wide'"),
        (["--sigma", "-1"], "sigma must be positive"),
        (["--epsilon", "0"], "epsilon must be positive"),
        (["--learning-rate", "nan"], "the learning rate must be positive"),
        (["--schedule", "linear"], "unknown schedule 'linear'"),
        (["--device", "abacus"], "unknown device 'abacus'"),
        (["--seeds", "1,1"], "--seeds names a seed twice"),
        (["--seeds", "one"], "--seeds takes numbers"),
        (["--option", "width"], "--option takes NAME=VALUE, not 'width'"),
        (["--option", "width=0"], "the width of an NLM must be"),
        (["--option", "colour=1"], "'colour'"),
        (["-m", "linear", "--option", "width=3"], "the linear model has no option 'width'"),
        (["-m", "hgn", "--option", "hidden=0"], "'hidden' of a hypergraph network"),
        (["-o", "missing/m.safetensors"], "cannot write missing/m.safetensors"),
    ],
)
def test_bad_arguments(
    arguments: list[str],
    message: str,
    labels: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    output = tmp_path / "m.safetensors"
    assert run_cli(["train", str(labels), "-o", str(output), "--steps", "1", *arguments]) == 36
    err = capsys.readouterr().err
    assert err.startswith("hstar: ") and err.count("\n") == 1
    assert message in err
    assert not output.exists()


def test_labels_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "missing.parquet")
    assert run_cli(["train", missing, "-o", str(tmp_path / "m.safetensors")]) == 31
    assert "there is no such file; make it with 'hstar label'" in capsys.readouterr().err


@pytest.mark.parametrize("argument", ["--validation", "--test"])
@pytest.mark.parametrize("model", TINY)
def test_labels_of_another_domain_are_refused(
    argument: str,
    model: str,
    labels: Path,
    other_labels: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["train", str(labels), "-m", model, "--steps", "1", argument, str(other_labels)]
    assert run_cli([*arguments, "-o", str(tmp_path / "m.safetensors")]) == 36
    err = capsys.readouterr().err.splitlines()[-1]
    assert "blocksworld-4ops" in err
    assert "gripper" in err


def test_labels_of_other_costs_are_refused(dataset: Dataset, tmp_path: Path) -> None:
    priced = replace(dataset, cost="normal")
    path = tmp_path / "m.safetensors"
    with pytest.raises(ValueError, match="--cost one and --cost normal"):
        train(dataset, priced, path, options("linear"))
    train(dataset, dataset, path, options("linear"))
    with pytest.raises(ValueError, match=r"--cost one; the labels are of .* with --cost normal"):
        evaluate_model(path, priced)


def test_a_ranking_model_has_no_error(labels: Path, dataset: Dataset, tmp_path: Path) -> None:
    """Which is said before the training, not after it."""
    path = tmp_path / "m.safetensors"
    arguments = ["train", str(labels), "-l", "l-star", "-m", "linear", "--steps", "1"]
    assert run_cli([*arguments, "--test", str(labels), "-o", str(path)]) == 36
    assert not path.exists()
    assert run_cli([*arguments, "-o", str(path)]) == 0
    with pytest.raises(ValueError, match="a ranking model does not estimate costs"):
        evaluate_model(path, dataset)

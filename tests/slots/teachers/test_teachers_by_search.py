"""The teachers that search forward: given-states, bootstrap, value-iteration."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_tasks import random_task
from small_domains import ALL
from test_regression import NO_LIMIT

from hstar import _core
from hstar.commands.cli import main
from hstar.domains import generate
from hstar.pddl import parse
from hstar.planning.heuristics import bind_heuristic
from hstar.planning.specification import SearchSpecification
from hstar.planning.task import Task, ground
from hstar.runtime.resources import Budget, OutOfResources
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.teachers import TEACHERS, LabelOptions, label, read_labels
from hstar.slots.teachers.backward import NothingToRegress
from hstar.slots.teachers.given_states import NothingSolved, sample_given_states
from hstar.slots.teachers.labels import LabelRows
from hstar.slots.teachers.states import LatestStates, fact_sets, states_of_facts
from hstar.slots.teachers.teacher import SamplingTask
from hstar.training.fit import Lesson, Limits, ModelRow, fit_for
from hstar.training.fit.mlp import network_options
from hstar.training.native import FactNetwork, MlpOptions
from hstar.training.teachers.bootstrap import sample_bootstrap
from hstar.training.teachers.goal_walks import GoalWalks
from hstar.training.teachers.value_iteration import sample_value_iteration

SMALL: dict[str, dict[str, Any]] = {
    "given-states": {"walks": 20, "steps": 30},
    "bootstrap": {"rounds": 4, "searches": 20, "batches": 20},
    "value-iteration": {"rounds": 4, "drawn": 50, "batches": 20},
}
SAMPLES: dict[str, Callable[..., LabelRows]] = {
    "given-states": sample_given_states,
    "bootstrap": sample_bootstrap,
    "value-iteration": sample_value_iteration,
}


def task_from(folder: Path, domain: str, problem: str) -> Task:
    """Every action costs 1."""
    paths = folder / "domain.pddl", folder / "problem.pddl"
    paths[0].write_text(domain)
    paths[1].write_text(problem)
    return ground(replace(parse(*paths), uses_metric=False), keep_constant=True)


def distances(task: Task, states: Any) -> list[float]:
    """h* by breadth-first search from each state, reachable or not."""
    blind = _core.Heuristic(task.core, "blind", "one")
    settings = SearchSpecification("blind", "bfs").for_core(task)
    found = []
    for state in states:
        _, steps, solved = _core.label_by_search(
            task.core, state[None], blind, settings, 0.0, *NO_LIMIT
        )
        found.append(float(steps[0]) if solved[0] else np.inf)
    return found


def states_of(task: Task, sets: LabelRows) -> Any:
    states = states_of_facts(task, sets.starts, sets.atoms)
    assert (states >= 0).all()
    return states


@pytest.mark.parametrize("teacher", ["given-states", "bootstrap"])
@pytest.mark.parametrize("name", ["blocks", "ferry", "gripper", "logistics"])
def test_labels_of_plans_are_upper_bounds(teacher: str, name: str, tmp_path: Path) -> None:
    task = task_from(tmp_path, *ALL[name](random.Random(3)))
    sets = SAMPLES[teacher](SamplingTask(task, states=300), **SMALL[teacher])
    assert 0 < len(sets) <= 300 and not sets.kind.any()
    assert (sets.h == sets.upper).all()
    states = states_of(task, sets)[:60]
    assert (np.array(distances(task, states)) <= sets.upper[:60]).all()
    assert sets.h.max() > 0


@pytest.mark.parametrize("seed", range(40))
def test_states_of_plans_follow_each_other(seed: int, tmp_path: Path) -> None:
    """Each label of the core is 0 in a goal, or one more than that of the next state of the plan,
    which a step leads to."""
    text = random_task(seed)
    task = task_from(tmp_path, text.domain, text.problem)
    if task.goal_is_false:
        return
    ff = _core.Heuristic(task.core, "ff", "one")
    settings = SearchSpecification(max_expansions=500).for_core(task)
    starts = np.concatenate(
        [task.initial_state[None], _core.random_walks(task.core, 6, 10, seed, *NO_LIMIT)]
    )
    states, steps, solved = _core.label_by_search(task.core, starts, ff, settings, 0.0, *NO_LIMIT)
    assert len(solved) == len(starts)
    plans = np.split(np.arange(len(steps)), np.flatnonzero(np.diff(steps) >= 0) + 1)
    assert len(steps) == 0 or len(plans) == solved.sum()
    for plan in plans if len(steps) else []:
        assert steps[plan].tolist() == list(range(len(plan)))[::-1]
        for here, after in itertools.pairwise(plan):
            assert states[after].tolist() in task.successors(states[here])[1].tolist()
        last = states[plan[-1]]
        reached = [task.is_goal(one) for one in (last, *task.successors(last)[1])]
        assert reached[0] or any(reached)


def test_value_iteration_finds_the_distances_of_a_tiny_task(tmp_path: Path) -> None:
    """Walks from the goal meet all states, so the values of the network become exact."""
    domain, problem = ALL["gripper"](random.Random(3))
    task = task_from(tmp_path, domain, problem)
    sets = sample_value_iteration(
        SamplingTask(task, states=500, seed=1), rounds=60, drawn=200, length=30, batches=60
    )
    exact = np.array(distances(task, states_of(task, sets)))
    assert np.isnan(sets.upper).all()
    assert exact.max() > 3
    assert np.abs(sets.h - exact).mean() < 0.35


@pytest.mark.parametrize("teacher", ["bootstrap", "value-iteration"])
def test_the_network_that_labelled_is_the_one_that_is_kept(teacher: str, tmp_path: Path) -> None:
    """Its values are those of the network in the file, and near the labels of the plans."""
    task = task_from(tmp_path, *ALL["gripper"](random.Random(3)))
    options = {"hidden": 32, "width": 16, "learning_rate": 1e-3, "precision": "float32"}
    small = {name: value for name, value in SMALL[teacher].items() if name != "rounds"}
    row = ModelRow(teacher, "facts", "mlp", "squared", "self-taught", small, options)
    fit = fit_for(row)
    fit.check(row)
    file = fit.run(Lesson(tasks=[task]), row, Limits(Budget(), seed=1, steps=30))
    assert file is not None and file.metadata["training"]["teacher"]["name"] == teacher
    network = FactNetwork(task, 1, network_options(row))
    sets = SAMPLES[teacher](
        SamplingTask(task, states=500, seed=1), rounds=30, network=network, **small
    )
    kept = bind_heuristic(LearnedHeuristic(file, "kept"), task, "one", Budget())
    states = states_of(task, sets)
    h = kept.evaluate(states)
    assert (h == network.heuristic().evaluate(states)).all()
    assert np.corrcoef(h, sets.h)[0, 1] > 0.8
    with pytest.raises(ValueError, match="no option 'depth'"):
        fit.check(replace(row, options={"depth": 3}))


def test_a_network_that_is_dead_is_drawn_again(tmp_path: Path) -> None:
    task = task_from(tmp_path, *ALL["gripper"](random.Random(3)))
    network = FactNetwork(task, 1, MlpOptions(hidden=8, width=8))
    last, bias, activation, skip = network.layers[-1]
    network.layers[-1] = (last, np.full_like(bias, -1e3), activation, skip)
    states = np.tile(task.initial_state, (4, 1))
    sets = fact_sets(task, states, np.full(4, 5.0, np.float32))
    network.train(sets, 1, 0, NO_LIMIT)
    assert network.draws == 2 and network.layers[-1][1] > -1


def test_walks_become_longer_when_their_states_are_solved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    draw = GoalWalks.draw

    def traced(self: GoalWalks, count: int, length: int, seed: list[int]) -> Any:
        asked.append(length)
        return draw(self, count, length, seed)

    monkeypatch.setattr(GoalWalks, "draw", traced)
    task = task_from(tmp_path, *ALL["gripper"](random.Random(3)))
    sample_bootstrap(SamplingTask(task), rounds=4, searches=10, batches=5)
    assert asked == [5, 10, 20, 40]  # a few expansions solve this task
    asked.clear()
    sample_bootstrap(SamplingTask(task), rounds=4, searches=10, batches=5, expansions=1)
    assert asked == [5, 5, 5, 5]
    asked.clear()
    sample_value_iteration(SamplingTask(task), rounds=3, drawn=20, batches=5, near=1e-9)
    assert asked == [5, 5, 5]
    asked.clear()
    sample_value_iteration(SamplingTask(task), rounds=3, drawn=20, length=8, batches=5, near=0.999)
    assert asked[0] == 5 and max(asked) <= 8


def test_values_one_step_ahead(tmp_path: Path) -> None:
    """The minimum over successors of 1 + h, for a heuristic of the core, by its definition."""
    for seed in range(30):
        text = random_task(seed)
        task = task_from(tmp_path, text.domain, text.problem)
        if task.goal_is_false:
            continue
        ff = _core.Heuristic(task.core, "ff", "one")
        states = _core.random_walks(task.core, 20, 8, seed, *NO_LIMIT)
        values = _core.bellman_values(task.core, states, ff, *NO_LIMIT)
        for state, value in zip(states, values.tolist(), strict=True):
            ops, after = task.successors(state)
            goals = [task.is_goal(one) for one in after]
            h = ff.evaluate(after) if len(after) else []
            expected = min(
                (
                    (0.0 if goal else max(0.0, float(rest)))
                    + (not task.operator_name(int(op)).startswith("(reach-goal"))
                    for op, goal, rest in zip(ops, goals, h, strict=True)
                ),
                default=np.inf,
            )
            assert value == (0.0 if task.is_goal(state) else expected)


@pytest.mark.parametrize("teacher", SAMPLES)
def test_the_same_seed_gives_the_same_rows(teacher: str, tmp_path: Path) -> None:
    task = task_from(tmp_path, *ALL["blocks"](random.Random(3)))

    def bytes_of(seed: int) -> bytes:
        sets = SAMPLES[teacher](SamplingTask(task, states=400, seed=seed), **SMALL[teacher])
        return sets.atoms.tobytes() + sets.h.tobytes()

    assert bytes_of(1) == bytes_of(1) != bytes_of(2)


@pytest.mark.parametrize("teacher", SAMPLES)
def test_a_deadline_ends_with_the_rows_so_far(teacher: str, tmp_path: Path) -> None:
    task = task_from(tmp_path, *ALL["logistics"](random.Random(3)))
    endless = {"rounds": 10**9} if "rounds" in TEACHERS.find(teacher).options else {"walks": 10**5}
    sets = SAMPLES[teacher](SamplingTask(task, Budget.starting_now(6.0, None), 10**6), **endless)
    assert len(sets) > 0
    with pytest.raises(OutOfResources, match="out of time"):
        SAMPLES[teacher](SamplingTask(task, Budget(_core.monotonic_seconds() - 1.0, 0)))


@pytest.mark.parametrize("teacher", SAMPLES)
def test_through_the_program(
    teacher: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    generate("blocksworld", tmp_path, ["train"], count=1, ranges={"blocks": [3]})
    output = tmp_path / "labels.parquet"
    options = [f"--option={name}={value}" for name, value in SMALL[teacher].items()]
    arguments = ["label", str(tmp_path / "train"), "-o", str(output), "--teacher", teacher]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, *options, "--jobs", "1"])
    assert ended.value.code == 0, capsys.readouterr().err
    labels = read_labels(output)
    assert labels.teacher == teacher and len(labels.rows) > 0
    assert labels.kinds == list(TEACHERS.find(teacher).kinds)
    manifest = json.loads((tmp_path / "labels.manifest.json").read_text())
    assert manifest["problems"][0]["has_open"]


UNSOLVABLE = """\
(define (domain d) (:predicates (p) (q) (g))
  (:action use :precondition (and (p) (q)) :effect (and (g)))
  (:action turn :precondition (p) :effect (and (q) (not (p)))))
"""
CONDITIONAL = """\
(define (domain d) (:requirements :conditional-effects) (:predicates (p) (q) (g))
  (:action use :precondition (p) :effect (and (not (p)) (when (q) (g))))
  (:action turn :precondition (p) :effect (q)))
"""


def one_problem(goal: str, init: str = "(p)") -> str:
    return f"(define (problem x) (:domain d) (:init {init}) (:goal {goal}))"


def test_no_plan_at_all(tmp_path: Path) -> None:
    task = task_from(tmp_path, UNSOLVABLE, one_problem("(g)"))
    with pytest.raises(NothingSolved, match="no plan was found"):
        sample_given_states(SamplingTask(task), walks=5)


def test_a_goal_that_nothing_reaches(tmp_path: Path) -> None:
    domain = UNSOLVABLE.replace("(and (g))", "(and (q))")
    task = task_from(tmp_path, domain, one_problem("(g)"))
    for sample in SAMPLES.values():
        with pytest.raises(ValueError, match="no reachable state satisfies the goal"):
            sample(SamplingTask(task))


def test_conditional_effects(tmp_path: Path) -> None:
    """Regression leaves such operators out; searches forward do not."""
    task = task_from(tmp_path, CONDITIONAL, one_problem("(g)"))
    sets = sample_given_states(SamplingTask(task), walks=5)
    assert sets.h.max() == 2
    for sample in (sample_bootstrap, sample_value_iteration):
        with pytest.raises(NothingToRegress, match="conditional"):
            sample(SamplingTask(task))


def test_a_goal_that_holds_initially(tmp_path: Path) -> None:
    domain = CONDITIONAL.replace("(when (q) (g))", "(g)")
    task = task_from(tmp_path, domain, one_problem("(p)"))
    sets = sample_given_states(SamplingTask(task), walks=5)
    assert (sets.h == 0).all() and len(sets)


def test_the_latest_states_keep_the_smallest_labels(tmp_path: Path) -> None:
    task = task_from(tmp_path, *ALL["blocks"](random.Random(3)))
    states = np.unique(_core.random_walks(task.core, 60, 9, 1, *NO_LIMIT), axis=0)[:4]
    assert len(states) == 4
    latest = LatestStates(task, 3)
    latest.add(states[[0, 1, 0, 2, 3, 1]], np.array([5, 4, 3, 2, 1, 9], np.int32))
    kept = dict(zip(map(bytes, latest.states()), latest.labels().tolist(), strict=True))
    assert kept == {bytes(states[2]): 2.0, bytes(states[3]): 1.0, bytes(states[1]): 4.0}
    sets = fact_sets(task, states, np.zeros(4, np.float32), np.zeros(4, np.float32))
    assert (states_of(task, sets) == states).all()


def test_labels_of_a_problem_that_cannot_be_regressed(tmp_path: Path) -> None:
    folder = tmp_path / "problems"
    folder.mkdir()
    (folder / "domain.pddl").write_text(CONDITIONAL)
    (folder / "p01.pddl").write_text(one_problem("(g)"))
    with pytest.raises(ValueError, match="conditional effects"):
        label(folder, tmp_path / "labels.parquet", LabelOptions("bootstrap", jobs=1))

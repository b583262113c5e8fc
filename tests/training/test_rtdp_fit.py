"""The fit "rtdp": reinforcement learning on problems of a few states."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from label_folders import write_folder
from learning_runs import NETWORK, QUICK, check_learned, learn, model_in
from learning_window import network_values

from hstar import search
from hstar.learning.split import usable_tasks
from hstar.planning.heuristics import make_heuristic
from hstar.planning.task import Task, load_task
from hstar.runtime.resources import Budget
from hstar.slots.loader import find_heuristic
from hstar.slots.model_file import read_model, write_model
from hstar.training.fit import Lesson, Limits, ModelRow
from hstar.training.fit.rtdp import ActingLearner, ActingLine, fit_rtdp
from hstar.training.reinforcement.rtdp import PRESETS, Rtdp, RtdpSettings, first_weights

SMALL = {"depth": 2, "width": 4, "batch": 8, "least_states": 8}

# A lock that only light opens, and a light that only shines where nothing is locked.
LOCKS = """(define (domain locks) (:requirements :strips :negative-preconditions)
 (:predicates (at ?r) (door ?a ?b) (locked) (lit) (beyond ?a ?b ?c ?d))
 (:action go :parameters (?a ?b) :precondition (and (at ?a) (door ?a ?b))
  :effect (and (at ?b) (not (at ?a))))
 (:action shine :parameters (?a) :precondition (and (at ?a) (not (locked))) :effect (lit))
 (:action look :parameters (?a ?b ?c ?d) :precondition (and (at ?a) (beyond ?b ?c ?d ?a))
  :effect (and (beyond ?a ?b ?c ?d)))
 (:action open :parameters () :precondition (lit) :effect (not (locked))))"""
OPEN = ("(at s) (door s a) (door a b) (door b a) (beyond a b s s)", "(and (lit) (at b))")
LOCKED = ("(at s) (locked) (door s a) (door a b) (door b a)", "(and (lit) (at b))")
CLOSED = ("(at s) (door a b)", "(at b)")  # no plan even without deletes
STUCK = ("(at s) (locked) (door a s)", "(and (at b) (lit))")
SOLVED = ("(at s) (lit) (door s a)", "(lit)")
EMPTY_GOAL = ("(at s) (door s a)", "(and)")


def locks(folder: Path, *problems: tuple[str, str]) -> Path:
    folder.mkdir()
    (folder / "domain.pddl").write_text(LOCKS)
    for number, (init, goal) in enumerate(problems):
        (folder / f"p{number}.pddl").write_text(
            f"(define (problem p{number}) (:domain locks) (:objects s a b t) "
            f"(:init {init}) (:goal {goal}))"
        )
    return folder


def tasks_in(folder: Path) -> list[Task]:
    """Those that there is something to learn from."""
    files = sorted(path for path in folder.glob("p*.pddl"))
    problems = [load_task(folder / "domain.pddl", path).problem for path in files]
    return usable_tasks(problems, Budget(), lambda _line: None)


def learner_on(tasks: list[Task], settings: RtdpSettings) -> ActingLearner:
    return ActingLearner(Lesson(tasks=tasks, others=tasks[-1:]), settings, Limits(Budget()))


@pytest.mark.parametrize("preset", PRESETS)
def test_values_in_search_are_those_of_the_learner(tmp_path: Path, preset: str) -> None:
    """The decode gives h_gamma - V', natively, for each preset and potential."""
    tasks = tasks_in(write_folder(tmp_path / "problems", "gripper", 4))
    for potential in ("none", "naive", "discounted"):
        settings = replace(PRESETS[preset], **SMALL, updates=60, potential=potential)
        learner = learner_on(tasks, settings)
        file = learner.run()
        assert file is not None
        rtdp = learner.rtdp
        rtdp.restore({**rtdp.memory()[0], "theta": file.tensors["theta"]}, "0")
        write_model(tmp_path / "m.safetensors", file)
        for task in tasks:
            states = task.successors(task.initial_state)[1]
            bound = find_heuristic(str(tmp_path / "m.safetensors"), None).bind(task)
            found = getattr(bound, "evaluate", bound)(states)
            base = np.zeros(len(states))
            if potential != "none":
                base = make_heuristic(task, "ff", cost="one").evaluate(states).astype(float)
            values = network_values(rtdp, task, states)
            expected = np.maximum(-settings.phi(base) - values, found.min())
            is_goal = np.array([task.is_goal(row) for row in states])
            assert np.abs(found - expected)[~is_goal].max() < 1e-3


@pytest.mark.parametrize("preset", PRESETS)
def test_problems_without_a_plan_are_left_out(tmp_path: Path, preset: str) -> None:
    """Also one whose potential is infinite at the start, though its goal seems possible."""
    folder = locks(tmp_path / "problems", LOCKED, OPEN, SOLVED, CLOSED, STUCK, EMPTY_GOAL, OPEN)
    task = load_task(folder / "domain.pddl", folder / "p0.pddl")
    assert not task.goal_is_false
    assert len(task.successors(task.initial_state)[0]) > 0
    h = make_heuristic(task, "ff", cost="one").evaluate(task.initial_state[None])
    assert math.isinf(h[0])
    run = learn(folder, model_in(folder), *QUICK["rollouts"], "--option", f"preset={preset}")
    check_learned(run, model_in(folder))
    assert "left out: 2 already solved, 3 without a plan" in run.out


@pytest.mark.parametrize(("preset", "breadth"), [("own", 2), ("paper", 3)])
def test_predicates_that_the_network_does_not_see_are_named(
    preset: str, breadth: int, tmp_path: Path
) -> None:
    said: list[str] = []
    tasks = tasks_in(locks(tmp_path / "problems", OPEN))
    row = ModelRow("rollouts", "atoms", "nlm", "bellman", None, {"preset": preset, **SMALL})
    lesson = Lesson(tasks=tasks, others=tasks)
    assert fit_rtdp(lesson, row, Limits(Budget(), steps=60, say=said.append)) is not None
    assert any(f"beyond has more than {breadth} arguments: the network ignores it" in one
               for one in said)  # fmt: skip


def test_steps_count_whatever_actions_cost(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "problems", "transport", 4)
    assert "total-cost" in (folder / "domain.pddl").read_text()
    check_learned(learn(folder, model_in(folder), *QUICK["rollouts"]), model_in(folder))
    held = read_model(model_in(folder)).metadata
    assert held["cost"] == "one" and held["training"]["curve"][-1]["step"] == 60
    assert held["decode"]["gamma"] == PRESETS["own"].gamma
    task = load_task(folder / "domain.pddl", folder / "p00.pddl")
    assert search(task, find_heuristic(str(model_in(folder)), None), "gbfs").solved


WRONG = [
    ("gamma=1.01", "gamma must be above 0 and below 1"),
    ("gamma=x", "gamma wants a number"),
    ("temperature=-1", "temperature"),
    ("updates=5", "no option 'updates'"),
    ("samples_actions=maybe", "yes or no"),
    ("batch=0", "'batch' must be a whole number of at least 1"),
    ("capacity=3", "cannot hold a batch"),
    ("reward=goal", "bounded"),
]


def row_with(option: str) -> ModelRow:
    name, value = option.split("=")
    given = {word.split("=")[0]: word.split("=")[1] for word in NETWORK[1::2]}
    return ModelRow("rollouts", "atoms", "nlm", "bellman", None, {**given, name: value})


@pytest.mark.parametrize(("option", "message"), WRONG)
def test_wrong_options(option: str, message: str, tmp_path: Path) -> None:
    tasks = tasks_in(write_folder(tmp_path / "problems", "gripper", 2))
    with pytest.raises(ValueError, match=message):
        fit_rtdp(Lesson(tasks=tasks, others=tasks), row_with(option), Limits(Budget(), steps=5))


@pytest.mark.parametrize("option", ["temperature=0", "samples_actions=yes", "searches=no"])
def test_options_that_mean_something(option: str, tmp_path: Path) -> None:
    tasks = tasks_in(write_folder(tmp_path / "problems", "gripper", 2))
    lesson = Lesson(tasks=tasks, others=tasks)
    assert fit_rtdp(lesson, row_with(option), Limits(Budget(), steps=30)) is not None


def test_lines_say_what_was_found(tmp_path: Path) -> None:
    """A line after which no held-out problem is solved is not the line before it."""
    tasks = tasks_in(write_folder(tmp_path / "problems", "gripper", 2))
    learner = learner_on(tasks, replace(PRESETS["own"], **SMALL, updates=60))
    learner.curve.append(ActingLine(0, 0, 0, 0.0, 0.0, solved=3, evaluations=7.0))
    line = learner._since(0, 2000.0)
    assert (line.solved, line.evaluations) == (0, 2000.0)


def test_weights_at_the_start(tmp_path: Path) -> None:
    """Cut at two deviations; the last layer is zero if it sums."""
    tasks = tasks_in(write_folder(tmp_path / "problems", "blocks", 1))
    network = Rtdp(tasks, PRESETS["paper"], 0).network
    first, again, other = (first_weights(network, seed) for seed in (1, 1, 2))
    assert (first == again).all() and (first != other).any()
    assert np.isfinite(first).all() and np.abs(first).max() <= 2
    own = Rtdp(tasks, PRESETS["own"], 0)
    assert network_values(own, tasks[0], tasks[0].initial_state[None]) == 0

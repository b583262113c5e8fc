"""`hstar learn FOLDER --teacher rollouts`, on problems of a few states."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import numpy as np
import pytest
from hstar.learning.rollouts import Line, RolloutLearner, split_tasks, usable_tasks
from label_folders import write_folder
from program import Outcome, check_one_line, hstar

from hstar.planning.heuristics import make_heuristic
from hstar.planning.search import search
from hstar.planning.task import Task, load_task
from hstar.runtime.resources import Budget
from hstar.slots.loader import find_heuristic
from hstar.slots.model_file import read_model, write_model
from hstar.training.reinforcement.presets import PRESETS, changed

SMALL = {"depth": 2, "width": 4, "batch": 8, "least_states": 8}
NETWORK = [word for n, v in SMALL.items() for word in ("--option", f"{n}={v}")]
ROLLOUTS = ("--teacher", "rollouts")
QUICK = ("--steps", "60", *NETWORK)

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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "problems", "gripper", 8)


def model_in(folder: Path) -> Path:
    return folder.parent / "m.safetensors"


def learn(folder: Path, *more: str | Path, quick: tuple[str, ...] = QUICK) -> Outcome:
    return hstar("learn", folder, "-o", model_in(folder), *ROLLOUTS, *quick, *more)


def check_learned(run: Outcome, model: Path) -> None:
    """A model and a verdict, and nothing else is left."""
    assert run.code == 0, run.err
    assert ": use it.\n" in run.out or "keep the default, because" in run.out
    assert model.exists() and not Path(f"{model}.partial").exists()


def test_a_folder_is_learned_from(folder: Path) -> None:
    run = learn(folder)
    model = model_in(folder)
    check_learned(run, model)
    assert "step 60: " in run.out and "held-out" in run.out
    problem = folder / "p07.pddl"
    plan = folder.parent / "plan"
    assert hstar("plan", problem, "-H", model, "--plan-file", plan).code == 0
    assert hstar("validate", folder / "domain.pddl", problem, plan).code == 0
    shown = hstar("model", "show", model)
    assert shown.code == 0
    assert "nlm" in shown.out and "bellman" in shown.out
    file = read_model(model)
    assert file.metadata["training"]["curve"][-1]["step"] == 60
    assert file.metadata["decode"]["gamma"] == PRESETS["own"].shaping.gamma


def test_the_same_steps_give_the_same_bytes(folder: Path) -> None:
    files = []
    for more in ((), (), ("--seed", "1")):
        check_learned(learn(folder, *more), model_in(folder))
        files.append(model_in(folder).read_bytes())
    assert files[0] == files[1] != files[2]


def test_json(folder: Path) -> None:
    run = learn(folder, "--json")
    found = json.loads(run.out)
    assert run.code == 0
    assert found["pays"] == found["verdict"].endswith(": use it")  # "because it takes" is none
    assert found["steps"] == 60
    assert 0 <= found["learned_solved"] <= found["problems"]


@pytest.mark.parametrize("preset", PRESETS)
def test_values_in_search_are_those_of_the_learner(tmp_path: Path, preset: str) -> None:
    """The decode gives h_gamma - V', natively, for each preset and potential."""
    folder = write_folder(tmp_path / "problems", "gripper", 4)
    tasks = [load_task(folder / "domain.pddl", path) for path in sorted(folder.glob("p*.pddl"))]
    for potential in ("none", "naive", "discounted"):
        settings = changed(PRESETS[preset], **SMALL, updates=60, potential=potential)
        learner = RolloutLearner(usable(tasks), settings, 0, Budget(), lambda _line: None)
        outcome = learner.run()
        assert outcome.file is not None
        rtdp = learner.rtdp
        rtdp.restore({**rtdp.memory()[0], "theta": outcome.file.tensors["theta"]}, "0")
        write_model(tmp_path / "m.safetensors", outcome.file)
        for number, task in enumerate(learner.split.training):
            states = task.successors(task.initial_state)[1]
            bound = find_heuristic(str(tmp_path / "m.safetensors"), None).bind(task)
            found = getattr(bound, "evaluate", bound)(states)
            base = np.zeros(len(states))
            if potential != "none":
                base = make_heuristic(task, "ff", cost="one").evaluate(states).astype(float)
            ids = np.array([rtdp.environment.add(number, row[None]) for row in states], np.int64)
            values = rtdp.core.values(np.full(len(ids), number, np.int32), ids)
            expected = -settings.shaping.phi(base) - values
            is_goal = [task.is_goal(row) for row in states]
            assert (
                np.abs(found - np.maximum(expected, found.min()))[~np.array(is_goal)].max() < 1e-3
            )


def usable(tasks: list[Task]) -> list[Task]:
    return usable_tasks([task.problem for task in tasks], Budget(), lambda _line: None)


def test_one_problem(folder: Path) -> None:
    """It is for learning, for choosing and for the verdict, in a folder or as a file."""
    for path in sorted(folder.glob("p*.pddl"))[1:]:
        path.unlink()
    run = learn(folder)
    check_learned(run, model_in(folder))
    assert "1 problems to learn from" in run.out
    run = learn(folder / "p00.pddl", "-o", str(model_in(folder)))
    check_learned(run, model_in(folder))


def test_several_domains_in_a_folder_are_refused(folder: Path) -> None:
    other = write_folder(folder.parent / "other", "blocks", 1)
    (other / "p00.pddl").rename(folder / "q.pddl")
    check_one_line(learn(folder), 31, "q.pddl", "unknown predicate")
    for path in folder.glob("p0[1-9].pddl"):
        path.unlink()
    (folder / "domain.pddl").rename(folder / "p00-domain.pddl")
    (other / "domain.pddl").rename(folder / "q-domain.pddl")
    check_one_line(learn(folder), 31, "different domains", "one domain at a time")
    assert not list(folder.parent.glob("m.safetensors*"))


@pytest.mark.parametrize(
    ("problems", "message"),
    [
        ((SOLVED, SOLVED), "2 already solved"),
        ((EMPTY_GOAL,), "1 already solved"),
        ((CLOSED, CLOSED), "2 without a plan"),
        ((LOCKED,), "1 without a plan"),
        ((STUCK, SOLVED), "1 already solved, 1 without a plan"),
    ],
)
def test_nothing_to_learn_from(
    tmp_path: Path, problems: tuple[tuple[str, str], ...], message: str
) -> None:
    folder = locks(tmp_path / "problems", *problems)
    run = learn(folder)
    assert run.code == 36
    assert f"nothing can be learned from {folder}: there is no problem to learn from" in run.err
    assert message in run.err
    assert not list(tmp_path.glob("m.safetensors*"))


@pytest.mark.parametrize("preset", PRESETS)
def test_problems_without_a_plan_are_left_out(tmp_path: Path, preset: str) -> None:
    """Also one whose potential is infinite at the start, though its goal seems possible."""
    folder = locks(tmp_path / "problems", LOCKED, OPEN, SOLVED, CLOSED, STUCK, OPEN)
    task = load_task(folder / "domain.pddl", folder / "p0.pddl")
    assert not task.goal_is_false
    assert len(task.successors(task.initial_state)[0]) > 0
    h = make_heuristic(task, "ff", cost="one").evaluate(task.initial_state[None])
    assert math.isinf(h[0])
    run = learn(folder, "--option", f"preset={preset}")
    check_learned(run, model_in(folder))
    assert "left out: 1 already solved, 3 without a plan" in run.out


def test_predicates_that_the_network_does_not_see_are_named(tmp_path: Path) -> None:
    folder = locks(tmp_path / "problems", OPEN)
    for preset, breadth in (("own", 2), ("paper", 3)):
        run = learn(folder, "--option", f"preset={preset}")
        check_learned(run, model_in(folder))
        assert f"beyond has more than {breadth} arguments: the network ignores it" in run.err


def test_goals_with_a_choice_are_refused(tmp_path: Path) -> None:
    folder = locks(tmp_path / "problems", ("(at s) (door s a)", "(or (at a) (at b) (lit))"))
    run = learn(folder)
    assert run.code in (31, 34) and "contains a choice" in run.err
    assert not list(tmp_path.glob("m.safetensors*"))


def test_steps_count_whatever_actions_cost(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "problems", "transport", 4)
    assert "total-cost" in (folder / "domain.pddl").read_text()
    run = learn(folder)
    check_learned(run, model_in(folder))
    assert read_model(model_in(folder)).metadata["cost"] == "one"
    task = load_task(folder / "domain.pddl", folder / "p00.pddl")
    assert search(task, find_heuristic(str(model_in(folder)), None), "gbfs").solved


@pytest.mark.parametrize(
    ("option", "parts"),
    [
        ("gamma=1", ("gamma must be above 0 and below 1",)),
        ("gamma=1.01", ("gamma must be above 0 and below 1",)),
        ("gamma=x", ("gamma wants a number",)),
        ("temperature=-1", ("temperature",)),
        ("preset=pape", ("did you mean 'paper'",)),
        ("tau=0", ("no option 'tau'", "temperature")),
        ("updates=5", ("no option 'updates'",)),
        ("samples_actions=maybe", ("yes or no",)),
        ("batch=0", ("batch must be at least 1",)),
        ("capacity=3", ("cannot hold a batch",)),
        ("reward=goal", ("bounded",)),
        ("heuristic=nonsense", ("nonsense",)),
    ],
)
def test_wrong_options(folder: Path, option: str, parts: tuple[str, ...]) -> None:
    check_one_line(learn(folder, "--option", option), 36, *parts)
    assert not list(folder.parent.glob("m.safetensors*"))


def test_options_of_other_teachers_are_refused(folder: Path) -> None:
    for more in (("--width", "8"), ("--states", "5"), ("--objective", "squared")):
        check_one_line(learn(folder, *more), 36, f"{more[0]} is for one problem")
    problem = folder / "p00.pddl"
    run = hstar("learn", problem, "-o", model_in(folder), "--steps", "5")
    check_one_line(run, 36, "--steps is for folders and rollouts")
    check_one_line(learn(folder, "--teacher", "backward"), 36, "takes one problem")


@pytest.mark.parametrize("option", ["temperature=0", "samples_actions=yes", "searches=no"])
def test_options_that_mean_something(folder: Path, option: str) -> None:
    check_learned(learn(folder, "--option", option), model_in(folder))


def test_unwritable_outputs_are_refused(folder: Path) -> None:
    for output, part in (
        (folder.parent / "no" / "m.safetensors", "cannot write"),
        (folder.parent / "model", "must end in .safetensors"),
    ):
        run = hstar("learn", folder, "-o", output, *ROLLOUTS, *QUICK)
        assert run.code == 36 and part in run.err
    assert hstar("learn", folder.parent / "nowhere", "-o", "m.safetensors").code == 31
    (folder.parent / "empty").mkdir()
    run = hstar("learn", folder.parent / "empty", "-o", model_in(folder))
    assert run.code == 31 and "no problem files" in run.err


def test_a_time_limit(folder: Path) -> None:
    start = time.monotonic()
    run = learn(folder, quick=("--time", "2s", *NETWORK))
    assert run.code in (0, 12, 23)  # a busy machine may not even begin in that time
    assert time.monotonic() - start < 60
    assert run.code != 0 or "learned " in run.out
    run = learn(folder, quick=("--time", "0.01s"))
    assert run.code in (12, 23)
    assert "out of time before there was a result" in run.err or "no network" in run.out
    run = learn(folder, quick=("--steps", "9999999", "--overall-time-limit", "4s", *NETWORK))
    assert run.code in (0, 12, 23)
    assert time.monotonic() - start < 180


def test_lines_say_what_was_found(folder: Path) -> None:
    """A line after which no held-out problem is solved is not the line before it."""
    tasks = usable([load_task(folder / "domain.pddl", p) for p in sorted(folder.glob("p*.pddl"))])
    learner = RolloutLearner(
        tasks, changed(PRESETS["own"], **SMALL, updates=60), 0, Budget(), lambda _line: None
    )
    learner.curve.append(Line(0, 0, 0, 0.0, 0.0, solved=3, evaluations=7.0))
    line = learner._since(0, 2000.0)
    assert (line.solved, line.evaluations) == (0, 2000.0)


def test_held_out_problems_are_apart(folder: Path) -> None:
    tasks = usable([load_task(folder / "domain.pddl", p) for p in sorted(folder.glob("p*.pddl"))])
    for count in range(1, len(tasks) + 1):
        split = split_tasks(tasks[:count], 0)
        names = [{id(task) for task in part} for part in (split.training, split.choice)]
        assert all(names)
        if count > 4:
            assert not names[0] & names[1]
            assert not names[0] & {id(task) for task in split.verdict}

"""Learning under signals and limits, and where there is nothing to learn."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Sequence
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hstar.learning.instance import InstanceLearner, LearnOptions
from hstar.learning.networks import NetworkMaker
from program import COMMAND, SECONDS, environment, hstar
from small_domains import BLOCKS, problem_text

from hstar import _core
from hstar.learning.planning import Clock, networks, search_for, take_turns
from hstar.learning.trials import Score, sentence
from hstar.pddl import Problem, parse
from hstar.planning.specification import DEFAULT_PLANNER, SearchSpecification
from hstar.planning.task import Task, ground
from hstar.runtime.resources import Budget
from hstar.slots.teachers.backward import FactSets
from hstar.training.fact_network import NETWORK

SLIDING = """\
(define (domain sliding) (:requirements :strips)
  (:predicates (at ?t ?c) (blank ?c) (next ?c ?d) (tile ?t))
  (:action move :parameters (?t ?c ?d)
    :precondition (and (tile ?t) (at ?t ?c) (blank ?d) (next ?c ?d))
    :effect (and (at ?t ?d) (blank ?c) (not (at ?t ?c)) (not (blank ?d)))))
"""


def write(folder: Path, domain: str, problem: str) -> Path:
    (folder / "domain.pddl").write_text(domain)
    (folder / "p.pddl").write_text(problem)
    return folder / "p.pddl"


def read(path: Path) -> Problem:
    return parse(path.with_name("domain.pddl"), path)


@pytest.fixture
def hard(tmp_path: Path) -> Path:
    """Sixty-three tiles in reverse order: no search of a few seconds orders them."""
    side = 8
    cells = [f"c{x}-{y}" for x, y in product(range(side), repeat=2)]
    tiles = [f"t{number}" for number in range(side * side - 1)]
    init = [f"(tile {tile})" for tile in tiles]
    init += [f"(at {tile} {cell})" for tile, cell in zip(tiles, reversed(cells), strict=False)]
    init.append(f"(blank {cells[0]})")
    for x, y in product(range(side), repeat=2):
        beside = ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1))
        init += [f"(next c{x}-{y} c{i}-{j})" for i, j in beside if f"c{i}-{j}" in cells]
    goal = [f"(at {tile} {cell})" for tile, cell in zip(tiles, cells, strict=False)]
    names = " ".join([*cells, *tiles])
    return write(tmp_path, SLIDING, problem_text("sliding", names, init, goal))


@pytest.fixture
def tower(tmp_path: Path) -> Path:
    init = [f"({word} {name})" for name in "abcde" for word in ("ontable", "clear")]
    goal = ["(on a b)", "(on b c)", "(on c d)"]
    text = problem_text("blocks", "a b c d e", [*init, "(handempty)"], goal)
    return write(tmp_path, BLOCKS, text)


def test_an_interrupt_during_a_trial_ends_learning(hard: Path) -> None:
    model = hard.parent / "m.safetensors"
    partial = Path(f"{model}.partial")
    command = [*COMMAND, "learn", hard, "-o", model, "--time", "60s"]
    running = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL)
    started = time.monotonic()
    while not (partial / "run.json").exists() and time.monotonic() - started < SECONDS:
        time.sleep(0.02)
    time.sleep(1)  # the trials of the default planner take three seconds
    running.send_signal(signal.SIGINT)
    assert running.wait(SECONDS) == 130
    assert not model.exists()
    assert (partial / "default.json").exists() == partial.exists()


def test_interrupts_of_searches(hard: Path) -> None:
    """Before the first weights are judged there is nothing to keep; during the verdict, which takes
    a minute, there is."""
    model = hard.parent / "m.safetensors"
    options = ("depth=2", "width=4", "lower=hmax", "breadth=1")
    settings = ["--steps", "2", *(word for one in options for word in ("--option", one))]
    command = [*COMMAND, "learn", hard, "--teacher", "rollouts", "-o", model, *settings]
    said = {130: "interrupted before there was a result", 0: "the best weights so far are kept"}
    for sign, codes in (
        ("1 problems to learn from", (130, 0)),
        ("step 2: ", (0,)),
    ):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        running = subprocess.Popen(command, env=environment(), **pipes)  # type: ignore[call-overload]
        assert any(line.startswith(sign) for line in running.stdout)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=SECONDS)
        assert running.returncode in codes, err
        assert said[running.returncode] in out + err
        assert model.exists() == (running.returncode == 0)
        assert not Path(f"{model}.partial").exists()
        model.unlink(missing_ok=True)


def test_an_interrupt_during_learning_ends_planning(hard: Path) -> None:
    limits = ("--learn", "4s", "--overall-time-limit", "120s")
    command = [*COMMAND, "plan", hard, *limits, "--plan-file", hard.parent / "plan"]
    running = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    for line in running.stdout:
        if line.startswith("Learning for"):
            break
    running.send_signal(signal.SIGINT)
    rest = running.stdout.read()
    assert running.wait(SECONDS) == 130
    assert "search has" not in rest


def test_nothing_is_left_behind_if_the_input_is_wrong(tmp_path: Path) -> None:
    problem = write(tmp_path, BLOCKS, "(define (problem")
    run = hstar("learn", problem, "-o", tmp_path / "m.safetensors")
    assert run.code == 31
    run = hstar("learn", problem, "-o", tmp_path / "m.safetensors", "--seed", "-1")
    assert run.code == 36 and "not a whole number" in run.err
    assert not list(tmp_path.glob("m.safetensors*"))


def test_an_overall_limit_below_the_time_leaves_time_to_train(tower: Path) -> None:
    model = tower.parent / "m.safetensors"
    limits = ("--time", "1h", "--overall-time-limit", "15s")
    run = hstar("learn", tower, "-o", model, *limits, "--states", "2000", "--width", "16")
    assert run.code == 0, run.err
    assert model.exists() and not Path(f"{model}.partial").exists()


def test_the_time_for_learning_holds_for_grounding(tower: Path) -> None:
    problem = read(tower)
    with pytest.raises(Exception, match="out of time"):
        InstanceLearner(problem, LearnOptions(seconds=1e-9), Budget(), lambda _: None)


def test_a_network_without_a_step_of_training_is_no_result(tower: Path) -> None:
    lines: list[str] = []
    options = LearnOptions(seconds=600, states=200)
    learner = InstanceLearner(read(tower), options, Budget(), lines.append)
    learner.trial_seconds = 600  # trials alone would take more than there is
    found = learner.run()
    assert found.file is None and not found.pays and found.finished == 0
    assert "no network was trained" in found.sentence() and "inf" not in found.sentence()
    assert [line for line in lines if line.endswith("no time left to train")]


def test_sets_without_facts_have_no_inputs(tower: Path) -> None:
    maker = NetworkMaker(read(tower), NETWORK, 100, Budget(), lambda _: None)
    inputs = np.flatnonzero(maker.row_of_fact >= 0)[:3].astype(np.int32)
    other = np.flatnonzero(maker.row_of_fact < 0)[:1].astype(np.int32)
    facts = np.concatenate([inputs[:2], other, inputs[2:]])
    starts = np.array([0, 0, 3, 3, len(facts), len(facts)])
    labels = np.ones(5, np.float32)
    rows = maker.rows(FactSets(starts, facts, labels, labels, np.zeros(5, np.uint8)))
    assert rows.starts.tolist() == [0, 0, 2, 2, 3, 3]
    assert rows.atoms.tolist() == maker.row_of_fact[inputs].tolist()


def test_what_cannot_be_learned_is_left_to_the_default_planner(tmp_path: Path) -> None:
    domain = "(define (domain d) (:predicates (a) (b)) (:action x :precondition (a) :effect (b)))"
    problem = write(tmp_path, domain, "(define (problem p) (:domain d) (:init (b)) (:goal (b)))")
    lines: list[str] = []
    task = ground(read(problem))
    assert not list(networks(task, LearnOptions(seconds=600), Budget(), lines.append, Clock()))
    assert lines[-1].startswith("Nothing can be learned: ")


def test_too_little_memory_for_learning_is_left_to_the_default_planner(tower: Path) -> None:
    lines: list[str] = []
    task = ground(read(tower))
    budget = Budget(memory_bytes=2**20)
    assert not list(networks(task, LearnOptions(), budget, lines.append, Clock()))
    assert lines[-1] == "No more can be learned: out of memory."


def test_a_search_that_runs_out_of_memory_leaves_its_turns_to_the_other(tmp_path: Path) -> None:
    names = [f"b{number}" for number in range(12)]
    init = [f"({word} {name})" for name in names for word in ("ontable", "clear")]
    goal = [f"(on {above} {below})" for above, below in pairwise(names)]
    text = problem_text("blocks", " ".join(names), [*init, "(handempty)"], goal)
    task = ground(read(write(tmp_path, BLOCKS, text)))
    lines: list[str] = []
    memory = _core.peak_resident_bytes() + 100 * 2**20
    ways = {"learned": SearchSpecification("blind", "astar"), "default": DEFAULT_PLANNER}
    result, name = take_turns(task, ways, 600.0, Budget(memory_bytes=memory), lines.append)
    assert result is not None and result.solved and name == "default"
    assert lines == [
        "The learned search has 600 s.",
        "The default search has all the time that is left.",
    ]


class SlowToValidate(Task):
    """A task whose first plan is not validated within the turn that found it."""

    has_waited = False

    def replay(self, plan: Sequence[str], state: object = None) -> int | float:
        if not self.has_waited:
            self.has_waited = True
            time.sleep(SECONDS)  # the alarm of the turn ends it
        return super().replay(plan)


def test_a_plan_found_at_the_end_of_a_turn_is_validated(tower: Path) -> None:
    task = ground(read(tower))
    task.__class__ = SlowToValidate
    ways = {"learned": DEFAULT_PLANNER, "default": DEFAULT_PLANNER}
    budget = Budget.starting_now(SECONDS, None)
    result, name = take_turns(task, ways, 1.0, budget, lambda _: None)
    assert result is not None and result.solved and name == "learned"
    assert result.unchecked is None


def test_the_verdict_says_if_nothing_was_tried() -> None:
    nothing = Score(())
    assert "nothing was tried" in sentence(nothing, nothing)
    assert "no network was trained" in sentence(None, nothing)


def test_a_turn_too_short_to_begin_is_out_of_time(tower: Path) -> None:
    result = search_for(ground(read(tower)), DEFAULT_PLANNER, 1e-9, Budget())
    assert result.status == "out of time" and result.plan is None

"""`hstar learn` and `hstar plan --learn` on problems that take seconds."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from hstar.learning.initial_states import walk_problems
from hstar.learning.instance import InstanceLearner, LearnOptions, with_search
from program import check_one_line, hstar
from small_domains import ALL, BLOCKS, problem_text

from hstar.learning.trials import Score, Trial, sentence, trial_states
from hstar.pddl import parse
from hstar.pddl.validate import validate
from hstar.planning.algorithms import SEARCHES
from hstar.planning.search import search
from hstar.planning.specification import SearchSpecification
from hstar.planning.task import ground, load_task
from hstar.runtime.resources import Budget
from hstar.slots.loader import find_heuristic, load_search
from hstar.slots.model_file import read_model, write_model

QUICK = ("--time", "2s", "--states", "2000", "--width", "16")


def write(folder: Path, domain: str, problem: str) -> Path:
    (folder / "domain.pddl").write_text(domain)
    (folder / "p.pddl").write_text(problem)
    return folder / "p.pddl"


def blocks_problem(names: str, goal: list[str]) -> str:
    init = [f"({word} {name})" for name in names.split() for word in ("ontable", "clear")]
    return problem_text("blocks", names, [*init, "(handempty)"], goal)


@pytest.fixture
def tower(tmp_path: Path) -> Path:
    goal = ["(on a b)", "(on b c)", "(on c d)"]
    return write(tmp_path, BLOCKS, blocks_problem("a b c d e", goal))


def test_a_model_is_learned_and_solves_the_problem(tower: Path) -> None:
    model = tower.parent / "m.safetensors"
    run = hstar("learn", tower, "-o", model, *QUICK)
    assert run.code == 0, run.err
    assert "default planner" in run.out
    assert ": use it.\n" in run.out or "keep the default, because" in run.out
    assert not Path(f"{model}.partial").exists()
    task = load_task(tower.parent / "domain.pddl", tower)
    assert search(task, find_heuristic(str(model), None), "gbfs").solved


def test_json_has_the_verdict(tower: Path) -> None:
    model = tower.parent / "m.safetensors"
    run = hstar("learn", tower, "-o", model, *QUICK, "--json")
    found = json.loads(run.out)
    assert found["states"] == LearnOptions().trials
    assert found["pays"] == found["verdict"].endswith(": use it")  # "because it takes" is none
    assert 0 <= found["learned_solved"] <= found["states"] and found["candidates"] >= 1


def test_the_model_serves_other_initial_states_but_no_other_goal(tower: Path) -> None:
    model = tower.parent / "m.safetensors"
    assert hstar("learn", tower, "-o", model, *QUICK).code == 0
    domain = tower.parent / "domain.pddl"
    other = tower.parent / "other.pddl"
    other.write_text(next(iter(walk_problems(parse(domain, tower), tower, 1, 30, 1))))
    plan_file = ("--plan-file", tower.parent / "plan")
    assert hstar("plan", other, "-H", model, *plan_file).code == 0
    for problem, message in (
        (blocks_problem("a b c d e", ["(on a b)"]), "has another goal"),
        (blocks_problem("a b c d", ["(on a b)", "(on b c)", "(on c d)"]), "lacks the object"),
    ):
        other.write_text(problem)
        run = hstar("plan", other, "-H", model, *plan_file)
        assert run.code == 31
        assert message in run.err


def test_a_goal_that_contradicts_itself_leaves_nothing_to_learn(tmp_path: Path) -> None:
    problem = write(tmp_path, BLOCKS, blocks_problem("a b", ["(on a b)", "(on b a)"]))
    run = hstar("learn", problem, "-o", tmp_path / "m.safetensors", *QUICK)
    assert run.code == 36 and "no state can satisfy the goal" in run.err
    assert not list(tmp_path.glob("m.safetensors*"))


def test_a_goal_that_holds_already_can_still_be_learned_for(tmp_path: Path) -> None:
    problem = write(tmp_path, BLOCKS, blocks_problem("a b c", ["(handempty)", "(clear a)"]))
    run = hstar("learn", problem, "-o", tmp_path / "m.safetensors", *QUICK)
    assert run.code == 0, run.err


def test_conditional_effects_are_named(tmp_path: Path) -> None:
    problem = write(tmp_path, *ALL["briefcase"](random.Random(1)))
    run = hstar("learn", problem, "-o", tmp_path / "m.safetensors", *QUICK)
    assert run.code in (0, 36)
    assert run.code == 0 or "conditional effects" in run.err


def test_an_unwritable_output_is_an_error(tower: Path) -> None:
    run = hstar("learn", tower, "-o", tower.parent / "no" / "m.safetensors", *QUICK)
    assert run.code == 36 and "no" in run.err
    run = hstar(
        "learn", tower, "-o", tower.parent / "model", *QUICK
    )  # 'hstar plan -H' would refuse it
    check_one_line(run, 36, "must end in .safetensors")


def test_planning_with_learning_solves_and_says_who_did(tower: Path) -> None:
    plan_file = tower.parent / "plan"
    limits = ("--learn", "5s", "--overall-time-limit", "60s")
    run = hstar("plan", tower, *limits, "--plan-file", plan_file)
    assert run.code == 0
    assert "The default planner found the plan" in run.out
    found = json.loads(hstar("plan", tower, *limits, "--plan-file", plan_file, "--json").out)
    assert found["found_by"] == "default" and found["training_time"] == 0.0


def test_learning_must_leave_time_to_plan(tower: Path) -> None:
    run = hstar("plan", tower, "--learn", "60s", "--overall-time-limit", "30s")
    assert run.code == 36 and "leaves no time" in run.err
    run = hstar("plan", tower, "--learn", "5s", "-H", "ff")
    assert run.code == 36 and "leave out" in run.err


def test_an_unsolvable_problem_stays_unsolvable(tmp_path: Path) -> None:
    problem = write(tmp_path, BLOCKS, blocks_problem("a b", ["(on a b)", "(on b a)"]))
    run = hstar("plan", problem, "--learn", "2s", "--plan-file", tmp_path / "plan")
    assert run.code == 11


def test_trial_states_are_new_and_no_goals(tower: Path) -> None:
    task = load_task(tower.parent / "domain.pddl", tower)
    states = trial_states(task, 20, 3, Budget())
    assert 1 <= len(states) <= 20
    assert len({state.tobytes() for state in states}) == len(states)
    assert not any(task.is_goal(state) for state in states)
    assert not any(np.array_equal(state, task.initial_state) for state in states)


@pytest.mark.parametrize("name", ALL)
def test_problems_from_walks_keep_all_but_the_initial_state(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, *ALL[name](random.Random(2)))
    original = parse(tmp_path / "domain.pddl", path)
    task = ground(original, keep_irrelevant=True, keep_constant=True)
    texts = list(walk_problems(original, path, 3, 10, 5))
    assert texts == list(walk_problems(original, path, 3, 10, 5))
    for text in texts:
        other = tmp_path / "other.pddl"
        other.write_text(text)
        problem = parse(tmp_path / "domain.pddl", other)
        assert (problem.objects, problem.goal) == (original.objects, original.goal)
        assert problem.function_values == original.function_values
        assert set(problem.init) != set(original.init)
        assert ground(problem, keep_irrelevant=True).num_operators <= task.num_operators


def test_generate_writes_problems_of_walks_once(tower: Path) -> None:
    folder = tower.parent / "walks"
    command = ("generate", "--walks", "5", "--steps", "40", tower, "-o", folder)
    run = hstar(*command)
    assert run.code == 0 and "problems in" in run.out
    written = {path.name: path.read_text() for path in folder.iterdir()}
    assert len(written) == 6 and "p01.pddl" in written
    assert len(set(written.values())) == 6
    assert hstar(*command).code == 0
    assert {path.name: path.read_text() for path in folder.iterdir()} == written
    run = hstar(*command, "--seed", "9")
    assert run.code == 36 and "something else" in run.err
    assert {path.name: path.read_text() for path in folder.iterdir()} == written


EITHER = """\
(define (domain rooms) (:requirements :adl)
  (:predicates (at ?x) (lit ?x))
  (:action move :parameters (?x ?y) :precondition (at ?x) :effect (and (at ?y) (not (at ?x))))
  (:action press :parameters (?x) :precondition (at ?x)
    :effect (and (when (lit ?x) (not (lit ?x))) (when (not (lit ?x)) (lit ?x)))))
"""


def test_problems_from_walks_satisfy_no_goal_of_several(tmp_path: Path) -> None:
    goal = "(or (and (lit a) (lit b)) (and (lit c) (lit d)))"
    text = f"(define (problem p) (:domain rooms) (:objects a b c d) (:init (at a)) (:goal {goal}))"
    path = write(tmp_path, EITHER, text)
    texts = list(walk_problems(parse(tmp_path / "domain.pddl", path), path, 20, 10, 1))
    assert len(texts) >= 15  # a walk goes on where it meets the goal
    for other in texts:
        path.write_text(other)
        assert not validate(parse(tmp_path / "domain.pddl", path), []).valid


def test_walks_take_the_texts_that_the_parser_takes(tower: Path) -> None:
    domain = tower.parent / "domain.pddl"
    domain.write_bytes(b"; caf\xe9\n" + domain.read_bytes())
    tower.write_bytes(b"; caf\xe9 (:init\n" + tower.read_bytes().replace(b"(:init", b"( :INIT"))
    folder = tower.parent / "walks"
    run = hstar("generate", "--walks", "2", "--seed", "-1", tower, "-o", folder)
    assert run.code == 0, run.err
    assert (folder / "domain.pddl").read_bytes() == domain.read_bytes()
    assert parse(folder / "domain.pddl", folder / "p01.pddl").init


def test_walks_refuse_what_does_not_fit(tower: Path) -> None:
    command = ("generate", tower, "-o", tower.parent / "walks", "--walks")
    for options in (("9999999999",), ("2", "--steps", "9999999999")):
        check_one_line(hstar(*command, *options), 36, "at most")
    for options in (("2", "--count", "5"), ("2", "--blocks", "3")):
        check_one_line(hstar(*command, *options), 36, "leave out")


def test_the_verdict_names_the_reason() -> None:
    def score(solved: int, seconds: float) -> Score:
        return Score(tuple(Trial(i < solved, seconds) for i in range(4)))

    assert sentence(score(4, 1.0), score(3, 0.1)).endswith("use it")
    assert sentence(score(4, 0.1), score(4, 1.0)).endswith("use it")
    assert "takes 10 times as long" in sentence(score(4, 1.0), score(4, 0.1))
    for seconds in (0.95, 1.03):
        said = sentence(score(4, seconds), score(4, 1.0))
        assert said.endswith("learning solves as many, and is not noticeably faster")
    assert "learning solves fewer" in sentence(score(2, 0.1), score(4, 1.0))
    assert "neither solves" in sentence(score(0, 0.1), score(0, 1.0))


def test_the_verdict_says_what_plans_cost() -> None:
    def score(*costs: float | None) -> Score:
        return Score(tuple(Trial(cost is not None, 1.0, cost) for cost in costs))

    learned, default = score(40, 10, 7, 5), score(10, 10, None, None)
    assert learned.cost_ratio(default) == pytest.approx(2)  # where both have a plan
    assert "plans cost 2.00 times the default's: use it" in sentence(learned, default)
    assert "plans cost 0.50 times the default's: keep" in sentence(default, learned)
    assert score(None, 3).cost_ratio(score(3, None)) is None
    assert score(0, 4).cost_ratio(score(0, 4)) == 1  # nothing to compare where plans are empty
    assert "plans cost" not in sentence(score(5), score(None))


def test_a_model_is_used_in_the_search_that_it_names(tower: Path) -> None:
    learned = tower.parent / "m.safetensors"
    assert hstar("learn", tower, "-o", learned, *QUICK).code == 0
    assert read_model(learned).metadata["search"]["algorithm"] in SEARCHES
    model = tower.parent / "lazy.safetensors"
    write_model(
        model, with_search(read_model(learned), {"algorithm": "lazy", "preferred_by": "ff"})
    )
    plan = ("plan", tower, "--plan-file", tower.parent / "plan", "-H")
    assert "lazy, with preferred operators; heuristic lazy, cost one, preferred by ff" in (
        hstar(*plan, model).out
    )
    assert "Search: A* with reopening; heuristic lazy." in hstar(*plan, model, "-s", "astar").out
    assert load_search(SearchSpecification(str(model))).label() == "learned"
    assert load_search(SearchSpecification(str(model), "gbfs")).label() == "gbfs(lazy)"
    for way in ({"algorithm": "no such search"}, {"algorithm": "gbfs", "no such option": "1"}):
        write_model(model, with_search(read_model(learned), way))
        run = hstar(*plan, model)
        assert run.code == 36 and "no such" in run.err


def test_learning_takes_a_teacher_with_options_and_an_objective(tower: Path) -> None:
    model = tower.parent / "m.safetensors"
    chosen = ("--teacher", "fsm", "--option", "stride=2", "--objective", "l-gbfs")
    run = hstar("learn", tower, "-o", model, *QUICK, *chosen)
    assert run.code == 0 and "fsm(stride=2, l-gbfs), " in run.out
    metadata = read_model(model).metadata
    assert metadata["objective"]["name"] == "l-gbfs"
    assert metadata["training"]["teacher"] == {"name": "fsm", "stride": 2}
    for wrong, message in (
        (("--teacher", "fsm", "--option", "stride=0"), "stride"),
        (("--teacher", "optimal"), "does not sample one problem"),
        (("--teacher", "fms"), "did you mean 'fsm'"),
        (("--option", "stride=2"), "name it with --teacher"),
        (("--teacher", "fsm", "--option", "states=5"), "--option states is --states here"),
        (("--objective", "square"), "unknown objective"),
    ):
        check_one_line(hstar("learn", tower, "-o", model, *QUICK, *wrong), 36, message)


@pytest.mark.parametrize("objective", ["interval", "truncated-gaussian"])
def test_bounds_of_a_goal_with_alternatives_hold(objective: str, tmp_path: Path) -> None:
    goal = "(or (and (lit a) (lit b)) (and (lit c) (lit d)))"
    domain = EITHER.replace(
        "(and (when (lit ?x) (not (lit ?x))) (when (not (lit ?x)) (lit ?x)))", "(lit ?x)"
    )
    text = f"(define (problem p) (:domain rooms) (:objects a b c d) (:init (at a)) (:goal {goal}))"
    path = write(tmp_path, domain, text)
    model = tmp_path / "m.safetensors"
    run = hstar("learn", path, "-o", model, *QUICK, "--teacher", "fsm", "--objective", objective)
    assert run.code == 0, run.err


def test_no_preferred_operators_means_also_those_that_a_model_names(tower: Path) -> None:
    model = tower.parent / "m.safetensors"
    assert hstar("learn", tower, "-o", model, *QUICK).code == 0
    way = {"algorithm": "gbfs", "preferred_by": "ff"}
    write_model(model, with_search(read_model(model), way))
    run = hstar("plan", tower, "-H", model, "--no-preferred", "--plan-file", tower.parent / "plan")
    assert run.code == 0 and "preferred by" not in run.out


def test_the_verdict_is_measured_on_states_that_chose_nothing(tower: Path) -> None:
    problem = parse(tower.parent / "domain.pddl", tower)
    learner = InstanceLearner(problem, LearnOptions(), Budget(), lambda _: None)
    chosen, judged = (
        {state.tobytes() for state in states} for states in (learner.states, learner.verdict_states)
    )
    assert chosen and judged and not chosen & judged

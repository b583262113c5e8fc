"""`hstar plan --learn`: the default planner, then the learner, then turns of both. And learning for
one problem, on unusual ones: the right message and exit code, and nothing lost or left behind."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
from program import COMMAND, SECONDS, check_one_line, environment, hstar
from small_domains import ALL, BLOCKS, problem_text

from hstar.learning import planning
from hstar.learning.planning import LEARNED, plan_with_learning, search_for
from hstar.pddl import parse
from hstar.planning.specification import DEFAULT, DEFAULT_PLANNER, SearchSpecification
from hstar.planning.task import Task, ground
from hstar.runtime.resources import Budget
from hstar.slots.model_file import read_model

QUICK = ("--time", "4s", "--states", "1000", "--option", "hidden=8")
LOCKS = """\
(define (domain locks) (:requirements :conditional-effects) (:predicates (shut ?x) (open ?x))
  (:action turn :parameters (?x)
    :effect (and (when (shut ?x) (open ?x)) (when (open ?x) (not (shut ?x))))))
"""
WALK = """\
(define (domain walk) (:requirements :action-costs)
  (:predicates (at ?x) (next ?x ?y) (got ?x)) (:functions (total-cost) - number)
  (:action go :parameters (?x ?y) :precondition (and (at ?x) (next ?x ?y))
    :effect (and (not (at ?x)) (at ?y) (increase (total-cost) 0)))
  (:action take :parameters (?x) :precondition (at ?x)
    :effect (and (got ?x) (increase (total-cost) 3))))
"""
# The grounder writes each effect of a move with a condition, so nothing can be regressed.
TILES = """\
(define (domain tiles) (:requirements :adl)
  (:predicates (at ?t ?c) (blank ?c) (next ?c ?d) (moves))
  (:action move :parameters (?t ?c ?d) :precondition (and (at ?t ?c) (blank ?d) (next ?c ?d))
    :effect (when (moves) (and (at ?t ?d) (blank ?c) (not (at ?t ?c)) (not (blank ?d)))))
  (:action stop :effect (not (moves))))
"""


def write(folder: Path, domain: str, problem: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "domain.pddl").write_text(domain)
    (folder / "p.pddl").write_text(problem)
    return folder / "p.pddl"


def blocks(names: str, *goal: str) -> str:
    init = [f"({word} {name})" for name in names.split() for word in ("ontable", "clear")]
    return problem_text("blocks", names, [*init, "(handempty)"], list(goal))


def walk(goal: str) -> str:
    cells = [f"c{number}" for number in range(8)]
    init = [f"(next {a} {b})" for a in cells for b in cells if abs(int(a[1]) - int(b[1])) == 1]
    text = problem_text("walk", " ".join(cells), ["(at c0)", "(= (total-cost) 0)", *init], [goal])
    return text.rstrip()[:-1] + " (:metric minimize (total-cost)))"


def tiles(side: int) -> str:
    """Tiles in reverse order."""
    places = list(product(range(side), repeat=2))
    cells = [f"c{x}-{y}" for x, y in places]
    names = [f"t{number}" for number in range(side * side - 1)]
    init = [f"(at {name} {cell})" for name, cell in zip(names, reversed(cells), strict=False)]
    init += ["(moves)", f"(blank {cells[0]})"]
    init += [
        f"(next c{x}-{y} c{i}-{j})"
        for (x, y), (i, j) in product(places, repeat=2)
        if abs(x - i) + abs(y - j) == 1
    ]
    goal = [f"(at {name} {cell})" for name, cell in zip(names, cells, strict=False)]
    return problem_text("tiles", " ".join([*cells, *names]), init, goal)


def three_locks() -> str:
    return problem_text("locks", "a b c", [f"(shut {n})" for n in "abc"], ["(open a)", "(open b)"])


TOWER = blocks("a b c d e", "(on a b)", "(on b c)", "(on c d)")
NEVER = BLOCKS.replace("(:predicates", "(:predicates (never)")
# domain, problem; what learning answers and says; what planning answers
CASES = {
    "tower": (BLOCKS, TOWER, 0, "", 0),
    "goal holds already": (BLOCKS, blocks("a b", "(handempty)"), 36, "1 already solved", 0),
    "empty goal": (BLOCKS, blocks("a b"), 36, "1 already solved", 0),
    "unreachable goal": (NEVER, blocks("a b", "(never)"), 36, "1 without a plan", 11),
    "goal of two values": (
        BLOCKS,
        blocks("a b c", "(on a b)", "(on a c)"),
        36,
        "1 without a plan",
        11,
    ),
    "only conditional effects": (LOCKS, three_locks(), 12, "", 0),
    "actions that cost nothing": (WALK, walk("(got c7)"), 0, "", 0),
    "some conditional effects": (*ALL["briefcase"](random.Random(1)), None, "", 0),
}


@pytest.mark.parametrize("case", CASES)
def test_an_unusual_problem(case: str, tmp_path: Path) -> None:
    domain, text, code, message, planned = CASES[case]
    problem = write(tmp_path / "p", domain, text)
    model = tmp_path / "m.safetensors"
    run = hstar("learn", problem, "-o", model, *QUICK)
    if code == 36:
        check_one_line(run, code, "nothing can be learned", message)
    elif code is not None:
        assert run.code == code, run
    if run.code == 0:
        again = hstar("plan", problem, "-H", model, "--plan-file", tmp_path / "learned")
        assert again.code == planned, again.err
    else:
        assert run.code in (12, 36)
        assert not list(tmp_path.glob("m.*")), run
        assert run.code == 36 or "Verdict: keep the default planner, because" in run.out
    plan_file = tmp_path / "plan"
    found = json.loads(
        hstar("plan", problem, "--learn", "4s", "--plan-file", plan_file, "--json").out
    )
    assert found["exit_code"] == planned
    assert found["found_by"] == (None if planned else "default")
    assert plan_file.exists() == (planned == 0)


def test_the_model_serves_other_initial_states_but_no_other_goal(tmp_path: Path) -> None:
    model = tmp_path / "m.safetensors"
    problem = write(tmp_path / "p", BLOCKS, TOWER)
    assert hstar("learn", problem, "-o", model, *QUICK).code == 0
    assert read_model(model).metadata["training"]["teacher"]["name"] == "regression"
    init = "(on e d) (on d c) (on c b) (on b a) (ontable a) (clear e) (handempty)"
    goal = TOWER.partition("(:goal")[2]
    for name, text, message in (
        ("other", TOWER.partition("(:init")[0] + f"(:init {init}) (:goal{goal}", None),
        ("goal", blocks("a b c d e", "(on a b)"), "has another goal"),
        ("fewer", blocks("a b c d", "(on a b)", "(on b c)", "(on c d)"), "lacks the object"),
        ("more", TOWER.replace("a b c d e", "a b c d e f"), "has the object 'f"),
    ):
        other = write(tmp_path / name, BLOCKS, text)
        run = hstar("plan", other, "-H", model, "--plan-file", tmp_path / "plan")
        if message is None:
            assert run.code == 0, run.err
        else:
            check_one_line(run, 31, "m.safetensors: ", message)


@pytest.fixture
def tower(tmp_path: Path) -> Task:
    problem = write(tmp_path, BLOCKS, TOWER)
    return ground(parse(problem.with_name("domain.pddl"), problem))


def fails_first(monkeypatch: pytest.MonkeyPatch) -> list[SearchSpecification]:
    """The default planner finds nothing in its first time; what is searched with after that."""
    searched: list[SearchSpecification] = []
    original = planning.search_for

    def search(task: Task, options: SearchSpecification, seconds: float, budget: Budget):  # type: ignore[no-untyped-def]
        if not searched:
            seconds = 1e-9
        searched.append(options)
        return original(task, options, seconds, budget)

    monkeypatch.setattr(planning, "search_for", search)
    return searched


def test_learning_goes_before_turns_and_may_find_the_plan_itself(
    tower: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched, said = fails_first(monkeypatch), []
    budget = Budget.starting_now(SECONDS, None)
    found = plan_with_learning(tower, 15.0, budget, said.append)
    assert found.solved and found.unchecked is None and found.training_time > 0
    assert any(line.startswith("Learning for") for line in said)
    if len(searched) == 1:
        assert found.found_by == LEARNED
    else:
        assert found.found_by in (LEARNED, DEFAULT) and DEFAULT_PLANNER in searched[1].searches()


@pytest.mark.parametrize(
    ("text", "start"),
    [(None, "No more can be learned: out of memory."), ("(handempty)", "Nothing can be learned: ")],
)
def test_what_cannot_be_learned_is_left_to_the_default_planner(
    text: str | None, start: str, tower: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For want of memory, or of anything to learn."""
    searched, said = fails_first(monkeypatch), []
    memory = None if text else 2**20
    if text is not None:
        problem = write(tmp_path / "easy", BLOCKS, blocks("a b", text))
        tower = ground(parse(problem.with_name("domain.pddl"), problem))
    plan_with_learning(tower, 4.0, Budget.starting_now(SECONDS, memory), said.append)
    assert any(line.startswith(start) for line in said), said
    assert searched == [DEFAULT_PLANNER, DEFAULT_PLANNER]


def test_planning_with_learning_says_who_found_the_plan(tmp_path: Path) -> None:
    problem = write(tmp_path, BLOCKS, TOWER)
    limits = ("--learn", "5s", "--overall-time-limit", "60s", "--plan-file", tmp_path / "plan")
    run = hstar("plan", problem, *limits)
    assert run.code == 0 and "The default planner found the plan" in run.out
    found = json.loads(hstar("plan", problem, *limits, "--json").out)
    assert found["found_by"] == "default" and found["training_time"] == 0.0
    for options, message in (
        (("--learn", "60s", "--overall-time-limit", "30s"), "leaves no time"),
        (("--learn", "5s", "-H", "ff"), "leave out"),
    ):
        check_one_line(hstar("plan", problem, *options), 36, message)


def test_an_interrupt_during_learning_ends_planning(tmp_path: Path) -> None:
    problem = write(tmp_path, TILES, tiles(7))
    limits = ("--learn", "4s", "--overall-time-limit", "120s")
    command = [*COMMAND, "plan", problem, *limits, "--plan-file", tmp_path / "plan"]
    running = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    for line in running.stdout:
        if line.startswith("Learning for"):
            break
    running.send_signal(signal.SIGINT)
    assert "Search: " not in running.stdout.read()
    assert running.wait(SECONDS) == 130


def test_limits_too_tight_to_begin(tmp_path: Path) -> None:
    problem = write(tmp_path / "p", TILES, tiles(14))
    plan = ("--plan-file", tmp_path / "plan", "--json")
    limits = ("--learn", "0.04s", "--overall-time-limit", "0.05s")
    run = hstar("plan", problem, *limits, *plan)
    check_one_line(run, 23, "out of time before there was a result")
    assert json.loads(run.out)["exit_code"] == 23
    for size in ("20M", "50M"):  # some of them end the import of libraries
        run = hstar("plan", problem, "--learn", "5s", "--overall-memory-limit", size, *plan)
        assert run.code == 22 and run.err == "hstar: out of memory before there was a result\n"
    assert [path.name for path in tmp_path.iterdir()] == ["p"]


class SlowToValidate(Task):
    """A task whose first plan is not validated within the turn that found it."""

    has_waited = False

    def replay(self, plan: Sequence[str], state: object = None) -> int | float:
        if not self.has_waited:
            self.has_waited = True
            time.sleep(SECONDS)  # the alarm of the turn ends it
        return super().replay(plan)


def test_a_plan_found_at_the_end_of_a_turn_is_validated(tower: Task) -> None:
    tower.__class__ = SlowToValidate
    result = search_for(tower, DEFAULT_PLANNER, 1.0, Budget.starting_now(SECONDS, None))
    assert result.solved and result.unchecked is None


def test_a_turn_too_short_to_begin_is_out_of_time(tower: Task) -> None:
    result = search_for(tower, DEFAULT_PLANNER, 1e-9, Budget())
    assert result.status == "out of time" and result.plan is None

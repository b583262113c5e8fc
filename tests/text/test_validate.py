"""Verdicts on plans, and the reasons they give."""

from __future__ import annotations

from pathlib import Path

import pytest

from hstar.pddl import Problem, parse
from hstar.pddl.domain import read_domain
from hstar.pddl.problem import read_problem
from hstar.pddl.reader import MAX_DEPTH
from hstar.pddl.source import source_from_bytes
from hstar.pddl.validate import validate

DATA = Path(__file__).parents[1] / "data"


def steps_of(text: str) -> list[tuple[str, ...]]:
    return [tuple(step.split()) for step in text.split(",")] if text else []


def parse_texts(domain: str, problem: str) -> Problem:
    lifted = read_domain(source_from_bytes("domain.pddl", domain.encode()))
    return read_problem(source_from_bytes("problem.pddl", problem.encode()), lifted)


@pytest.fixture(scope="module")
def towers() -> Problem:
    return parse(DATA / "strips" / "domain.pddl", DATA / "strips" / "problem.pddl")


@pytest.fixture(scope="module")
def museum() -> Problem:
    return parse(DATA / "adl" / "domain.pddl", DATA / "adl" / "problem.pddl")


@pytest.fixture(scope="module")
def parcels() -> Problem:
    return parse(DATA / "costs" / "domain.pddl", DATA / "costs" / "problem.pddl")


def test_valid_strips_plan_costs_one_per_step(towers: Problem) -> None:
    verdict = validate(towers, steps_of("unstack b a,stack b c,take a,stack a b"))
    assert (verdict.valid, verdict.cost, verdict.length) == (True, 4, 4)
    assert (verdict.step, verdict.action, verdict.reason) == (None, None, None)


def test_valid_adl_plan(museum: Problem) -> None:
    plan = (
        "lull,switch vault,sneak lupin lobby hall,sneak lupin hall vault,grab lupin mona vault,"
        "sneak lupin vault hall,sneak lupin hall lobby"
    )
    verdict = validate(museum, steps_of(plan))
    assert verdict.valid, verdict.reason
    assert verdict.cost == 0 + 1 + 2.5 + 4 + 4 + 4 + 2.5


def test_valid_plan_with_costs(parcels: Problem) -> None:
    plan = "drive van north south,load box van south,drive van south north,unload box van north"
    verdict = validate(parcels, steps_of(plan))
    assert (verdict.valid, verdict.cost) == (True, 11.25 + 2 + 13.25)


@pytest.mark.parametrize(
    ("plan", "step", "reason"),
    [
        ("fly a", 1, "step 1 (fly a): the domain has no action 'fly'"),
        ("unstack b a,put b,take d", 3, "step 3 (take d): the problem has no object 'd'"),
        ("take", 1, "step 1 (take): action 'take' takes 1 argument, not 0"),
        ("stack a b c", 1, "step 1 (stack a b c): action 'stack' takes 2 arguments, not 3"),
        ("take a", 1, "step 1 (take a): precondition (clear a) is false"),
        ("take c,take b", 2, "step 2 (take b): precondition (table b) is false"),
        ("", None, "the goal is not reached: (on a b) is false after the last step"),
        (
            "unstack b a,put b,take a,stack a b",
            None,
            "the goal is not reached: (on b c) is false after the last step",
        ),
    ],
)
def test_wrong_strips_plans(towers: Problem, plan: str, step: int | None, reason: str) -> None:
    verdict = validate(towers, steps_of(plan))
    assert not verdict.valid
    assert (verdict.step, verdict.reason) == (step, reason)
    assert verdict.length == len(steps_of(plan))
    assert verdict.action == (None if step is None else f"({plan.split(',')[step - 1]})")


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (
            "sneak lupin lobby hall",
            "step 1 (sneak lupin lobby hall): precondition "
            "(or (not (awake bob)) (not (at bob hall))) is false",
        ),
        (
            "sneak lupin lobby vault",
            "step 1 (sneak lupin lobby vault): precondition "
            "(or (door lobby vault) (door vault lobby)) is false",
        ),
        (
            "lull,sneak lupin lobby hall,grab lupin bust hall,grab lupin mona hall",
            "step 4 (grab lupin mona hall): precondition (at mona hall) is false",
        ),
        (
            "lull,sneak lupin lobby hall,grab lupin bust hall,grab lupin bust hall",
            "step 4 (grab lupin bust hall): precondition (not (carries lupin bust)) is false",
        ),
        (
            "sneak bob lobby hall",
            "step 1 (sneak bob lobby hall): "
            "'bob' has type guard, but parameter ?t needs type thief",
        ),
        (
            "lull,sneak lupin lobby hall,sneak lupin hall vault,grab lupin mona vault,"
            "sneak lupin vault hall,sneak lupin hall lobby",
            "the goal is not reached: (not (alarm)) is false after the last step",
        ),
    ],
)
def test_wrong_adl_plans_name_the_violated_part(museum: Problem, plan: str, reason: str) -> None:
    verdict = validate(museum, steps_of(plan))
    assert (verdict.valid, verdict.reason) == (False, reason)


def test_cost_of_a_wrong_plan_is_that_of_its_good_start(parcels: Problem) -> None:
    verdict = validate(parcels, steps_of("drive van north south,drive van north south"))
    assert (verdict.step, verdict.cost) == (2, 11.25)


def test_an_action_whose_cost_has_no_value(parcels: Problem) -> None:
    verdict = validate(parcels, steps_of("drive van north south"))
    assert verdict.step is None
    problem = parse_texts(
        "(define (domain d) (:functions (f ?x)) "
        "(:action a :parameters (?x) :effect (increase (total-cost) (f ?x))))",
        "(define (problem p) (:domain d) (:objects o) (:init) (:goal ()) "
        "(:metric minimize (total-cost)))",
    )
    verdict = validate(problem, [("a", "o")])
    assert verdict.reason == "step 1 (a o): its cost (f o) has no value in :init"


def test_effects_are_simultaneous_and_adding_wins() -> None:
    problem = parse_texts(
        """(define (domain d) (:predicates (p) (q) (r))
        (:action swap :effect (and (when (p) (and (q) (not (p)))) (when (q) (and (p) (not (q))))))
        (:action both :effect (and (r) (not (r)))))""",
        "(define (problem x) (:domain d) (:init (p)) (:goal (and (q) (not (p)) (r))))",
    )
    assert validate(problem, [("swap",), ("both",)]).valid
    verdict = validate(problem, [("swap",), ("swap",), ("both",)])
    assert verdict.reason == "the goal is not reached: (q) is false after the last step"


QUANTIFIERS = """(define (domain d) (:predicates (edge ?x ?y) (red ?x))
    (:action paint :parameters (?x) :effect (red ?x))
    (:action check :parameters (?x)
      :precondition (forall (?y) (exists (?z) (or (edge ?y ?z) (and (= ?y ?x) (red ?z)))))))"""


def test_nested_quantifiers() -> None:
    problem = parse_texts(
        QUANTIFIERS,
        "(define (problem x) (:domain d) (:objects a b c) (:init (edge a b) (edge b c))"
        "(:goal (forall (?x) (imply (exists (?y) (edge ?x ?y)) (red ?x)))))",
    )
    verdict = validate(problem, steps_of("check c"))
    assert verdict.reason == (
        "step 1 (check c): precondition "
        "(exists (?z - object) (or (edge c ?z) (and (= c c) (red ?z)))) is false"
    )
    verdict = validate(problem, steps_of("paint a,check c"))
    assert verdict.reason == (
        "the goal is not reached: (or (not (exists (?y - object) (edge b ?y))) (red b)) "
        "is false after the last step"
    )
    assert validate(problem, steps_of("paint a,check c,paint b")).valid


def test_quantifying_over_no_objects() -> None:
    domain = "(define (domain d) (:types t) (:predicates (p ?x - t)))"
    problem = "(define (problem x) (:domain d) (:init) (:goal (forall (?x - t) (p ?x))))"
    assert validate(parse_texts(domain, problem), []).valid
    problem = problem.replace("forall", "exists")
    assert not validate(parse_texts(domain, problem), []).valid


def test_deeply_nested_conditions_do_not_exhaust_the_stack() -> None:
    depth = MAX_DEPTH - 5
    goal = "(imply " * depth + "(p)" + " (q))" * depth
    quantified = "(not (exists (?x) " * (depth // 2) + "(p)" + "))" * (depth // 2)
    domain = "(define (domain d) (:predicates (p) (q)))"
    for text in (f"(not {goal})", goal, quantified, f"(not {quantified})"):
        problem = f"(define (problem x) (:domain d) (:objects o) (:init (q)) (:goal {text}))"
        verdict = validate(parse_texts(domain, problem), [])
        assert verdict.valid or verdict.reason is not None


def test_reasons_are_one_printable_line_and_not_endless(towers: Problem) -> None:
    verdict = validate(towers, [("x\ny",)])
    assert verdict.reason == "step 1 (x\\ny): the domain has no action 'x\\ny'"
    goal = " ".join(f"(on a {name})" for name in "abc" * 100)
    problem = parse_texts(
        "(define (domain d) (:predicates (on ?x ?y)))",
        f"(define (problem x) (:domain d) (:objects a b c) (:init) (:goal (or {goal})))",
    )
    reason = validate(problem, []).reason
    assert reason is not None
    assert len(reason) < 600
    assert validate(towers, [()]).valid is False

"""What the parser makes of correct files, and of the liberties that real files take."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_bad_pddl import DOMAIN, PROBLEM, parse_texts

from hstar.pddl import parse
from hstar.pddl.model import (
    FALSITY,
    TRUTH,
    And,
    Atom,
    Effect,
    Equal,
    Exists,
    Forall,
    Not,
    Or,
    Problem,
    Variable,
)

DATA = Path(__file__).parent.parent / "data"


@pytest.fixture(scope="module")
def museum() -> Problem:
    return parse(DATA / "adl" / "domain.pddl", DATA / "adl" / "problem.pddl")


def domain_with(old: str, new: str) -> Problem:
    assert DOMAIN.count(old) == 1
    return parse_texts(DOMAIN.replace(old, new))


def problem_with(old: str, new: str) -> Problem:
    assert PROBLEM.count(old) == 1
    return parse_texts(DOMAIN, PROBLEM.replace(old, new))


def precondition_of(text: str) -> object:
    return domain_with("(at ?x ?p)\n", f"{text}\n").domain.actions[0].precondition


def test_names_are_lower_cased(museum: Problem) -> None:
    assert (museum.name, museum.domain.name) == ("heist", "museum")
    assert ("at", "bob", "hall") in museum.init


def test_types(museum: Problem) -> None:
    domain = museum.domain
    assert domain.types["object"] == ()
    assert domain.types["relic"] == ("painting", "statue")
    assert domain.types["fixture"] == ("object",)  # only ever named as a supertype
    assert domain.type_tree.subtypes("item") == {"item", "painting", "statue", "relic"}
    assert domain.type_tree.subtypes("object") == set(domain.types)


def test_objects_come_in_file_order_constants_first(museum: Problem) -> None:
    names = ["vault", "lobby", "mona", "lupin", "bob", "hall", "bust", "amulet", "bulb"]
    assert list(museum.objects) == names
    assert museum.objects_of(("room",)) == ["vault", "lobby", "hall"]
    assert museum.objects_of(("painting",)) == ["mona", "amulet"]
    assert museum.objects_of(("guard", "lamp")) == ["bob", "bulb"]
    assert museum.objects_of(("object",)) == names


def test_action_with_every_kind_of_condition_and_effect(museum: Problem) -> None:
    sneak = museum.domain.actions[0]
    guard, item = Variable("?g", ("guard",)), Variable("?i", ("item",))
    carried = Atom("carries", ("?t", "?i"))
    assert [variable.name for variable in sneak.parameters] == ["?t", "?from", "?to"]
    assert sneak.precondition == And(
        (
            Atom("at", ("?t", "?from")),
            Or((Atom("door", ("?from", "?to")), Atom("door", ("?to", "?from")))),
            Not(Equal("?from", "?to")),
            Forall((guard,), Or((Not(Atom("awake", ("?g",))), Not(Atom("at", ("?g", "?to")))))),
        )
    )
    assert sneak.effects == (
        Effect((), TRUTH, Atom("at", ("?t", "?to")), True),
        Effect((), TRUTH, Atom("at", ("?t", "?from")), False),
        Effect((item,), carried, Atom("at", ("?i", "?to")), True),
        Effect((item,), carried, Atom("at", ("?i", "?from")), False),
    )
    assert sneak.cost == (Atom("effort", ("?from", "?to")), 0.5)


def test_actions_may_lack_parameters_precondition_and_cost(museum: Problem) -> None:
    lull = museum.domain.actions[3]
    assert (lull.parameters, lull.precondition, lull.cost) == ((), TRUTH, ())
    assert museum.domain.actions[2].precondition == TRUTH


def test_init_and_function_values(museum: Problem) -> None:
    assert museum.init[0] == ("at", "lupin", "lobby")
    assert ("alarm",) not in museum.init
    assert museum.function_values[("effort", "hall", "vault")] == 3.5
    assert museum.uses_metric


def test_whole_numbers_are_ints_however_written() -> None:
    problem = parse(DATA / "costs" / "domain.pddl", DATA / "costs" / "problem.pddl")
    value = problem.function_values[("length", "south", "north")]
    assert (value, type(value)) == (12, int)
    assert problem.domain.actions[0].cost[1:] == (Atom("toll", ()), 1)


def test_goal_and_its_pddl(museum: Problem) -> None:
    assert isinstance(museum.goal, And)
    assert isinstance(museum.goal.parts[0], Exists)
    assert str(museum.goal) == (
        "(and (exists (?t - thief) (and (at ?t lobby) (carries ?t mona))) (not (alarm)))"
    )


@pytest.mark.parametrize(
    "text", ["()", "(and)", "(and (and) ())", "(not (or))", "(imply (or) (free))"]
)
def test_true_conditions(text: str) -> None:
    assert precondition_of(text) == TRUTH
    assert problem_with("(and (free))", text).goal == TRUTH


@pytest.mark.parametrize("text", ["(or)", "(not (and))", "(and (free) (or))", "(exists (?z) (or))"])
def test_false_conditions(text: str) -> None:
    assert precondition_of(text) == FALSITY


def test_nested_conditions_are_flattened() -> None:
    free, at = Atom("free", ()), Atom("at", ("?x", "?p"))
    assert precondition_of("(and (free) (and (at ?x ?p) (and)))") == And((free, at))
    assert precondition_of("(or (or (free)) (at ?x ?p))") == Or((free, at))
    assert precondition_of("(and (not (not (free))))") == free
    assert precondition_of("(forall () (free))") == free
    assert precondition_of("(= ?x ?x)") == TRUTH


def test_a_variable_bound_again_is_renamed() -> None:
    inner = Variable("?x.2", ("cube",))
    expected = Exists((inner,), Atom("on", ("?x.2", "?x.2")))
    assert precondition_of("(exists (?x - cube) (on ?x ?x))") == expected
    twice = precondition_of("(exists (?x) (and (on ?x ?x) (exists (?x) (on ?x ?x))))")
    assert "(on ?x.2 ?x.2)" in str(twice)
    assert "(on ?x.3 ?x.3)" in str(twice)


def test_nested_effects_are_flattened() -> None:
    effect = "(forall (?a - block) (when (free) (forall (?b) (when (on ?a ?b) (not (on ?a ?b))))))"
    problem = domain_with("(not (at ?x ?p))", effect)
    both = And((Atom("free", ()), Atom("on", ("?a", "?b"))))
    variables = (Variable("?a", ("block",)), Variable("?b", ("object",)))
    expected = (Effect(variables, both, Atom("on", ("?a", "?b")), False),)
    assert problem.domain.actions[0].effects == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(:types", "(:requirements :numeric-fluents :derived-predicates :fluents) (:types"),
        ("(:types", "(:requirements) (:types"),
        ("block place - object cube", "object block place - object cube"),
        ("block place - object cube", "object - object block place - object cube"),
        ("cube - block", "cube - (either block place)"),
        ("cube - block", "cube - block cube - toy"),  # a second parent
        ("(free))", "(free) (= ?x ?y))"),
        ("(free))", "(free) (pair ?x ?x))"),
        ("(free))", "(free) (1-2_x@#.$% ?a) (-x))"),
        ("(at ?x ?p)\n", "(at?x?p)\n"),  # no spaces before the variables
        ("(:functions (total-cost) - number", "(:functions"),
        ("(increase (total-cost) (dist ?p k))", "(increase (total-cost) .5)"),
        ("(increase (total-cost) (dist ?p k))", "(increase total-cost 2.0)"),
        ("(:action a", "(:action a-2) (:action a"),
        (":effect (and", ":effect (and ()"),
    ],
)
def test_liberties_of_domain_files(old: str, new: str) -> None:
    assert domain_with(old, new).domain.name == "d"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(:domain d)", "(:domain another)"),
        ("(:domain d)", "(:domain d) (:requirements :strips) (:length (:serial 3) (:parallel 2))"),
        ("here - place", "here k - place"),  # k is a constant already
        ("(on b1 b2)", "(on b1 b2) (on b1 b2)"),
        ("(on b1 b2)", "(on B1 b2) (not (on b2 b1))"),
        ("(= (dist here k) 3)", "(= (dist here k) 3) (= (dist here k) 3.0)"),
        ("(= (dist here k) 3)", "(= total-cost 0)"),
        ("(total-cost)", "total-cost"),
        ("(and (free))", "(forall (?b - block) (on ?b b1))"),
    ],
)
def test_liberties_of_problem_files(old: str, new: str) -> None:
    problem = problem_with(old, new)
    assert problem.init == [("on", "b1", "b2"), ("at", "c1", "here")]
    assert problem.uses_metric


def test_a_problem_may_have_no_objects_and_no_metric() -> None:
    problem = parse_texts(DOMAIN, "(define (problem p) (:domain d) (:init) (:goal ()))")
    assert problem.objects == {"k": ("place",)}
    assert (problem.init, problem.goal, problem.uses_metric) == ([], TRUTH, False)


def test_minimising_time_means_counting_steps() -> None:
    assert not problem_with("(total-cost)", "(total-time)").uses_metric


def test_sections_may_come_in_any_order() -> None:
    sections = DOMAIN.split("\n(:")
    actions_first = "\n(:".join([sections[0], *reversed(sections[1:-1])])
    text = actions_first + "\n(:" + sections[-1]
    assert list(parse_texts(text).domain.types) == ["object", "block", "place", "cube"]
    problem = "(define (problem p) (:goal (free)) (:init (on x x)) (:objects x) (:domain d))"
    untyped = "(define (domain d) (:action a :effect (free)) (:predicates (free) (on ?a ?b)))"
    assert parse_texts(untyped, problem).init == [("on", "x", "x")]


def test_negative_values_of_functions_that_are_no_costs() -> None:
    problem = parse_texts(
        DOMAIN.replace("(:functions", "(:functions (temperature)"),
        PROBLEM.replace("(on b1 b2)", "(= (temperature) -5)"),
    )
    assert problem.function_values[("temperature",)] == -5


def test_huge_arity() -> None:
    variables = " ".join(f"?v{number}" for number in range(5000))
    domain = f"(define (domain d) (:predicates (wide {variables})))"
    problem = f"""(define (problem p) (:domain d) (:objects a)
                  (:init (wide {"a " * 5000})) (:goal (wide {"a " * 5000})))"""
    assert len(parse_texts(domain, problem).init[0]) == 5001


def test_a_long_chain_of_types() -> None:
    chain = " ".join(f"t{number} - t{number + 1}" for number in range(20_000))
    domain = parse_texts(
        f"(define (domain d) (:types {chain}) (:predicates (p ?x - t9)))",
        "(define (problem p) (:domain d) (:objects o - t0) (:init (p o)) (:goal (p o)))",
    ).domain
    assert len(domain.type_tree.subtypes("t20000")) == 20_001

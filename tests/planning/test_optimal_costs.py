"""Tasks with known optimal costs that are easy to get wrong, each for a reason of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

import hstar

# A conditional delete does harm only while its condition holds: an operator that merely deletes the
# condition is relevant, although it adds nothing.
HARMFUL_CONDITION = (
    """(define (domain d) (:predicates (p) (q) (c))
     (:action a :parameters () :effect (and (q) (when (c) (not (p)))))
     (:action b :parameters () :effect (not (c))))""",
    "(define (problem x) (:domain d) (:init (p) (c)) (:goal (and (p) (q))))",
    2,
)
# The condition of an add turns out to be always true, and the add must still win over the delete of
# another value of the same variable.
CONSTANT_CONDITION = (
    """(define (domain d) (:constants a b c)
     (:predicates (at ?x) (ok ?x) (loc ?x) (conn ?x ?y) (done))
     (:action mv :parameters (?x ?y) :precondition (and (conn ?x ?y) (at ?x))
      :effect (and (not (at ?x)) (when (ok a) (at ?y))))
     (:action mk :parameters (?x) :precondition (loc ?x) :effect (ok ?x))
     (:action fin :parameters () :precondition (and (at b) (ok b)) :effect (done)))""",
    """(define (problem x) (:domain d)
     (:init (loc a) (loc b) (loc c) (conn a b) (conn b c) (conn c a) (at a) (ok a))
     (:goal (done)))""",
    3,
)
# Values beyond 2^24 do not fit a float exactly and must be rounded down.
LARGE_COSTS = (
    """(define (domain d) (:predicates (i) (s) (g)) (:functions (total-cost))
     (:action first :parameters () :precondition (i)
      :effect (and (not (i)) (s) (increase (total-cost) 1)))
     (:action second :parameters () :precondition (s)
      :effect (and (not (s)) (g) (increase (total-cost) 20000003)))
     (:action direct :parameters () :precondition (i)
      :effect (and (not (i)) (g) (increase (total-cost) 20000005))))""",
    """(define (problem x) (:domain d) (:init (i) (= (total-cost) 0)) (:goal (g))
     (:metric minimize (total-cost)))""",
    20000004,
)
# An atom that repeats one object in twelve places lines up with a parameter list in 12! ways.
REPEATED_OBJECT = (
    f"""(define (domain d) (:constants a)
     (:predicates (p {" ".join(f"?x{i}" for i in range(12))})
                  (q {" ".join(f"?x{i}" for i in range(12))}))
     (:action f :parameters () :precondition (p {"a " * 12})
      :effect (and (not (p {"a " * 12})) (q {"a " * 12})))
     (:action b :parameters () :precondition (q {"a " * 12})
      :effect (and (not (q {"a " * 12})) (p {"a " * 12}))))""",
    f"(define (problem x) (:domain d) (:init (p {'a ' * 12})) (:goal (q {'a ' * 12})))",
    1,
)


@pytest.mark.parametrize("heuristic", ["blind", "hmax", "lmcut"])
@pytest.mark.parametrize("keep_irrelevant", [False, True])
@pytest.mark.parametrize(
    "texts",
    [HARMFUL_CONDITION, CONSTANT_CONDITION, LARGE_COSTS, REPEATED_OBJECT],
    ids=["harmful-condition", "constant-condition", "large-costs", "repeated-object"],
)
def test_astar_finds_the_optimum(
    tmp_path: Path, texts: tuple[str, str, int], heuristic: str, keep_irrelevant: bool
) -> None:
    domain, problem, cost = texts
    (tmp_path / "domain.pddl").write_text(domain)
    (tmp_path / "problem.pddl").write_text(problem)
    result = hstar.plan(
        tmp_path / "domain.pddl",
        tmp_path / "problem.pddl",
        heuristic,
        "astar",
        keep_irrelevant=keep_irrelevant,
    )
    assert result.plan_cost == cost

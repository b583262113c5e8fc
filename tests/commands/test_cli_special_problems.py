"""Problems that are right but special: without a plan, with nothing to do, with odd names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hard_tasks import write_task
from program import hstar

MOVES = """(define (domain moves) (:requirements :strips)
(:predicates (at ?x) (road ?x ?y) (won) (never))
(:action move :parameters (?x ?y) :precondition (and (at ?x) (road ?x ?y))
  :effect (and (at ?y) (not (at ?x)))))
"""


def moves_problem(goal: str, objects: str = "a b c", init: str = "(at a) (road a b)") -> str:
    return (
        f"(define (problem m) (:domain moves) (:objects {objects})\n"
        f"(:init {init}) (:goal {goal}))\n"
    )


UNSOLVABLE = {
    "unreachable": moves_problem("(at c)"),
    "mutex": moves_problem("(and (at a) (at b))"),
    "one way": moves_problem("(and (at a) (not (at a)))"),
    "static": moves_problem("(road b a)"),
    "never added": moves_problem("(never)"),
    "equal": moves_problem("(= a b)"),
    "empty or": moves_problem("(or)"),
    "exists over nothing": moves_problem("(exists (?x) (at ?x))", objects="", init=""),
    "no init": moves_problem("(at b)", init=""),
    "forall": moves_problem("(forall (?x) (at ?x))"),
}
FLAGS = [(), ("-s", "astar"), ("-s", "gbfls", "-H", "goalcount")]


@pytest.mark.parametrize("name", UNSOLVABLE)
def test_unsolvable(name: str, tmp_path: Path) -> None:
    write_task(tmp_path, MOVES, UNSOLVABLE[name])
    for flags in FLAGS:
        outcome = hstar("plan", "problem.pddl", *flags, cwd=tmp_path)
        assert (outcome.code, outcome.err) == (11, ""), flags
        assert "\nNo plan: unsolvable.\n" in outcome.out
        assert not (tmp_path / "sas_plan").exists()


TRIVIAL = {
    "()": moves_problem("()"),
    "(and)": moves_problem("(and)"),
    "true at once": moves_problem("(at a)"),
    "forall over nothing": moves_problem("(forall (?x) (at ?x))", objects="", init=""),
    "no objects": moves_problem("(and)", objects="", init=""),
    "not": moves_problem("(not (never))"),
    "99 nots": moves_problem("(not " * 90 + "(at a)" + ")" * 90),
}


@pytest.mark.parametrize("name", TRIVIAL)
def test_nothing_to_do(name: str, tmp_path: Path) -> None:
    """The empty plan is a plan; its file is written like any other."""
    domain, problem = write_task(tmp_path, MOVES, TRIVIAL[name])
    for flags in FLAGS:
        plan = tmp_path / "plan"
        outcome = hstar("plan", problem, "--json", "--plan-file", plan, *flags)
        assert (outcome.code, outcome.err) == (0, ""), flags
        result = json.loads(outcome.out)
        assert (result["plan"], result["plan_cost"], result["plan_length"]) == ([], 0, 0)
        assert plan.read_text() == "; cost = 0 (unit cost)\n"
        plan.unlink()
    assert hstar("info", problem).code == 0
    (tmp_path / "plan").write_text("")
    assert hstar("validate", domain, problem, tmp_path / "plan").code == 0


@pytest.mark.parametrize("arity", [300, 3000])
def test_huge_arity(arity: int, tmp_path: Path) -> None:
    """Every parameter of action, predicate and atom counts, even three thousand."""
    variables = " ".join(f"?x{i}" for i in range(arity))
    domain = (
        f"(define (domain wide) (:predicates (wide {variables}) (won))\n"
        f"(:action win :parameters ({variables}) :precondition (wide {variables}) :effect (won)))"
    )
    problem = (
        "(define (problem w) (:domain wide) (:objects a b)\n"
        f"(:init (wide {'a b ' * (arity // 2)})) (:goal (won)))"
    )
    write_task(tmp_path, domain, problem)
    outcome = hstar("plan", "problem.pddl", cwd=tmp_path)
    assert (outcome.code, outcome.err) == (0, "")
    assert (tmp_path / "sas_plan").read_text().count("a b") == arity // 2


def test_names_outside_of_ascii_print_on_any_terminal(tmp_path: Path) -> None:
    write_task(tmp_path, MOVES, moves_problem("(at ü)", "a ü", "(at a) (road a ü)"))
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    outcome = hstar("plan", "problem.pddl", cwd=tmp_path, changes=ascii_only)
    assert (outcome.code, outcome.err) == (0, "")
    assert "(move a \\xfc)" in outcome.out
    assert "(move a ü)" in (tmp_path / "sas_plan").read_text(encoding="utf-8")


def test_the_old_plan_file_survives_a_run_without_plan(tmp_path: Path) -> None:
    write_task(tmp_path, MOVES, UNSOLVABLE["unreachable"])
    (tmp_path / "sas_plan").write_text("precious")
    assert hstar("plan", "problem.pddl", cwd=tmp_path).code == 11
    assert (tmp_path / "sas_plan").read_text() == "precious"

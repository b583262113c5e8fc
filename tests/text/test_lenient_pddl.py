"""Files that break a rule but have a clear meaning are read, with a warning on stderr.

Fast Downward's translator accepts each of them too.
"""

from __future__ import annotations

from pathlib import Path

import downward
import pytest
from hard_tasks import write_task
from program import hstar

DOMAIN = """(define (domain wood) (:requirements :typing :action-costs)
(:types part board - object TYPES)
(:constants chip - part)
(:predicates (cut ?x - part) (dry ?x - board) (done ?x - part) PREDICATES)
(:functions (total-cost) - number (price ?x - part) - number FUNCTIONS)
(:action finish :parameters (?x - part)
 :precondition (and (cut ?x) CONDITION)
 :effect (and (done ?x) (increase (total-cost) (price ?x)))))
"""
PROBLEM = """(define (problem wood) (:domain wood)
(:objects leg - part plank - board)
(:init (cut leg) (= (total-cost) 0) (= (price leg) 2) INIT)
(:goal (and (done leg) GOAL)) (:metric minimize (total-cost)))
"""
PLACES = ("TYPES", "PREDICATES", "FUNCTIONS", "CONDITION", "INIT", "GOAL")
WRONG_TYPE = "wrong type: 'plank' has type board, but argument 1 of "

CASES = [
    ({"INIT": "(cut plank)"}, [f"problem.pddl:3:60: {WRONG_TYPE}'cut' needs type part"]),
    ({"INIT": "(cut plank) (cut plank)"}, ["problem.pddl:3:60: wrong type: "]),
    ({"INIT": "(not (cut plank))"}, [f"problem.pddl:3:65: {WRONG_TYPE}'cut'"]),
    ({"GOAL": "(not (cut plank))"}, [f"problem.pddl:4:34: {WRONG_TYPE}'cut'"]),
    ({"INIT": "(= (price plank) 3)"}, [f"problem.pddl:3:65: {WRONG_TYPE}'price'"]),
    ({"CONDITION": "(not (dry chip))"}, ["domain.pddl:7:40: wrong type: 'chip' has type part"]),
    ({"TYPES": "part - object"}, ["domain.pddl:2:29: type 'part' is declared twice"]),
    ({"PREDICATES": "(cut ?y - part)"}, ["domain.pddl:4:64: predicate 'cut' is declared twice"]),
    (
        {"FUNCTIONS": "(price ?x - part) - number"},
        ["domain.pddl:5:62: function 'price' is declared twice"],
    ),
    ({"INIT": "(= (rent leg) 3)"}, ["problem.pddl:3:58: unknown function 'rent'"]),
]


def write(folder: Path, changes: dict[str, str]) -> tuple[Path, Path]:
    domain, problem = DOMAIN, PROBLEM
    for place in PLACES:
        domain = domain.replace(place, changes.get(place, ""))
        problem = problem.replace(place, changes.get(place, ""))
    return write_task(folder, domain, problem)


@pytest.mark.parametrize(("changes", "expected"), CASES)
def test_lenient(changes: dict[str, str], expected: list[str], tmp_path: Path) -> None:
    _, problem = write(tmp_path, changes)
    plan = tmp_path / "plan"
    outcome = hstar("plan", problem, "--plan-file", plan)
    assert outcome.code == 0, outcome.err
    lines = outcome.err.splitlines()
    assert len(lines) == len(expected)
    for line, text in zip(lines, expected, strict=True):
        assert line.startswith(f"hstar: warning: {tmp_path}/{text}"), line
    assert plan.read_text() == "(finish leg)\n; cost = 2 (general cost)\n"


@pytest.mark.parametrize("changes", [changes for changes, _ in CASES])
def test_fast_downward_is_lenient_too(changes: dict[str, str], tmp_path: Path) -> None:
    reason = downward.why_unavailable()
    if reason is not None:
        pytest.skip(reason)
    assert downward.translate(*write(tmp_path, changes), tmp_path).operators == 1


def test_wrong_types_do_not_make_actions_applicable(tmp_path: Path) -> None:
    """The atom is true, but no part: the action does not take it."""
    _, problem = write(
        tmp_path, {"INIT": "(cut plank) (= (price plank) 1)", "GOAL": "(done plank)"}
    )
    outcome = hstar("plan", problem, "--plan-file", tmp_path / "plan")
    assert outcome.code == 11, outcome.err


def test_other_declarations_are_refused(tmp_path: Path) -> None:
    _, problem = write(tmp_path, {"PREDICATES": "(cut ?y - board)"})
    outcome = hstar("plan", problem)
    assert outcome.code == 31
    assert "predicate 'cut' is declared twice" in outcome.err

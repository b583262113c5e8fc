"""Plans that are wrong, and files that are no plans."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from case_tables import table
from pddl_mistakes import DOMAIN, PLAN, STEPS
from program import check_one_line, hstar

NOISE = random.Random(1).randbytes(100_000)
WRONG_PLANS = table("""
empty | | the goal is not reached: (at box north) is false after the last step
unknown action | (fly van) | step 1 (fly van): the domain has no action 'fly'
too few arguments | (drive van) | step 1 (drive van): action 'drive' takes 3 arguments
unknown object | (drive car north south) | the problem has no object 'car'
wrong type | (drive box north south) | 'box' has type parcel, but parameter ?v needs
inapplicable | (drive van south north) | precondition (at van south) is false
""")
WRONG_PLANS += [
    ("inapplicable later", STEPS[0] * 2, "step 2 (drive van north south): precondition"),
    ("too short", "".join(STEPS[:3]), "the goal is not reached: (at box north) is false"),
    ("too long", PLAN + STEPS[3], "step 5 (unload box van north): precondition (in box van)"),
]


@pytest.mark.parametrize(("name", "text", "says"), WRONG_PLANS, ids=[row[0] for row in WRONG_PLANS])
def test_wrong_plan(name: str, text: str, says: str, parcels: Path) -> None:
    """A verdict is a result: it goes to stdout."""
    (parcels / "plan").write_text(text)
    outcome = hstar("validate", "domain.pddl", "problem.pddl", "plan", cwd=parcels)
    assert (outcome.code, outcome.err) == (1, ""), outcome
    assert outcome.out.startswith("Plan invalid: ")
    assert outcome.out.count("\n") == 1
    assert says in outcome.out
    assert outcome.out.count("step 1 ") <= 1


NO_PLANS: list[tuple[str, bytes, str]] = [
    ("rubbish", b"Solution found!\n", "plan:1:1: found 'solution' outside of a step"),
    ("a PDDL file", DOMAIN.encode(), "plan:2:9: '(' inside a step"),
    ("unclosed", b"(drive van north south\n", "plan:1:1: this '(' is never closed"),
    ("closed twice", b"(drive van north south))\n", "plan:1:24: ')' without a '('"),
    ("nested", b"((drive))", "plan:1:2: '(' inside a step"),
    ("nameless", b"()", "plan:1:1: a step without an action name"),
    ("binary", NOISE, "a NUL byte"),
    ("escape sequences", b"\x1b[2J", "plan:1:1: found '\\x1b[2j'"),
]


@pytest.mark.parametrize(("name", "content", "says"), NO_PLANS, ids=[row[0] for row in NO_PLANS])
def test_no_plan(name: str, content: bytes, says: str, parcels: Path) -> None:
    (parcels / "plan").write_bytes(content)
    outcome = hstar("validate", "domain.pddl", "problem.pddl", "plan", cwd=parcels)
    check_one_line(outcome, 31, says)

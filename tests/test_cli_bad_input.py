"""Whatever is wrong with the input, the program says so in one line and exits with its code.

The parser's messages have tests of their own; here the whole program runs, as a user runs it.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from program import COMMAND, DATA, SECONDS, Argument, Outcome, environment, hstar

DOMAIN = (DATA / "costs" / "domain.pddl").read_text()
PROBLEM = (DATA / "costs" / "problem.pddl").read_text()
STEPS = [
    "(drive van north south)\n",
    "(load box van south)\n",
    "(drive van south north)\n",
    "(unload box van north)\n",
]
PLAN = "".join(STEPS)


def check_one_line(outcome: Outcome, code: int, *parts: str) -> None:
    """One line on stderr with all the parts, that exit code, and no trace of a crash."""
    assert outcome.code == code, outcome
    assert outcome.err.count("\n") == 1, outcome.err
    assert outcome.err.endswith("\n")
    assert re.match(r"hstar( plan| validate| info)?: \S", outcome.err), outcome.err
    assert len(outcome.err) < 600
    for part in parts:
        assert part in outcome.err
    assert "Traceback" not in outcome.out + outcome.err


@dataclass(frozen=True)
class Mistake:
    """A text put in the place of another, and what the program says about it.

    `old` stands in exactly one of DOMAIN and PROBLEM. `needs_grounding`: the mistake shows only
    when the problem is grounded, so the validator, which does not ground, need not see it.
    """

    name: str
    old: str
    new: str
    code: int
    says: tuple[str, ...]
    needs_grounding: bool = False

    def apply(self) -> tuple[str, str]:
        assert DOMAIN.count(self.old) + PROBLEM.count(self.old) == 1, self.name
        return DOMAIN.replace(self.old, self.new), PROBLEM.replace(self.old, self.new)


LOAD_EFFECT = "(in ?p ?v) (not (at ?p ?t)) (increase"
LOAD_PRECONDITION = "(and (at ?p ?t) (at ?v ?t))"
GOAL = "(at box north))\n"


def nested(depth: int) -> str:
    return "(not " * depth + "(at box north)" + ")" * depth


MISTAKES = [
    # Parentheses.
    Mistake("missing )", "(increase (total-cost) 2)))", "(increase (total-cost) 2))", 31,
            ("domain.pddl:16:3: ", "'(:action' begins inside the section of 12:3")),
    Mistake("missing last )", "(total-cost)))\n", "(total-cost))\n", 31,
            ("problem.pddl:1:1: ", "this '(' is never closed")),
    Mistake("extra )", "(total-cost)))\n", "(total-cost))))\n", 31,
            ("problem.pddl:8:35: ", "after the ')' that closes '(define'")),
    Mistake("deeply nested", GOAL, nested(5000) + ")\n", 31,
            ("problem.pddl:7:", "nested more than 100 deep")),
    # Names that are not declared, or declared twice.
    Mistake("unknown type", "box - parcel", "box - parcell", 31,
            ("problem.pddl:3:", "unknown type 'parcell'")),
    Mistake("unknown object in goal", GOAL, "(at bax north))\n", 31,
            ("problem.pddl:7:14: ", "unknown object 'bax'")),
    Mistake("unknown object in init", "(at van north)", "(at car north)", 31,
            ("problem.pddl:4:14: ", "unknown object 'car'")),
    Mistake("unknown predicate in goal", GOAL, "(ta box north))\n", 31,
            ("problem.pddl:7:11: ", "unknown predicate 'ta'")),
    Mistake("unknown predicate in effect", LOAD_EFFECT, "(inn ?p ?v) (increase", 31,
            ("domain.pddl:15:19: ", "unknown predicate 'inn'")),
    Mistake("unknown variable", LOAD_PRECONDITION, "(at ?p ?where)", 31,
            ("domain.pddl:14:26: ", "unknown variable '?where'")),
    Mistake("unknown function in cost", "(increase (total-cost) 2)",
            "(increase (total-cost) (fee))", 31, ("domain.pddl:15:", "unknown function 'fee'")),
    Mistake("unknown function in init", "(= (toll) 0.25)", "(= (tol) 0.25)", 31,
            ("problem.pddl:5:", "unknown function 'tol'")),
    Mistake("unknown section", "(:objects", "(:object", 31,
            ("problem.pddl:3:", "unknown section ':object'")),
    Mistake("duplicate object", "van - truck", "van van - truck", 31,
            ("problem.pddl:3:17: ", "object 'van' is declared twice")),
    Mistake("duplicate action", "(:action load", "(:action drive", 31,
            ("domain.pddl:12:12: ", "action 'drive' is declared twice")),
    Mistake("duplicate predicate", "(road ?from ?to - town)", "(at ?x) (road ?x ?y)", 31,
            ("domain.pddl:5:", "predicate 'at' is declared twice")),
    Mistake("duplicate parameter", "(?p - parcel ?v - truck ?t - town)\n    :precondition (and (at",
            "(?p - parcel ?p - truck ?t - town)\n    :precondition (and (at", 31,
            ("domain.pddl:13:", "variable '?p' is declared twice")),
    Mistake("two values for one cost", "(= (toll) 0.25)", "(= (toll) 0.25) (= (toll) 1)", 31,
            ("problem.pddl:5:", "two values")),
    # Types and arities.
    Mistake("cyclic types", "town thing - object", "town - object thing - parcel", 31,
            ("domain.pddl:4:", "types form a cycle")),
    Mistake("too few arguments", GOAL, "(at box))\n", 31,
            ("problem.pddl:7:", "'at' takes 2 arguments, not 1")),
    Mistake("300 arguments", GOAL, f"(at {'box ' * 300}))\n", 31,
            ("problem.pddl:7:", "'at' takes 2 arguments, not 300")),
    # Costs.
    Mistake("negative cost", "(increase (total-cost) 2)", "(increase (total-cost) -2)", 31,
            ("domain.pddl:15:", "negative cost -2")),
    Mistake("negative cost in init", "(= (toll) 0.25)", "(= (toll) -0.25)", 31,
            ("problem.pddl:5:", "negative cost -0.25")),
    Mistake("cost is no number", "(= (toll) 0.25)", "(= (toll) 1e12)", 31,
            ("problem.pddl:5:", "expected a number, found '1e12'")),
    Mistake("cost of twenty digits", "(= (toll) 0.25)", f"(= (toll) {'9' * 20})", 31,
            ("problem.pddl:5:", "too large")),
    Mistake("cost of 10^12", "(= (toll) 0.25)", "(= (toll) 1000000000000)", 31,
            ("problem.pddl: ", "times the smallest unit of all costs"), needs_grounding=True),
    Mistake("sum of costs too large", "(increase (total-cost) 2)",
            f"(increase (total-cost) (+{' 9007199254740992' * 2000}))", 31,
            ("problem.pddl: ", "times the smallest unit of all costs"), needs_grounding=True),
    Mistake("seven decimals", "(= (toll) 0.25)", "(= (toll) 0.1234567)", 31,
            ("problem.pddl: ", "0.1234567", "too many decimals"), needs_grounding=True),
    Mistake("cost without a value", "(= (length south north) 12.0)", "", 31,
            ("problem.pddl: ", "the cost (length south north) has no value"), needs_grounding=True),
    # What hstar does not plan with.
    Mistake("axiom", "(:action load", "(:derived (road ?x ?y - town) (and)) (:action load", 34,
            ("domain.pddl:12:3: ", "axioms")),
    Mistake("durative action", "(:action load", "(:durative-action wait) (:action load", 34,
            ("domain.pddl:12:3: ", "durative actions")),
    Mistake("numeric condition", LOAD_PRECONDITION, "(> (toll) 3)", 34,
            ("domain.pddl:14:20: ", "numeric condition '>'")),
    Mistake("numeric effect", LOAD_EFFECT, "(increase (toll) 1) (increase", 34,
            ("domain.pddl:15:19: ", "numeric effect 'increase'")),
    Mistake("other metric", "(:metric minimize", "(:metric maximize", 34,
            ("problem.pddl:8:", "metric other than")),
    Mistake("exploding disjunction in the goal", GOAL,
            f"(and {'(or (at box north) (at box south))' * 12}))\n", 34,
            ("problem.pddl: ", "a condition of the goal", "disjuncts"), needs_grounding=True),
    Mistake("exploding disjunction in an action", LOAD_PRECONDITION,
            f"(and {'(or (at ?p ?t) (at ?v ?t))' * 12})", 34,
            ("problem.pddl: ", "a condition of action 'load'", "disjuncts"), needs_grounding=True),
    # Things in the wrong place.
    Mistake("problem instead of domain", "(define (domain parcels)", "(define (problem p)", 31,
            ("domain.pddl:2:9: ", "this is a problem file where a domain file is expected")),
    Mistake("no goal", f"(:goal {GOAL}", "", 31, ("problem.pddl:7:", "no '(:goal ...)' section")),
    Mistake("not PDDL", "(define (domain parcels)", "Dear all,", 31,
            ("domain.pddl:2:1: ", "'dear'")),
]  # fmt: skip


def write_files(folder: Path, domain: str | bytes, problem: str | bytes) -> tuple[Path, Path]:
    paths = folder / "domain.pddl", folder / "problem.pddl"
    for path, text in zip(paths, (domain, problem), strict=True):
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return paths


@pytest.fixture
def parcels(tmp_path: Path) -> Path:
    """A folder with a good domain and a good problem."""
    write_files(tmp_path, DOMAIN, PROBLEM)
    return tmp_path


def test_the_texts_that_the_mistakes_are_put_into_are_fine(parcels: Path) -> None:
    outcome = hstar("plan", "problem.pddl", cwd=parcels)
    assert (outcome.code, outcome.err) == (0, "")
    (parcels / "plan").write_text(PLAN)
    outcome = hstar("validate", "domain.pddl", "problem.pddl", "plan", cwd=parcels)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "Plan valid: 4 step(s), cost 26.5.\n"
    assert hstar("info", "problem.pddl", cwd=parcels).code == 0


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_mistakes_in_pddl(mistake: Mistake, tmp_path: Path) -> None:
    write_files(tmp_path, *mistake.apply())
    before = set(tmp_path.iterdir())
    planned = hstar("plan", "domain.pddl", "problem.pddl", cwd=tmp_path)
    check_one_line(planned, mistake.code, *mistake.says)
    assert set(tmp_path.iterdir()) == before, "a run without a plan leaves no files"
    if not mistake.needs_grounding:
        (tmp_path / "plan").write_text(PLAN)
        validated = hstar("validate", "domain.pddl", "problem.pddl", "plan", cwd=tmp_path)
        assert (validated.code, validated.err) == (planned.code, planned.err)


@pytest.mark.parametrize("mistake", [MISTAKES[0], MISTAKES[-8]], ids=lambda mistake: mistake.name)
def test_info_says_the_same(mistake: Mistake, tmp_path: Path) -> None:
    write_files(tmp_path, *mistake.apply())
    for arguments in (["info"], ["info", "--json"]):
        outcome = hstar(*arguments, "problem.pddl", cwd=tmp_path)
        check_one_line(outcome, mistake.code, *mistake.says)
        assert outcome.out == ""


# -- files that are no PDDL files at all

NOISE = random.Random(1).randbytes(100_000)
JUNK: list[tuple[str, bytes, tuple[str, ...]]] = [
    ("empty", b"", (":1:1: ", "the file is empty")),
    ("only comments", b"; nothing\n;\n", (":1:1: ", "empty or has only comments")),
    ("only spaces", b" \n\t\n" * 1000, (":1:1: ", "the file is empty")),
    ("NUL bytes", b"(define\n (\0)", (":2:3: ", "a NUL byte")),
    ("random bytes", NOISE, (":", "a NUL byte")),
    ("random bytes but NUL", NOISE.replace(b"\0", b""), (":", "is not valid UTF-8")),
    ("UTF-16", "(define (domain d))".encode("utf-16"), (":1:", "a NUL byte")),
    ("Latin-1 name", b"(define (domain caf\xe9))", (":1:20: ", "byte 0xe9 is not valid UTF-8")),
    ("escape sequences", b"(\x1b[31m\x07)", (":1:1: ", "\\x1b[31m\\x07")),
    ("one long word", b"x" * 10_000_000, (":1:1: ", "xxx...'")),
    ("many lines", b"\n" * 1_000_000 + b"x", (":1000001:1: ", "found 'x'")),
]  # fmt: skip


@pytest.mark.parametrize("role", ["domain", "problem"])
@pytest.mark.parametrize(("name", "content", "says"), JUNK, ids=[row[0] for row in JUNK])
def test_junk(name: str, content: bytes, says: tuple[str, ...], role: str, parcels: Path) -> None:
    (parcels / f"{role}.pddl").write_bytes(content)
    outcome = hstar("plan", "domain.pddl", "problem.pddl", cwd=parcels)
    check_one_line(outcome, 31, f"hstar: {role}.pddl", *says)
    assert outcome.err.isascii()


@pytest.fixture(scope="session")
def hundred_megabytes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Files of 100 MB of parentheses, removed afterwards."""
    folder = tmp_path_factory.mktemp("parentheses")
    paths = {}
    for number, unit in enumerate(("(", "()", ")", "(and ")):
        path = folder / f"{number}.pddl"
        with path.open("w") as file:
            for _ in range(100):
                file.write(unit * (1_000_000 // len(unit)))
        paths[unit] = path
    yield paths
    for path in paths.values():
        path.unlink()


@pytest.mark.parametrize("unit", ["(", "()", ")", "(and "])
def test_a_hundred_megabytes_of_parentheses(
    unit: str, hundred_megabytes: dict[str, Path], parcels: Path
) -> None:
    """Refused at the first wrong one, with little more memory than the text itself takes."""
    junk = hundred_megabytes[unit]
    outcome = hstar("plan", junk, "problem.pddl", "--overall-memory-limit", "600M", cwd=parcels)
    check_one_line(outcome, 31, f"{junk.name}:1:")


@pytest.mark.parametrize("unit", ["(", "()", "(and "])
def test_a_hundred_megabytes_of_parentheses_in_the_goal(
    unit: str, hundred_megabytes: dict[str, Path], parcels: Path
) -> None:
    with (parcels / "problem.pddl").open("w") as file:
        file.write(PROBLEM[: PROBLEM.index("(at box north))")])
        file.write(hundred_megabytes[unit].read_text())
    outcome = hstar("plan", "problem.pddl", "--overall-memory-limit", "600M", cwd=parcels)
    check_one_line(outcome, 31, "problem.pddl:7:")


def test_missing_files(parcels: Path) -> None:
    for arguments in (
        ["plan", "missing.pddl"],
        ["plan", "domain.pddl", "missing.pddl"],
        ["plan", "missing.pddl", "problem.pddl"],
        ["info", "missing.pddl"],
        ["validate", "missing.pddl", "problem.pddl", "plan"],
        ["validate", "domain.pddl", "missing.pddl", "plan"],
        ["validate", "domain.pddl", "problem.pddl", "missing.pddl"],
    ):
        outcome = hstar(*arguments, cwd=parcels)
        check_one_line(outcome, 31, "hstar: missing.pddl: there is no such file")


def test_directories_links_and_devices(parcels: Path) -> None:
    (parcels / "folder").mkdir()
    (parcels / "loop.pddl").symlink_to("loop.pddl")
    (parcels / "dangling.pddl").symlink_to("nowhere")
    for arguments, says in (
        (["plan", "folder"], "folder: this is a directory"),
        (["plan", "folder", "problem.pddl"], "folder: this is a directory"),
        (["plan", "domain.pddl", "folder"], "folder: this is a directory"),
        (["validate", "domain.pddl", "problem.pddl", "folder"], "folder: this is a directory"),
        (["plan", "domain.pddl", "loop.pddl"], "loop.pddl: cannot read the file"),
        (["plan", "loop.pddl"], "loop.pddl: "),
        (["plan", "domain.pddl", "dangling.pddl"], "dangling.pddl: there is no such file"),
        (["plan", "domain.pddl", "/dev/null"], "/dev/null:1:1: the file is empty"),
        (["plan", "domain.pddl", "/dev/zero"], "/dev/zero:1:1: a NUL byte"),
        (["plan", "domain.pddl", "problem.pddl/x"], "problem.pddl/x: "),
        (["plan", "domain.pddl", "x" * 300], "xxx: cannot read the file (File name too long)"),
        (["plan", ""], ""),
    ):
        check_one_line(hstar(*arguments, cwd=parcels), 31, says)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(parcels: Path) -> None:
    (parcels / "problem.pddl").chmod(0)
    outcome = hstar("plan", "domain.pddl", "problem.pddl", cwd=parcels)
    check_one_line(outcome, 31, "problem.pddl: no permission to read the file")


def test_no_domain_to_be_found(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b" / "c"
    folder.mkdir(parents=True)
    (folder / "p01.pddl").write_text(PROBLEM)
    outcome = hstar("plan", "p01.pddl", cwd=folder)
    check_one_line(outcome, 31, "p01.pddl: no domain file given", "name the domain file before")


def test_swapped_and_repeated_files(parcels: Path) -> None:
    wrong_way = "this is a problem file where a domain file is expected; give the domain first"
    for files in (["problem.pddl", "domain.pddl"], ["problem.pddl", "problem.pddl"]):
        check_one_line(hstar("plan", *files, cwd=parcels), 31, "problem.pddl:1:9: ", wrong_way)
    outcome = hstar("plan", "domain.pddl", "domain.pddl", cwd=parcels)
    check_one_line(outcome, 31, "domain.pddl:2:9: ", "this is a domain file where a problem file")


def test_file_names_that_are_not_utf_8(parcels: Path) -> None:
    """They work, and in messages they are escaped rather than printed as they are."""
    name = b"caf\xe9\n.pddl"
    path = os.path.join(os.fsencode(parcels), name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(PROBLEM)
    outcome = hstar("plan", "domain.pddl", name, "--plan-file", b"plan\xff", cwd=parcels)
    assert (outcome.code, outcome.err) == (0, "")
    assert os.path.exists(os.path.join(os.fsencode(parcels), b"plan\xff"))
    with open(path, "a", encoding="utf-8") as file:
        file.write(")")
    outcome = hstar("plan", "domain.pddl", name, cwd=parcels)
    check_one_line(outcome, 31, "caf\\udce9\\n.pddl:9:1: ")
    outcome = hstar("plan", b"\xff\xfe", cwd=parcels)
    check_one_line(outcome, 31, "\\udcff\\udcfe: there is no such file")
    outcome = hstar("plan", "problem.pddl", b"--\xff", cwd=parcels)
    check_one_line(outcome, 36, "\\udcff")


# -- problems that are right but special

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
    write_files(tmp_path, MOVES, UNSOLVABLE[name])
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
    domain, problem = write_files(tmp_path, MOVES, TRIVIAL[name])
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
    write_files(tmp_path, domain, problem)
    outcome = hstar("plan", "problem.pddl", cwd=tmp_path)
    assert (outcome.code, outcome.err) == (0, "")
    assert (tmp_path / "sas_plan").read_text().count("a b") == arity // 2


def test_names_outside_of_ascii_print_on_any_terminal(tmp_path: Path) -> None:
    write_files(tmp_path, MOVES, moves_problem("(at ü)", "a ü", "(at a) (road a ü)"))
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    outcome = hstar("plan", "problem.pddl", cwd=tmp_path, changes=ascii_only)
    assert (outcome.code, outcome.err) == (0, "")
    assert "(move a \\xfc)" in outcome.out
    assert "(move a ü)" in (tmp_path / "sas_plan").read_text(encoding="utf-8")


# -- arguments

BAD_USAGE: list[tuple[list[str], str]] = [
    ([], "arguments are required: COMMAND"),
    (["fly"], "invalid choice: 'fly'"),
    (["plan"], "arguments are required: [DOMAIN] PROBLEM"),
    (["info"], "arguments are required: [DOMAIN] PROBLEM"),
    (["validate", "domain.pddl", "problem.pddl"], "arguments are required: PLAN"),
    (["validate", "a", "b", "c", "d"], "unrecognized arguments: d"),
    (["plan", "a", "b", "c"], "at most two files"),
    (["info", "a", "b", "c"], "at most two files"),
    (["plan", "problem.pddl", "--fast"], "unrecognized arguments: --fast"),
    (["plan", "problem.pddl", "-x"], "unrecognized arguments: -x"),
    (["info", "problem.pddl", "--plan-file", "x"], "unrecognized arguments: --plan-file x"),
    (["plan", "problem.pddl", "-H"], "-H/--heuristic: expected one argument"),
    (["plan", "problem.pddl", "-H", "magic"], "unknown heuristic 'magic'; choose one of blind,"),
    (["plan", "problem.pddl", "-H", ""], "unknown heuristic ''"),
    (["plan", "problem.pddl", "-s", "magic"], "unknown search 'magic'; choose one of gbfs,"),
    (["plan", "problem.pddl", "-s", "GBFS"], "unknown search 'GBFS'"),
    (["plan", "problem.pddl", "--cost", "two"], "unknown cost 'two'; choose one of normal,"),
    (["plan", "problem.pddl", "--batch", "0"], "--batch: '0' is not a positive whole number"),
    (["plan", "problem.pddl", "--batch", "-1"], "--batch: '-1' is not a positive whole number"),
    (["plan", "problem.pddl", "--batch", "two"], "--batch: 'two' is not a positive whole number"),
    (["plan", "problem.pddl", "--batch", "99999999999"], "the batch must be between 1 and"),
    (["plan", "problem.pddl", "--weight", "0.5"], "the weight must be finite and at least 1"),
    (["plan", "problem.pddl", "--weight", "-3"], "the weight must be finite and at least 1"),
    (["plan", "problem.pddl", "--weight", "nan"], "the weight must be finite and at least 1"),
    (["plan", "problem.pddl", "--weight", "inf"], "the weight must be finite and at least 1"),
    (["plan", "problem.pddl", "--weight", "x"], "--weight: invalid float value: 'x'"),
    (["plan", "problem.pddl", "--seed", "x"], "--seed: invalid int value: 'x'"),
    (["plan", "problem.pddl", "--max-evaluations", "0"], "'0' is not a positive whole number"),
    (["plan", "problem.pddl", "--max-evaluations", "nan"], "'nan' is not a positive whole number"),
    (["plan", "problem.pddl", "--max-expansions", "1.5"], "'1.5' is not a positive whole number"),
    (["plan", "problem.pddl", "--max-expansions", "-1"], "'-1' is not a positive whole number"),
    (["plan", "problem.pddl", "--max-expansions", "9" * 30], "limits must be between 1 and"),
    (["plan", "problem.pddl", "--overall-time-limit", "0"], "'0' is not a time; write for"),
    (["plan", "problem.pddl", "--overall-time-limit", "5 m"], "'5 m' is not a time"),
    (["plan", "problem.pddl", "--overall-time-limit", "nan"], "'nan' is not a time"),
    (["plan", "problem.pddl", "--overall-time-limit=-5s"], "'-5s' is not a time"),
    (["info", "problem.pddl", "--overall-time-limit", "inf"], "'inf' is not a time"),
    (["plan", "problem.pddl", "--overall-memory-limit", "0"], "'0' is not an amount of memory"),
    (["plan", "problem.pddl", "--overall-memory-limit", "8T"], "'8T' is not an amount of memory"),
    (["plan", "problem.pddl", "--overall-memory-limit=-8G"], "'-8G' is not an amount of memory"),
    (["info", "problem.pddl", "--overall-memory-limit", "much"], "'much' is not an amount of"),
    (["plan", "problem.pddl", "--plan-file", "none/x"], "cannot write none/x: No such file or"),
    (["plan", "problem.pddl", "--plan-file", "."], "cannot write .: Is a directory"),
    (["plan", "problem.pddl", "--plan-file", "problem.pddl/x"], "Not a directory"),
    (["plan", "problem.pddl", "--plan-file", "x" * 300], "File name too long"),
]


@pytest.mark.parametrize(
    ("arguments", "says"), BAD_USAGE, ids=[" ".join(a)[:60] or "nothing" for a, _ in BAD_USAGE]
)
def test_bad_usage(arguments: list[str], says: str, parcels: Path) -> None:
    before = set(parcels.iterdir())
    outcome = hstar(*arguments, cwd=parcels)
    check_one_line(outcome, 36, says)
    assert outcome.out == "", "found before anything is done"
    assert set(parcels.iterdir()) == before


def test_absurdly_large_limits_are_no_limits(parcels: Path) -> None:
    limits = ["--overall-time-limit", "9" * 400 + "h", "--overall-memory-limit", "9" * 400 + "G"]
    outcome = hstar("plan", "problem.pddl", *limits, cwd=parcels)
    assert (outcome.code, outcome.err) == (0, "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_that_may_not_be_written_to(parcels: Path) -> None:
    (parcels / "locked").mkdir(mode=0o500)
    outcome = hstar("plan", "problem.pddl", "--plan-file", "locked/plan", cwd=parcels)
    check_one_line(outcome, 36, "cannot write locked/plan: Permission denied")


def test_the_old_plan_file_survives_a_run_without_plan(tmp_path: Path) -> None:
    write_files(tmp_path, MOVES, UNSOLVABLE["unreachable"])
    (tmp_path / "sas_plan").write_text("precious")
    assert hstar("plan", "problem.pddl", cwd=tmp_path).code == 11
    assert (tmp_path / "sas_plan").read_text() == "precious"


# -- plans that are wrong

WRONG_PLANS: list[tuple[str, str, str]] = [
    ("empty", "", "the goal is not reached: (at box north) is false after the last step"),
    ("unknown action", "(fly van)", "step 1 (fly van): the domain has no action 'fly'"),
    ("too few arguments", "(drive van)", "step 1 (drive van): action 'drive' takes 3 arguments"),
    ("unknown object", "(drive car north south)", "the problem has no object 'car'"),
    ("wrong type", "(drive box north south)", "'box' has type parcel, but parameter ?v needs"),
    ("inapplicable", "(drive van south north)", "precondition (at van south) is false"),
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


# -- output that nobody takes

OUTPUTS: list[tuple[Argument, ...]] = [
    ("plan", "problem.pddl"),
    ("plan", "problem.pddl", "--json"),
    ("info", "problem.pddl"),
    ("validate", "domain.pddl", "problem.pddl", "plan"),
    ("--help",),
]


@pytest.mark.parametrize("arguments", OUTPUTS, ids=lambda a: " ".join(a))
def test_broken_pipe(arguments: tuple[str, ...], parcels: Path) -> None:
    """As in `hstar plan ... | head -0`."""
    (parcels / "plan").write_text(PLAN)
    reading, writing = os.pipe()
    os.close(reading)
    try:
        outcome = hstar(*arguments, cwd=parcels, stdout=writing)
    finally:
        os.close(writing)
    check_one_line(outcome, 36, "cannot write to standard output: Broken pipe")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", OUTPUTS, ids=lambda a: " ".join(a))
def test_full_disk(arguments: tuple[str, ...], parcels: Path) -> None:
    (parcels / "plan").write_text(PLAN)
    with open("/dev/full", "wb") as full:
        outcome = hstar(*arguments, cwd=parcels, stdout=full.fileno())
    check_one_line(outcome, 36, "cannot write to standard output: No space left on device")


def test_closed_output_is_no_reason_to_fail(parcels: Path) -> None:
    """Who closes stdout wants no log; the plan is written all the same."""
    command = ["sh", "-c", '"$@" >&-', "sh", *COMMAND, "plan", "problem.pddl"]
    done = subprocess.run(
        command, cwd=parcels, env=environment(), capture_output=True, timeout=SECONDS
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert (parcels / "sas_plan").exists()


def test_errors_name_the_program_when_run_as_installed() -> None:
    """The script `hstar` and `python -m hstar.cli` are the same program."""
    script = Path(sys.executable).with_name("hstar")
    if not script.exists():
        pytest.skip("hstar is not installed beside this Python")
    done = subprocess.run(
        [script, "fly"], env=environment(), capture_output=True, text=True, timeout=SECONDS
    )
    assert (done.returncode, done.stderr) == (36, hstar("fly").err)

"""Whatever is wrong with the input, the program says so in one line and exits with its code.

The parser's messages have tests of their own; here the whole program runs, as a user runs it.
"""

from __future__ import annotations

import os
import random
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from case_tables import table
from hard_tasks import write_task
from pddl_mistakes import MISTAKES, PLAN, PROBLEM, Mistake
from program import check_one_line, hstar


def test_the_texts_that_the_mistakes_are_put_into_are_fine(parcels: Path) -> None:
    outcome = hstar("plan", "problem.pddl", cwd=parcels)
    assert (outcome.code, outcome.err) == (0, "")
    (parcels / "plan").write_text(PLAN)
    outcome = hstar("validate", "domain.pddl", "problem.pddl", "plan", cwd=parcels)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "Plan valid: 4 step(s), cost 26.5.\n"
    assert hstar("validate", "problem.pddl", "plan", cwd=parcels) == outcome
    assert hstar("info", "problem.pddl", cwd=parcels).code == 0


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_mistakes_in_pddl(mistake: Mistake, tmp_path: Path) -> None:
    write_task(tmp_path, *mistake.apply())
    before = set(tmp_path.iterdir())
    planned = hstar("plan", "domain.pddl", "problem.pddl", cwd=tmp_path)
    check_one_line(planned, mistake.code, *mistake.says)
    assert set(tmp_path.iterdir()) == before, "a run without a plan leaves no files"
    if not mistake.needs_grounding:
        (tmp_path / "plan").write_text(PLAN)
        validated = hstar("validate", "domain.pddl", "problem.pddl", "plan", cwd=tmp_path)
        assert (validated.code, validated.err) == (planned.code, planned.err)


@pytest.mark.parametrize(
    "mistake",
    [mistake for mistake in MISTAKES if mistake.name in ("missing )", "numeric condition")],
    ids=lambda mistake: mistake.name,
)
def test_info_says_the_same(mistake: Mistake, tmp_path: Path) -> None:
    write_task(tmp_path, *mistake.apply())
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
        ["validate", "missing.pddl", "plan"],
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


# -- arguments

BAD_USAGE = table("""
| arguments are required: COMMAND
fly | invalid choice: 'fly'
plan | arguments are required: [DOMAIN] PROBLEM
info | arguments are required: [DOMAIN] PROBLEM
validate | arguments are required: PROBLEM, PLAN
validate problem.pddl | arguments are required: PLAN
validate domain.pddl problem.pddl | domain.pddl is a domain; name the problem and the plan as well
validate a b c d | unrecognized arguments: d
plan a b c | at most two files
info a b c | at most two files
plan problem.pddl --fast | unrecognized arguments: --fast
plan problem.pddl -x | unrecognized arguments: -x
info problem.pddl --plan-file x | unrecognized arguments: --plan-file x
plan problem.pddl -H | -H/--heuristic: expected one argument
plan problem.pddl -H magic | unknown heuristic 'magic'; choose one of blind,
plan problem.pddl -H '' | unknown heuristic ''
plan problem.pddl -s magic | unknown search 'magic'; choose one of gbfs,
plan problem.pddl -s GBFS | unknown search 'GBFS'
plan problem.pddl --cost two | unknown cost 'two'; choose one of normal,
plan problem.pddl --batch 0 | --batch: '0' is not a positive whole number
plan problem.pddl --batch -1 | --batch: '-1' is not a positive whole number
plan problem.pddl --batch two | --batch: 'two' is not a positive whole number
plan problem.pddl --batch 99999999999 | the batch must be between 1 and
plan problem.pddl --weight 0.5 | the weight must be finite and at least 1
plan problem.pddl --weight -3 | the weight must be finite and at least 1
plan problem.pddl --weight nan | the weight must be finite and at least 1
plan problem.pddl --weight inf | the weight must be finite and at least 1
plan problem.pddl --weight x | --weight: invalid float value: 'x'
plan problem.pddl --seed x | --seed: invalid int value: 'x'
plan problem.pddl --max-evaluations 0 | '0' is not a positive whole number
plan problem.pddl --max-evaluations nan | 'nan' is not a positive whole number
plan problem.pddl --max-expansions 1.5 | '1.5' is not a positive whole number
plan problem.pddl --max-expansions -1 | '-1' is not a positive whole number
plan problem.pddl --max-expansions 999999999999999999999999999999 | max expansions must be
plan problem.pddl --overall-time-limit 0 | '0' is not a time; write for
plan problem.pddl --overall-time-limit '5 m' | '5 m' is not a time
plan problem.pddl --overall-time-limit nan | 'nan' is not a time
plan problem.pddl --overall-time-limit=-5s | '-5s' is not a time
info problem.pddl --overall-time-limit inf | 'inf' is not a time
plan problem.pddl --overall-memory-limit 0 | '0' is not an amount of memory
plan problem.pddl --overall-memory-limit 8T | '8T' is not an amount of memory
plan problem.pddl --overall-memory-limit=-8G | '-8G' is not an amount of memory
info problem.pddl --overall-memory-limit much | 'much' is not an amount of
plan problem.pddl --plan-file none/x | cannot write none/x: No such file or
plan problem.pddl --plan-file . | cannot write .: Is a directory
plan problem.pddl --plan-file problem.pddl/x | Not a directory
""")
BAD_USAGE.append((f"plan problem.pddl --plan-file {'x' * 300}", "File name too long"))


@pytest.mark.parametrize(
    ("arguments", "says"), BAD_USAGE, ids=[row[0][:60] or "nothing" for row in BAD_USAGE]
)
def test_bad_usage(arguments: str, says: str, parcels: Path) -> None:
    before = set(parcels.iterdir())
    outcome = hstar(*shlex.split(arguments), cwd=parcels)
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

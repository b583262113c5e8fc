"""`hstar label`: right values, replacements, limits, and errors for people."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hard_tasks import large_grounding
from label_folders import atom_names, files, generated, hard_gripper, rows_of, write_folder
from program import hstar
from small_domains import ALL, BLOCKS, problem_text

from hstar import make_heuristic, search
from hstar.commands.cli import main
from hstar.pddl import parse
from hstar.pddl.errors import InputFileError
from hstar.planning.task import ground
from hstar.slots.teachers import LabelOptions, label, read_labels
from hstar.slots.teachers.states import heuristic_columns, states_of_atoms

HEURISTICS = ("blind", "goalcount", "hmax", "hadd", "ff", "lmcut")


def without_metric(problem: Path) -> Path:
    """A copy of a problem in which every action costs 1."""
    text = problem.read_text().replace("(:metric minimize (total-cost))", "")
    copy = problem.with_name(f"unit-{problem.name}")
    copy.write_text(text)
    return copy


@pytest.mark.parametrize(
    ("domain", "cost"), [*((domain, "one") for domain in sorted(ALL)), ("transport", "normal")]
)
def test_values(domain: str, cost: str, tmp_path: Path) -> None:
    """Every number is what the heuristics and a blind search say about the very same state."""
    folder = write_folder(tmp_path / "problems", domain)
    summary = label(folder, tmp_path / "labels.parquet", LabelOptions(jobs=1, cost=cost))
    labels = read_labels(tmp_path / "labels.parquet")
    assert summary.solved > 0
    solved = [i for i, p in enumerate(labels.problems) if p.status == "solved"]
    assert np.unique(labels.rows.problem).tolist() == solved
    assert (labels.rows.kind == 0).all() and labels.kinds == ["optimal"]
    for problem in labels.problems:
        path = folder / problem.problem
        task = ground(
            parse(folder / "domain.pddl", path if cost == "normal" else without_metric(path))
        )
        best = search(task, "blind", "astar")
        assert best.plan_cost == problem.plan_cost
        rows = rows_of(labels, problem.problem)
        if best.plan_length == 0:
            assert (problem.status, len(rows)) == ("trivial", 0)
            continue
        assert problem.status == "solved"
        state = task.initial_state
        left = best.plan_cost
        states = states_of_atoms(task, problem.atoms, rows)
        columns = heuristic_columns(task, states, HEURISTICS)
        names = atom_names(labels, problem.problem)
        assert np.isnan(rows.lower).all() and np.isnan(rows.upper).all()
        for step in range(len(rows)):
            row = {name: column[step] for name, column in columns.items()}
            assert rows.h[step] == left
            assert names[step] == task.atoms(state)
            assert states[step].tolist() == state.tolist()
            for name in HEURISTICS:
                assert row[name] == make_heuristic(task, name).evaluate(state)[0]
            features = make_heuristic(task, "ff").plan_features(state)[0]
            assert row["ff"] == features[1]
            assert row["hmax"] <= row["lmcut"] <= left
            if step < len(problem.plan):
                operators, successors = task.successors(state)
                found = [task.operator_name(int(operator)) for operator in operators]
                taken = found.index(problem.plan[step])
                state = successors[taken]
                left -= task.operator(int(operators[taken])).cost
        assert (left, len(rows)) == (0, len(problem.plan) + 1)


def test_costs_with_decimals(tmp_path: Path) -> None:
    """Values are in the problem's unit, not in that of the core, where costs are whole."""
    folder = write_folder(tmp_path / "problems", "transport", count=1)
    problem = folder / "p00.pddl"
    text = problem.read_text()
    for length in range(10):
        text = text.replace(f") {length})", f") {length}.25)").replace(
            "total-cost) 0.25", "total-cost) 0"
        )
    problem.write_text(text)
    label(folder, tmp_path / "labels.parquet", LabelOptions(jobs=1, cost="normal"))
    labels = read_labels(tmp_path / "labels.parquet")
    task = ground(parse(folder / "domain.pddl", problem))
    states = states_of_atoms(task, labels.problems[0].atoms, labels.rows)
    lmcut = heuristic_columns(task, states, ["lmcut"])["lmcut"]
    assert task.cost_scale > 1
    best = search(ground(parse(folder / "domain.pddl", problem)), "blind", "astar").plan_cost
    assert labels.rows.h[0] == best and best % 1 != 0
    assert (lmcut <= labels.rows.h).all()
    assert lmcut[0] > best / 4


def few(expansions: int, retries: int, jobs: int = 1) -> LabelOptions:
    return LabelOptions(options={"max_expansions": expansions}, retries=retries, jobs=jobs)


def test_the_number_of_jobs_does_not_matter(tmp_path: Path) -> None:
    """Nor does it with problems that are replaced."""
    folder = generated(tmp_path)
    outputs = []
    for jobs in (1, 2, 3):
        output = tmp_path / f"labels{jobs}.parquet"
        summary = label(folder, output, few(30, 5, jobs))
        assert summary.replaced > 0
        outputs.append(files(output))
    assert outputs[0] == outputs[1] == outputs[2]


def test_replacements(tmp_path: Path) -> None:
    folder = generated(tmp_path)
    label(
        folder,
        tmp_path / "labels.parquet",
        few(30, 5),
    )
    labels = read_labels(tmp_path / "labels.parquet")
    for problem in labels.problems:
        original = (folder / problem.problem).read_text()
        assert (problem.pddl == original) == (problem.retry == 0 or problem.status != "solved")
        *failed, last = problem.attempts
        assert {status for _, status in failed} <= {"gave up"}
        if problem.status == "solved":
            assert last == (problem.retry, "solved") and problem.expanded <= 30
        else:
            assert problem.retry == 0 and problem.plan == [] and problem.expanded is None
    assert len({problem.pddl for problem in labels.problems}) == len(labels.problems)


def towers_problem(blocks: int, marker: int = 0) -> str:
    """A tower to be turned over; the marker is the block that starts on the table."""
    names = [f"b{i}" for i in range(blocks)]
    names = names[marker:] + names[:marker]
    init = [f"(ontable {names[0]})", f"(clear {names[-1]})", "(handempty)"]
    init += [f"(on {above} {below})" for below, above in pairwise(names)]
    goal = [f"(on {below} {above})" for below, above in pairwise(names)]
    return problem_text("blocks", " ".join(sorted(names)), init, goal)


def test_no_two_problems_get_the_same_replacement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All three are too hard, and their generator offers the same to each of them: first one that
    is too hard as well, then one from the folder, then solvable ones."""
    folder = tmp_path / "problems"
    folder.mkdir()
    (folder / "domain.pddl").write_text(BLOCKS)
    texts = {f"p{i}.pddl": towers_problem(6, i) for i in range(3)} | {"p3.pddl": towers_problem(2)}
    entries = []
    for name, text in texts.items():
        (folder / name).write_text(text)
        entries.append({"file": name, "parameters": {}, "seed": 0, "retry": 0})
    manifest = {"format": "hstar-problems-1", "generator": "fake", "split": "train"}
    (folder / "manifest.json").write_text(json.dumps(manifest | {"problems": entries}))
    offers = [towers_problem(6, 5), towers_problem(2)]
    offers += [
        towers_problem(3, 0),
        towers_problem(3, 0),
        towers_problem(3, 1),
        towers_problem(3, 2),
    ]
    monkeypatch.setattr("hstar.domains.DOMAINS.find_installed", lambda name: None)
    monkeypatch.setattr(
        "hstar.domains.regenerate", lambda *made_with, apart: offers[made_with[-1] - 1]
    )
    results = []
    for jobs in (1, 3):
        output = tmp_path / f"labels{jobs}.parquet"
        label(folder, output, few(8, 6, jobs))
        results.append(files(output))
        problems = read_labels(output).problems
        assert [p.retry for p in problems] == [3, 5, 6, 0]
        assert problems[2].attempts == [(0, "gave up"), (1, "gave up"), (6, "solved")]
    assert results[0] == results[1]
    label(
        folder,
        tmp_path / "few.parquet",
        few(8, 5),
    )
    assert [p.status for p in read_labels(tmp_path / "few.parquet").problems] == [
        "solved",
        "solved",
        "gave up",
        "solved",
    ]


LIMITS: list[tuple[Callable[[Path], tuple[Path, Path]], list[str], str]] = [
    (hard_gripper, ["--time-limit", "1s"], "out of time"),
    (large_grounding, ["--time-limit", "1s"], "out of time"),
    (large_grounding, ["--memory-limit", "100M"], "out of memory"),
    (hard_gripper, ["--max-expansions", "3"], "gave up"),
]


@pytest.mark.parametrize(("write", "limit", "status"), LIMITS)
def test_limits(
    write: Callable[[Path], tuple[Path, Path]], limit: list[str], status: str, tmp_path: Path
) -> None:
    write(tmp_path)
    output = tmp_path / "labels.parquet"
    done = hstar("label", tmp_path, "-o", output, *limit)
    assert done.code == 12  # nothing was solved
    labels = read_labels(output)
    (problem,) = labels.problems
    assert (problem.status, problem.plan, problem.expanded) == (status, [], None)
    assert len(labels.rows) == 0


def test_unsolvable_and_trivial(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "problems", "blocks", count=1)
    init = ["(ontable a)", "(ontable b)", "(clear a)", "(clear b)", "(handempty)"]
    (folder / "p1.pddl").write_text(problem_text("blocks", "a b", init, ["(on a b)", "(on b a)"]))
    (folder / "p2.pddl").write_text(problem_text("blocks", "a b", init, ["(clear a)"]))
    output = tmp_path / "labels.parquet"
    done = hstar("label", folder, "-o", output)
    assert done.code == 0
    assert "warning: no plan exists for p1.pddl" in done.err
    assert [p.status for p in read_labels(output).problems] == ["solved", "unsolvable", "trivial"]


def test_bad_pddl_stops_before_any_work(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "problems", "blocks", count=3)
    (folder / "p02.pddl").write_text("(define (problem broken) (:domain blocks) (:goal (flies a)))")
    output = tmp_path / "labels.parquet"
    done = hstar("label", folder, "-o", output)
    assert done.code == 31 and f"{folder / 'p02.pddl'}:1:" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["problems"]


def test_what_grounding_refuses_stops_the_run(tmp_path: Path) -> None:
    """Its name and the exit code are those that `hstar plan` gives."""
    folder = tmp_path / "problems"
    folder.mkdir()
    (folder / "domain.pddl").write_text(
        "(define (domain d) (:requirements :adl) (:predicates (p ?x) (q ?x))"
        "(:action a :parameters () :precondition (forall (?x) (or (p ?x) (q ?x)))"
        " :effect (forall (?x) (and (p ?x) (q ?x))))"
        "(:action b :parameters (?x) :effect (not (p ?x)))"
        "(:action c :parameters (?x) :effect (not (q ?x))))"
    )
    objects = " ".join(f"o{i}" for i in range(20))
    init = [f"({p} {name})" for name in objects.split() for p in "pq"]
    problem = problem_text("d", objects, init, ["(p o0)", "(not (q o1))"])
    (folder / "p01.pddl").write_text(problem)
    refused = hstar("plan", folder / "p01.pddl", cwd=tmp_path)
    done = hstar("label", folder, "-o", tmp_path / "labels.parquet")
    assert (done.code, done.err.splitlines()[-1]) == (refused.code, refused.err.splitlines()[-1])
    assert refused.code == 34


def test_choice_of_problems(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "problems", "gripper", count=6)
    names = {}
    for options in ({}, {"seed": 0}, {"seed": 1}):
        output = tmp_path / f"labels{len(names)}.parquet"
        label(folder, output, LabelOptions(jobs=1, limit_problems=3, **options))
        names[str(options)] = [problem.problem for problem in read_labels(output).problems]
    first, *drawn = names.values()
    assert first == ["p00.pddl", "p01.pddl", "p02.pddl"]
    assert drawn[0] != drawn[1] and all(chosen == sorted(chosen) for chosen in drawn)


BAD_FOLDERS: list[tuple[str, str]] = [
    ("missing", "there is no such folder"),
    ("empty", "there are no problem files"),
    ("no domain", "no domain.pddl in"),
    ("parent", "name one of its folders: train"),
    ("no problems", "there are no problem files"),
    ("no json", "not JSON"),
    ("other json", "not a manifest of the format hstar-problems-1"),
    ("no list", "its list of problems is missing or damaged"),
    ("edited", "not the one that manifest.json describes"),
    ("unknown", "unknown domain 'unknown'"),
]


@pytest.mark.parametrize(("case", "message"), BAD_FOLDERS)
def test_bad_folders(case: str, message: str, tmp_path: Path) -> None:
    folder = tmp_path / "train"
    output = tmp_path / "labels.parquet"
    if case not in ("missing", "empty"):
        generated(tmp_path, count=2)
    manifest = folder / "manifest.json"
    fields = json.loads(manifest.read_text()) if manifest.exists() else {}
    if case == "empty":
        folder.mkdir()
    elif case == "no domain":
        (folder / "domain.pddl").unlink()
    elif case == "no problems":
        for path in folder.iterdir():
            if path.name != "domain.pddl":
                path.unlink()
    elif case == "no json":
        manifest.write_text("{")
    elif case == "other json":
        manifest.write_text("[]")
    elif case == "no list":
        manifest.write_text(json.dumps(fields | {"problems": [{}]}))
    elif case == "edited":
        edited = folder / fields["problems"][1]["file"]
        edited.write_text(edited.read_text() + "; edited\n")
    elif case == "unknown":
        manifest.write_text(json.dumps(fields | {"generator": "unknown"}))
    with pytest.raises(InputFileError) as caught:
        label(tmp_path if case == "parent" else folder, output)
    assert message in str(caught.value) and caught.value.exit_code == 31
    assert not output.exists() and not Path(f"{output}.partial").exists()


BAD_ARGUMENTS: list[tuple[list[str], str]] = [
    (["-o", "labels.csv"], "must be called something.parquet"),
    (["-o", "l.parquet", "--cost", "plusone"], "--cost"),
    (["-o", "l.parquet", "--retries", "-1"], "--retries"),
    (["-o", "l.parquet", "--jobs", "0"], "--jobs"),
    (["-o", "l.parquet", "--seed", "1"], "say how many with a limit on problems"),
    (["-o", "nowhere/l.parquet"], "cannot write nowhere/l.parquet"),
    ([], "-o"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_ARGUMENTS)
def test_bad_arguments(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_folder(tmp_path / "problems", "gripper", count=1)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["label", "problems", *arguments])
    assert ended.value.code == 36
    assert message in capsys.readouterr().err

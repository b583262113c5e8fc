"""Teachers: the exhaustive one against blind search, one from outside, and their options."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from label_folders import atom_names, generated, problem_of, write_folder
from program import hstar
from small_domains import ALL, problem_text

from hstar import make_heuristic, search
from hstar.commands.cli import main
from hstar.pddl import parse
from hstar.planning.task import ground
from hstar.runtime.pool import Lost, Pool
from hstar.runtime.progress import Progress
from hstar.slots.teachers import TEACHERS, LabelOptions, label, read_labels
from hstar.slots.teachers.labelling import spread_order
from hstar.slots.teachers.states import atoms_of_states, states_of_atoms
from hstar.training.dataset import load_dataset

GOLDEN = "e8698c82c20febf9"  # of the labels of two small problems
EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize("name", list(TEACHERS))
def test_every_teacher_describes_itself(name: str) -> None:
    teacher = TEACHERS.find(name)
    assert teacher.description and teacher.kinds
    assert teacher.settings({}) == {n: option.default for n, option in teacher.options.items()}
    with pytest.raises(ValueError, match="has no option 'colour'; its options are: "):
        teacher.settings({"colour": "red"})


@pytest.mark.parametrize(
    ("domain", "cost"), [*((domain, "one") for domain in sorted(ALL)), ("transport", "normal")]
)
def test_exhaustive_values(domain: str, cost: str, tmp_path: Path) -> None:
    """h satisfies Bellman's equation in every state, which determines it if costs are positive."""
    folder = write_folder(tmp_path / "problems", domain, count=2)
    output = tmp_path / "labels.parquet"
    options = LabelOptions("exhaustive", {"max_states": 5000}, jobs=1, cost=cost)
    summary = label(folder, output, options)
    labels = read_labels(output)
    assert labels.kinds == ["exhaustive"] and summary.states == len(labels.rows)
    data = load_dataset(output, dead_ends=True)
    assert len(data) == len(labels.rows)
    for number, labelled in enumerate(data.tasks):
        task = labelled.task
        h = data.column("h_star")[data.task_numbers == number]
        known = dict(zip(map(bytes, labelled.states), h.tolist(), strict=True))
        assert len(known) == len(h)
        best = search(task, "blind", "astar")
        assert known[bytes(task.initial_state)] == best.plan_cost
        assert problem_of(labels, labelled.name).plan_cost == best.plan_cost
        closed = make_heuristic(task, "goalcount").evaluate(labelled.states) == 0
        for state, value, is_goal in zip(labelled.states, h, closed, strict=True):
            operators, successors = task.successors(state)
            costs = [task.operator(int(operator)).cost for operator in operators]
            through = [c + known[bytes(s)] for c, s in zip(costs, successors, strict=True)]
            assert value == (0 if is_goal else min(through, default=np.inf))
        state = task.initial_state
        for step in problem_of(labels, labelled.name).plan:
            operators, successors = task.successors(state)
            names = [task.operator_name(int(operator)) for operator in operators]
            state = successors[names.index(step)]
        assert known[bytes(state)] == 0


ONE_WAY = """(define (domain way) (:predicates (at ?x) (edge ?x ?y))
(:action go :parameters (?x ?y) :precondition (and (at ?x) (edge ?x ?y))
  :effect (and (at ?y) (not (at ?x)))))
"""


def test_dead_ends_and_limits_of_the_exhaustive_teacher(tmp_path: Path) -> None:
    folder = tmp_path / "problems"
    folder.mkdir()
    (folder / "domain.pddl").write_text(ONE_WAY)
    init = ["(at a)", "(edge a b)", "(edge b c)", "(edge b d)", "(edge d e)", "(edge e d)"]
    (folder / "p.pddl").write_text(problem_text("way", "a b c d e", init, ["(at c)"]))
    output = tmp_path / "labels.parquet"
    label(folder, output, LabelOptions("exhaustive", jobs=1))
    labels = read_labels(output)
    places = [atom for (atom,) in atom_names(labels, "p.pddl")]
    found = dict(zip(places, labels.rows.h.tolist(), strict=True))
    reached = {"at(a)": 2, "at(b)": 1, "at(c)": 0}
    assert {atom: h for atom, h in found.items() if h < np.inf} == reached
    assert load_dataset(output).column("h_star").tolist() == [2, 1, 0]
    assert len(load_dataset(output, dead_ends=True)) == len(found)
    label(folder, output, LabelOptions("exhaustive", {"dead_ends": False}, jobs=1))
    assert sorted(read_labels(output).rows.h.tolist()) == [0, 1, 2]
    few = hstar(
        "label", folder, "-o", output, "--teacher", "exhaustive", "--option", "max_states=2"
    )
    assert few.code == 12 and "left out, gave up" in few.out


def test_a_teacher_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example is under 60 lines, works in worker processes, and its bounds hold."""
    assert len((EXAMPLES / "teacher_random_walks.py").read_text().splitlines()) < 60
    folder = generated(tmp_path, blocks="3-4", count=4)
    output = tmp_path / "labels.parquet"
    name = "teacher_random_walks:TEACHER"
    arguments = ["label", folder, "-o", output, "--teacher", name, "--option", "walks=20"]
    done = hstar(*arguments, "--jobs", "2", cwd=EXAMPLES)
    assert done.code == 0, done.err
    labels = read_labels(output)
    assert (labels.teacher, labels.kinds) == (name, ["plan", "random"])
    assert labels.options == {"walks": 20, "length": 5}
    assert set(labels.rows.kind.tolist()) == {0, 1}
    exact = tmp_path / "exact.parquet"
    label(folder, exact, LabelOptions("exhaustive", jobs=1))
    best = load_dataset(exact)
    data = load_dataset(output)
    for number, labelled in enumerate(data.tasks):
        states, h = best.tasks[number].states, best.column("h_star")[best.task_numbers == number]
        known = dict(zip(map(bytes, states), h.tolist(), strict=True))
        upper = data.column("upper")[data.task_numbers == number]
        assert all(known[bytes(s)] <= u for s, u in zip(labelled.states, upper, strict=True))


BAD: list[tuple[list[str], str]] = [
    (["--teacher", "optimist"], "unknown teacher 'optimist' (did you mean 'optimal'?)"),
    (["--teacher", "pathlib:Path"], "'pathlib:Path' is not an object of the class"),
    (["--option", "max_expansions"], "--option takes NAME=VALUE"),
    (["--option", "max_expansions=many"], "the option max_expansions cannot be 'many'"),
    (["--option", "walks=2"], "has no option 'walks'; its options are: max_expansions"),
    (["--teacher", "exhaustive", "--option", "dead_ends=maybe"], "write yes or no"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_teachers(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_folder(tmp_path / "problems", "gripper", count=1)
    with pytest.raises(SystemExit) as ended:
        main(["label", str(folder), "-o", str(tmp_path / "l.parquet"), *arguments])
    assert ended.value.code == 36
    assert message in capsys.readouterr().err


def test_teachers_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["label", "--teachers"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert all(f"\n{name} " in f"\n{out}" for name in TEACHERS)


@pytest.mark.parametrize("domain", sorted(ALL))
def test_states_survive_as_atoms(domain: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "problems", domain, count=1)
    task = ground(parse(folder / "domain.pddl", folder / "p00.pddl"))
    output = tmp_path / "labels.parquet"
    label(folder, output, LabelOptions("exhaustive", jobs=1, retries=0))
    (problem,) = read_labels(output).problems
    if problem.status != "solved":
        pytest.skip("its goal holds initially")
    states = states_of_atoms(task, problem.atoms, read_labels(output).rows)
    names, starts, atoms = atoms_of_states(task, states)
    assert (names, starts[-1]) == (problem.atoms, len(atoms))
    shuffled = dict(zip(names, np.random.default_rng(0).permutation(len(names)), strict=True))
    rows = read_labels(output).rows
    renamed = type(rows)(
        rows.problem,
        starts,
        np.array([shuffled[name] for name in names], np.int32)[atoms],
        *(rows.h, rows.lower, rows.upper, rows.kind),
    )
    order = sorted(shuffled, key=lambda name: shuffled[name])
    assert (states_of_atoms(task, order, renamed) == states).all()


def test_labels_are_the_same_everywhere(tmp_path: Path) -> None:
    """A digest of the arrays, taken once: a new build must not change them."""
    folder = generated(tmp_path, blocks="4-4", count=2)
    label(folder, tmp_path / "labels.parquet", LabelOptions("exhaustive", jobs=1))
    rows = read_labels(tmp_path / "labels.parquet").rows
    sha = hashlib.sha256()
    for array in (rows.problem, rows.starts, rows.atoms, rows.h, rows.kind):
        sha.update(np.ascontiguousarray(array).tobytes())
    assert sha.hexdigest()[:16] == GOLDEN


# -- where the domain is, and how long it takes


def test_the_domain_may_lie_above_the_folder(tmp_path: Path) -> None:
    """As for `hstar plan` and `hstar bench`."""
    folder = write_folder(tmp_path / "collection/testing", "gripper", count=2)
    (folder / "domain.pddl").rename(tmp_path / "collection/domain.pddl")
    for command in (
        ["plan", folder / "p00.pddl", "--plan-file", tmp_path / "plan"],
        ["bench", folder, "-o", tmp_path / "runs.parquet"],
        ["label", folder, "-o", tmp_path / "labels.parquet"],
    ):
        done = hstar(*command)
        assert done.code == 0, done.err
    assert len(read_labels(tmp_path / "labels.parquet").problems) == 2


def test_problems_of_two_domains_are_not_labelled_together(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "problems", "gripper", count=2)
    text = (folder / "domain.pddl").read_text()
    (folder / "domain.pddl").unlink()
    (folder / "domain_p00.pddl").write_text(text)
    (folder / "domain_p01.pddl").write_text(text + "; another\n")
    done = hstar("label", folder, "-o", tmp_path / "labels.parquet")
    assert done.code == 31 and "use one domain at a time" in done.err


@pytest.mark.parametrize("count", [1, 2, 7, 64, 1000])
def test_problems_are_tried_in_an_order_that_is_a_fair_sample(count: int) -> None:
    """If problem i takes time i, the mean of those done so far predicts the mean of all."""
    order = spread_order(count)
    assert sorted(order) == list(range(count))
    for done in range(count // 8, count + 1) if count >= 64 else ():
        assert np.mean(order[:done]) <= count / 2 <= 2 * np.mean(order[:done]) + count / 8


def test_the_estimate_counts_what_this_run_did() -> None:
    """Half was there already: the other half takes as long as what this run has done says."""
    progress = Progress("labelling", 100, already=50)
    progress.started -= 60.0
    progress.update(60)
    assert "4:00 left" in progress.line
    progress.update(50)
    assert "left" not in progress.line


# -- the pool


def misbehave(how: str) -> int:
    if how == "raise":
        raise ValueError("odd")
    if how == "exit":
        raise SystemExit(3)
    return len(how)


def test_the_pool_reports_what_becomes_of_jobs() -> None:
    said: list[str] = []
    jobs = [(how, misbehave, how) for how in ("fine", "exit", "great")]
    with Pool(2) as pool:
        answers = dict(pool.answers(jobs, tries=3, say=said.append))
        assert (answers["fine"], answers["great"]) == (4, 5)
        assert isinstance(answers["exit"], Lost) and answers["exit"].exit_code == 3
        assert said == 2 * [f"a worker process died ({answers['exit']}); its job is done again"]
        with pytest.raises(ValueError, match="odd") as caught:
            list(pool.answers([("raise", misbehave, "raise")]))
        assert "misbehave" in caught.value.__notes__[0]
        pool.add(("again", misbehave, "again"))
        assert list(pool.answers()) == [("again", 5)]

"""The regression-sampling recipe: a tiny run of every stage, its tables and its errors."""

from __future__ import annotations

import dataclasses
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from program import check_one_line, hstar

from hstar.domains.walks import with_initial_state
from hstar.experiments.bench import SuiteError
from hstar.experiments.bench.peers import run_peer
from hstar.experiments.study import (
    HOLDS,
    Searches,
    Subject,
    TrialResults,
    TrialScale,
    TrialStudy,
    make,
    make_task,
    read_part,
    trials,
)
from hstar.experiments.study.claims import FAILS, UNKNOWN, UNTOLD
from hstar.experiments.study.subjects import Generated
from hstar.learning import LearnOptions, Recipe, learn, split_states
from hstar.papers.regression_sampling import learners
from hstar.papers.regression_sampling.learners import (
    COLUMNS,
    GRID,
    LEARNERS,
    OneTask,
    SeenStates,
    used_states,
)
from hstar.papers.regression_sampling.study import (
    AVERAGES,
    GENERATED,
    PAPER,
    PRINTED,
    SCALES,
    RegressionSampling,
    all_tables,
    break_even_table,
    claims,
    coverage_table,
    resampled_means,
    together_table,
)
from hstar.planning.task import ground, parse_atom
from hstar.runtime.journal import JournalError
from hstar.runtime.resources import Budget, OutOfResources, stopped
from hstar.slots.teachers import TEACHERS

QUICK = {"hidden": 8, "width": 8, "batch": 256, "epochs": 2}


def quick(recipe: Recipe, states: int) -> OneTask:
    rows = tuple(dataclasses.replace(row, options=QUICK) for row in recipe.rows)
    return OneTask(dataclasses.replace(recipe, rows=rows, states=states))


STUDY = TrialStudy(
    GENERATED,
    ("RSL", "FF", "goal count", "plan", "learn", "plan --learn"),
    20.0,
    states=(2, 3),
    suite=GENERATED,
    learn=3.0,
)


def scale_of(domain: str, **sizes: list[int]) -> TrialScale:
    return TrialScale(2**31, (STUDY,), {domain: Generated(domain, test=sizes)})


TINY = scale_of("blocksworld", blocks=[8])
PEER = """\
import subprocess, sys
domain, problem, plan = sys.argv[1:4]
subprocess.run([sys.executable, "-m", "hstar", "plan", domain, problem, "--plan-file", plan])
"""


@pytest.fixture
def experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RegressionSampling:
    for name in ("RSL", "hstar"):
        monkeypatch.setitem(LEARNERS, name, quick(LEARNERS[name].recipe, 500))
    (tmp_path / "peer.py").write_text(PEER)
    peer = f"{sys.executable} {tmp_path / 'peer.py'} {{domain}} {{problem}} {{plan}}"
    (tmp_path / "run").mkdir()
    quiet: Any = {"say": lambda _: None}
    return RegressionSampling(TINY, tmp_path / "run", peers={"other": peer}, **quiet)


def generated_task(run: RegressionSampling, domain: str) -> Subject:
    ((_, path),) = run.find_tasks(STUDY)
    make_task(path, run.scale.generated[domain], 2, 0)
    return Subject.of_task(domain, path, STUDY.states)


def test_the_printed_means_are_those_of_the_printed_numbers() -> None:
    assert len(PRINTED) == 10
    for column in PAPER:
        mean = sum(row[column].mean for row in PRINTED.values()) / len(PRINTED)
        assert mean == pytest.approx(AVERAGES[column], abs=0.06)


@pytest.mark.parametrize("name", SCALES)
def test_scales_name_what_there_is(name: str) -> None:
    for study in SCALES[name].studies:
        assert set(study.columns) <= set(COLUMNS)
        run = RegressionSampling(SCALES[name], Path())
        assert set(run.learners_of(study)) <= set(LEARNERS)
        assert 1 not in study.states  # what is learned from is not planned for


def test_a_tiny_run_writes_every_table_and_continues(experiment: RegressionSampling) -> None:
    results = experiment.execute()
    runs = results.searches[GENERATED]
    assert {run["column"] for run in runs} == {*STUDY.columns, "other"}
    assert all(run["solved"] for run in runs if run["column"] in ("plan", "other", "FF"))
    report = experiment.report(results, "tiny")
    files = report.write(experiment.directory, "command", 1.0)
    assert files == ["report.html", "tables.md", "csv"]
    tables = (experiment.directory / "tables.md").read_text()
    assert "breaks even after" in tables and "plan --learn" in tables
    assert "blocksworld" in report.summary
    changed = {p: p.stat().st_mtime_ns for p in experiment.directory.glob("*/*/*/*/**/*.json")}
    some = next(path for path in changed if path.name == "FF 0.json")
    some.unlink()
    assert {r["column"] for r in experiment.execute().searches[GENERATED]} == {
        run["column"] for run in runs
    }
    for path in changed:
        assert (path.stat().st_mtime_ns == changed[path]) == (path != some)


def test_the_directory_of_another_experiment_is_refused(experiment: RegressionSampling) -> None:
    experiment.keep_settings()
    other = dataclasses.replace(experiment, seed=1)
    with pytest.raises(JournalError):
        other.execute()


def test_states_that_a_learner_saw_are_not_planned_for(
    experiment: RegressionSampling, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With many samples of a task of two blocks, training meets every state."""
    small = dataclasses.replace(experiment, scale=scale_of("blocksworld", blocks=[2]))
    monkeypatch.setitem(LEARNERS, "RSL", quick(LEARNERS["RSL"].recipe, 5000))
    task = generated_task(small, "blocksworld")
    small.carry_out("learning", small.trainings(STUDY, [task]))
    part = read_part(small.model(STUDY, task.name, "RSL", 0))
    assert part["used"] and part["used"] == [entry.path.stem for entry in task.test]
    assert not small.problems(STUDY, task)


@pytest.mark.parametrize("learner", ["RSL", "Boot", "AVI"])
def test_the_states_of_all_learners_are_known(learner: str, experiment: RegressionSampling) -> None:
    """Also of those that label for themselves: goals and others are among them."""
    task = generated_task(experiment, "blocksworld")
    problem, seen = task.train[0].problem(), SeenStates()
    recipe = quick(LEARNERS[learner].recipe, 300).recipe
    found = learn([problem], recipe, LearnOptions(4.0), Budget(), seen)
    assert found.file is not None
    first = ground(problem)
    goal = {first.fact_name(variable, value) for variable, value in first.goal}
    reached = [goal <= state for state in seen.states]
    assert any(reached) and not all(reached)


def test_a_scale_of_given_tasks_needs_their_folder(tmp_path: Path) -> None:
    run = hstar("paper", "regression-sampling", "--scale", "small", "-o", tmp_path / "out")
    assert run.code == 31 and "--suite" in run.err
    (tmp_path / "empty").mkdir()
    experiment = RegressionSampling(SCALES["small"], tmp_path / "run", suite=tmp_path / "empty")
    with pytest.raises(SuiteError, match="no folders DOMAIN/TASK"):
        experiment.execute()


def test_options_of_other_recipes_are_refused(tmp_path: Path) -> None:
    command = ("paper", "truncated-gaussian", "-o", tmp_path / "out")
    check_one_line(hstar(*command, "--suite", tmp_path), 36, "--suite is for regression-sampling")
    files = "{domain} {problem} {plan}"
    peer = ("--peer", f"x={sys.executable} {files}")
    check_one_line(hstar(*command, *peer), 36, "--peer is for regression-sampling")
    command = ("paper", "regression-sampling", "-o", tmp_path / "out")
    for wrong, message in (
        ("x=run", "it lacks {domain}, {problem}, {plan}"),
        (f"x=no-such-program {files}", "there is no program 'no-such-program'"),
        (f"x={sys.executable} {files} {{oops}}", "it knows no {oops}"),
        (f"x={sys.executable} {files} '", "No closing quotation"),
        (f"x/y={sys.executable} {files}", "no name that a file could have"),
        (f"FF={sys.executable} {files}", "that of a planner of ours"),
    ):
        run = hstar(*command, "--peer", wrong)
        assert run.code == 36 and message in run.err, run.err
    check_one_line(hstar(*command, "--suite", tmp_path / "no"), 36, "there is no folder")


def row(planner: str, solved: bool, **more: Any) -> dict[str, Any]:
    given = {"seconds": 2.0, "length": 10, "status": "", **more}
    about = {"subject": "d/t", "domain": "d", "problem": "p2", "column": planner, "seed": 0}
    return {**about, "solved": solved, **given}


def made_up(*runs: dict[str, Any]) -> TrialResults:
    network = {"subject": "d/t", "learner": "hstar", "seconds": 30.0, "pays": True}
    return TrialResults((STUDY,), {GENERATED: [network]}, {GENERATED: list(runs)})


def test_coverage_counts_solved_states() -> None:
    table = coverage_table(made_up(row("plan", True), row("learn", False)), STUDY)
    assert [str(cell) for cell in table.rows[0]] == ["d", "1", "100.0", "0.0"]
    assert [str(cell) for cell in table.rows[1]] == ["mean of the domains", "", "100.0", "0.0"]
    assert [str(cell) for cell in table.rows[2]] == ["its interval", "", "100.0-100.0", "0.0-0.0"]


def of_tasks(planner: str, *solved: bool) -> list[dict[str, Any]]:
    """A state of each of so many tasks."""
    return [row(planner, one) | {"subject": f"d/{i}"} for i, one in enumerate(solved)]


def test_intervals_are_those_of_tasks() -> None:
    """Half of 40 tasks: a binomial share, with a deviation of 50 / sqrt(40). The difference of
    columns varies less than they do if the same tasks are solved."""
    half = [i % 2 == 0 for i in range(40)]
    means = resampled_means(Searches([*of_tasks("plan", *half), *of_tasks("FF", *half[:-2], 0, 0)]))
    assert means["plan"].mean() == pytest.approx(50, abs=1)
    assert means["plan"].std() == pytest.approx(50 / 40**0.5, rel=0.1)
    assert (means["plan"] - means["FF"]).std() == pytest.approx(100 / 40, rel=0.2)


@pytest.mark.parametrize(
    ("learned", "default", "verdict"), [(30, 10, HOLDS), (10, 30, FAILS), (20, 19, UNTOLD)]
)
def test_a_claim_within_chance_cannot_be_told(learned: int, default: int, verdict: str) -> None:
    def solving(planner: str, count: int) -> list[dict[str, Any]]:
        return of_tasks(planner, *(i < count for i in range(40)))

    found = claims(made_up(*solving("plan", default), *solving("learn", learned)))
    (claim,) = (one for one in found if "default planner" in one.text and "alone" in one.text)
    assert claim.verdict == verdict
    assert ("? " in claim.numbers) == (verdict == UNTOLD)


def test_every_claim_of_the_paper_holds_in_the_paper() -> None:
    """What hstar adds is no claim of the paper, and training has no time of its own here."""
    study = dataclasses.replace(STUDY, name="grid")
    rows = [of_tasks(name, True)[0] for name in (*GRID, "RSL", "Boot", "AVI", "TSL")]
    found = claims(TrialResults((study,), {"grid": []}, {"grid": rows}))
    assert {one.paper_verdict for one in found if "hstar" not in one.text} == {HOLDS}
    assert any("grid" in one.text for one in found)
    (hours,) = (one for one in found if "time of training" in one.text)
    assert hours.verdict == UNKNOWN and "6.88" in hours.paper_numbers


def test_the_cost_is_said_beforehand(experiment: RegressionSampling, tmp_path: Path) -> None:
    """One task, two learners with 3 s, two states with 20 s for each of seven columns."""
    assert "at most 0.1 core hours" in experiment.cost(STUDY, [tmp_path / "none"])


def test_the_grid_has_the_published_setting_and_a_table() -> None:
    base = "L=500 N_r=5 P_r=0.5 both"
    teacher = TEACHERS.find("regression")
    asked = [LEARNERS[one].recipe.rows[0].teacher_options for one in (base, "N-RSL (code)")]
    assert teacher.settings(asked[0]) == teacher.settings(asked[1])
    other = "L=50 N_r=5 P_r=0.5 both"
    rows = [*of_tasks(base, True, True), *of_tasks(other, True, False)]
    study = dataclasses.replace(STUDY, columns=(base, other))
    found = TrialResults((study,), {GENERATED: []}, {GENERATED: rows})
    first, second = all_tables(found)[0].rows
    assert first[:5] == ["500", "5", "0.5", "both", "100.0"] and "58.8" in first[-1]
    assert second[:5] == ["50", "5", "0.5", "both", "50.0"] and not second[-1]


def test_learning_breaks_even_when_its_time_is_saved() -> None:
    runs = (row("plan", True, seconds=12.0), row("learn", True, seconds=2.0))
    assert break_even_table(made_up(*runs), STUDY).rows[0][4] == "3"
    runs = (row("plan", True, seconds=1.0), row("learn", False))
    assert break_even_table(made_up(*runs), STUDY).rows[0][4] == "never"


def test_ratios_are_over_what_both_solved() -> None:
    runs = (row("plan", True, seconds=4.0, length=5), row("learn", True))
    (line,) = together_table(made_up(*runs), STUDY).rows
    assert line == ["learn", "1", "0", "0", "0.50", "2.00"]


def test_claims_compare_means() -> None:
    results = made_up(row("plan", False), row("learn", True), row("N-RSL (code)", True))
    verdicts = {claim.text: claim for claim in claims(results)}
    alone = verdicts["hstar learn alone solves more than the default planner"]
    assert alone.verdict == HOLDS and "learn 100.0 against plan 0.0" in alone.numbers
    assert verdicts["hstar learn solves more than N-RSL"].verdict == UNTOLD
    lama = verdicts["LAMA solves more than all networks"]
    assert lama.verdict == UNKNOWN and lama.paper_verdict == HOLDS


def test_a_planner_that_fails_is_told_from_one_that_finds_nothing(tmp_path: Path) -> None:
    files = "{domain} {problem} {plan}"
    code = "import sys; sys.stderr.write('first\\nno licence\\n'); sys.exit({})"
    (tmp_path / "fails.py").write_text(code.format(3))
    (tmp_path / "gives-up.py").write_text(code.format(0))
    for name, status in (("fails", "failed"), ("gives-up", "no plan")):
        command = f"{sys.executable} {tmp_path / name}.py {files}"
        found = run_peer(command, tmp_path / "d.pddl", tmp_path / "p.pddl", 60.0)
        assert found["status"] == status and found["error"] == "no licence"


def test_a_planner_that_does_not_end_is_killed_with_its_children(tmp_path: Path) -> None:
    script = tmp_path / "slow.py"
    script.write_text(
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(tmp_path / 'child')!r}, 'w').write(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    command = f"{sys.executable} {script} {{domain}} {{problem}} {{plan}}"
    assert run_peer(command, tmp_path / "d.pddl", tmp_path / "p.pddl", 2.0)["status"] == "no plan"
    child = Path("/proc", (tmp_path / "child").read_text(), "stat")

    def is_alive() -> bool:
        try:
            return child.read_text().split()[2] != "Z"
        except OSError:  # it is gone
            return False

    end = time.monotonic() + 60  # on a busy machine a killed process takes a moment to die
    while is_alive() and time.monotonic() < end:
        time.sleep(0.05)
    assert not is_alive()


def test_an_interrupt_is_no_result(experiment: RegressionSampling, monkeypatch: Any) -> None:
    """A search that Ctrl-C ended must not count as one that found nothing."""
    task = generated_task(experiment, "blocksworld")
    entry = task.test[0]
    (training,) = (p for p in experiment.trainings(STUDY, [task]) if p[0].name == "RSL 0.json")
    part = experiment.search(STUDY, task.name, entry, "FF", 0)

    def interrupted(*_: Any) -> Any:
        raise stopped("interrupt")

    monkeypatch.setattr(trials, "plan_problem", interrupted)
    with pytest.raises(OutOfResources, match="interrupted"):
        make(part, experiment.search_once, (STUDY, task, entry, "FF", 0))
    monkeypatch.setattr(learners, "learn", interrupted)
    with pytest.raises(OutOfResources, match="interrupted"):
        make(*training)
    assert not list(experiment.directory.glob("searches/**/*.json"))
    assert not list(experiment.directory.glob("models/**/*.json"))


def test_states_are_compared_with_the_atoms_that_never_change(tmp_path: Path) -> None:
    """In visitall, a visited cell stays visited, so its atom is no fact of the grounded task."""
    experiment = RegressionSampling(scale_of("visitall", side=[12]), tmp_path, say=lambda _: None)
    task = generated_task(experiment, "visitall")
    problem = task.train[0].problem()
    first = ground(problem)
    parts = split_states([first], 0, Budget())
    states = [np.array(one.starts[0].state, np.int32) for one in (parts.choice, parts.verdict)]
    text = task.train[0].path.read_text()
    for entry, state in zip(task.test, states, strict=True):
        whole = ground(problem, keep_irrelevant=True, keep_constant=True)
        tracked = set(first.atoms(state))
        visited = {a for a in whole.atoms(whole.initial_state) if a.startswith("visited")}
        atoms = [parse_atom(atom) for atom in sorted(tracked | visited)]
        static = [atom for atom in problem.init if atom[0] == "connected"]
        made = with_initial_state(text, problem, [*static, *filter(None, atoms)])
        entry.path.write_text(made)
    assert used_states(task, SeenStates(), 0) == ["p2", "p3"]

"""The reward-shaping recipe: a tiny run of every stage, and its errors."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest
from label_folders import write_folder
from program import check_one_line, hstar

from hstar.experiments.bench import SuiteError
from hstar.experiments.study import (
    Entry,
    Subject,
    TrialResults,
    TrialScale,
    TrialStudy,
    make,
    trials,
)
from hstar.experiments.study.subjects import Generated
from hstar.papers.reward_shaping.learners import (
    ABLATION,
    APPENDIX,
    AS_RUN,
    COLUMNS,
    EQUAL_TIME,
    LEARNERS,
    PAPER,
)
from hstar.papers.reward_shaping.study import SCALES, RewardShaping
from hstar.papers.reward_shaping.tables import WORKS, appendix, compatibility_table
from hstar.runtime.journal import JournalError
from hstar.runtime.resources import OutOfResources, stopped
from hstar.slots import read_model

pytestmark = pytest.mark.usefixtures("one_thread")

TABLE_1 = tuple(column for column in SCALES["full"].studies[0].columns)
STUDY = TrialStudy(
    PAPER,
    TABLE_1,
    60.0,
    (0, 1),
    tests=0,
    steps={"paper": 60, "own": 60, "hgn": 2, "gnn": 1},
    label_limit=30.0,
    max_evaluations=30,
)
TIMED = TrialStudy(EQUAL_TIME, ("rollouts", "label + train", "plan"), 60.0, learn=4.0)
BLOCKS = Generated("blocksworld", (5, 2), {"blocks": [2, 3]}, {"blocks": [4, 5]})
CODE = dataclasses.replace(
    STUDY, name=AS_RUN, columns=("h^FF", "H^blind", "H^FF"), steps={"paper": 60}
)
PARTS = dataclasses.replace(
    STUDY,
    name=ABLATION,
    columns=("h^FF", "as run, no copy", "own, no searches"),
    steps={"paper": 60, "own": 60},
    seeds=(0,),
)
TINY = TrialScale(2**31, (STUDY, CODE, PARTS, TIMED), {"blocks": BLOCKS})


def experiment_in(
    folder: Path, scale: TrialScale = TINY, suite: Path | None = None
) -> RewardShaping:
    return RewardShaping(scale, folder, say=lambda _: None, suite=suite)


@pytest.mark.parametrize("name", SCALES)
def test_scales_name_what_there_is(name: str) -> None:
    for study in SCALES[name].studies:
        assert set(study.columns) <= set(COLUMNS)
        learners = RewardShaping(SCALES[name], Path()).learners_of(study)
        assert set(learners) <= set(LEARNERS)
        if study.name in (PAPER, AS_RUN, ABLATION):
            assert study.max_evaluations
            assert study.label_limit > 0 or "hgn" not in learners
            kinds = {RewardShaping.kind_of(SCALES[name], study, one) for one in learners}
            assert set(study.steps) == kinds
        else:
            assert study.learn > 0


def test_a_tiny_run_writes_every_table_and_continues(tmp_path: Path) -> None:
    experiment = experiment_in(tmp_path)
    results = experiment.execute()
    assert not [line for line in results.failures() if line.startswith(PAPER)]
    runs = results.searches[PAPER]
    assert {run["column"] for run in runs} == set(TABLE_1)
    assert all(run["requested"] <= 30 for run in runs if run["column"] != "plan")
    assert {run["seed"] for run in runs if run["column"] == "H^FF"} == {0, 1}
    assert {run["seed"] for run in runs if run["column"] == "GBFS-HGN"} == {0}
    assert all(run["solved"] for run in runs if run["column"] == "plan")
    held = tmp_path / "models" / AS_RUN / "blocks" / "H^FF 0.safetensors"
    assert read_model(held).metadata["training"]["settings"]["samples_actions"] is True
    for study, base in ((PAPER, "none"), (AS_RUN, "blind")):
        held = tmp_path / "models" / study / "blocks" / "H^blind 0.safetensors"
        assert read_model(held).metadata["objective"]["base"] == base
    goals = {row["learner"]: row["goals"] for row in results.trainings[PAPER] if "goals" in row}
    assert goals["H^FF"] > 0
    for row in results.trainings[PAPER]:
        assert len(row.get("goal_steps", [])) == row.get("goals", 0)
    learned = {row["learner"] for row in results.trainings[EQUAL_TIME] if not row["error"]}
    searched = {run["column"] for run in results.searches[EQUAL_TIME]}
    assert searched == {"plan", *learned}  # a busy machine may leave no time to learn
    report = experiment.report(results, "tiny")
    assert report.write(tmp_path, "command", 1.0) == ["report.html", "tables.md", "csv"]
    tables = (tmp_path / "tables.md").read_text()
    for title in (
        "Table 1",
        "Table 2",
        "(settings of the authors' code)",
        "(as run)",
        "Table 3",
        "Equal time",
        "Q5",
        "Spread over seeds",
    ):
        assert title in tables
    learned = {}
    for name in PARTS.columns[1:]:
        held = read_model(tmp_path / "models" / ABLATION / "blocks" / f"{name} 0.safetensors")
        learned[name] = held.metadata["training"]["settings"]
        assert f"| blocks | {name} | 2 |" in tables
    assert learned["as run, no copy"]["target_period"] == 0
    assert learned["as run, no copy"]["samples_actions"] is True
    assert learned["own, no searches"]["searches"] is False
    assert learned["own, no searches"]["bounded"] is True
    page = (tmp_path / "report.html").read_text()
    assert all(f"Figures {number}" in page for number in ("1 (right) and 3", "4 and 5"))
    assert "Q1" in report.summary
    assert not list(tmp_path.glob("**/*.partial"))

    changed = {p: p.stat().st_mtime_ns for p in tmp_path.glob("*/*/*/**/*.json")}
    some = next(path for path in changed if path.name == "h^FF 0.json")
    some.unlink()
    model = tmp_path / "models" / PAPER / "blocks" / "H^add 1.json"
    before = model.with_suffix(".safetensors").read_bytes()
    model.unlink()
    model.with_suffix(".safetensors").unlink()
    again = experiment.execute().searches[PAPER]
    names = ("column", "seed", "problem", "solved", "requested")
    assert [[run[n] for n in names] for run in again] == [[run[n] for n in names] for run in runs]
    assert model.with_suffix(".safetensors").read_bytes() == before
    for path in changed:
        assert (path.stat().st_mtime_ns == changed[path]) == (path not in (some, model))


def test_what_cannot_be_learned_is_said_and_not_searched_with(tmp_path: Path) -> None:
    """No optimal plan is found in no time."""
    study = dataclasses.replace(STUDY, columns=("h^FF", "GBFS-HGN"), label_limit=1e-9)
    scale = dataclasses.replace(TINY, studies=(study,))
    experiment = experiment_in(tmp_path, scale)
    results = experiment.execute()
    assert {run["column"] for run in results.searches[PAPER]} == {"h^FF"}
    (said,) = results.failures()
    assert "blocks hgn (seed 0) was not learned" in said and "0 training problems" in said
    experiment.report(results, "tiny").write(experiment.directory, "command", 1.0)
    assert "was not learned" in (tmp_path / "report.html").read_text()


def test_a_network_that_cannot_read_a_problem_solves_nothing(tmp_path: Path) -> None:
    """One such problem must not end a run of hours."""
    experiment = experiment_in(tmp_path / "run")
    other = Subject.read("mine", suite_in(tmp_path / "suite") / "mine", tmp_path / "mine.json")
    (blocks,) = (experiment.read(*one) for one in experiment.find_folders()[0].items())
    experiment.learn_once(STUDY, other, "H^FF", 0)
    row = experiment.search_once(STUDY, other, blocks.test[0], "H^FF", 0)
    assert not row["solved"] and "was trained on domain" in row["status"]
    results = TrialResults((STUDY,), {PAPER: []}, {PAPER: [row]})
    assert len(results.failures()) == 1


def test_the_directory_of_another_experiment_is_refused(tmp_path: Path) -> None:
    experiment_in(tmp_path).keep_settings()
    with pytest.raises(JournalError):
        dataclasses.replace(experiment_in(tmp_path), seed=1).execute()


def test_an_interrupt_is_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Ctrl-C ended must not count as a search or a training that found nothing."""
    experiment = experiment_in(tmp_path)
    folders, _ = experiment.find_folders()
    (problems,) = (experiment.read(*one) for one in folders.items())
    pieces = experiment.trainings(STUDY, [problems])
    (training,) = (piece for piece in pieces if piece[0].name == "H^FF 0.json")
    entry = problems.test[0]
    part = experiment.search(STUDY, "blocks", entry, "h^FF", 0)

    def interrupted(*_: object) -> None:
        raise stopped("interrupt")

    monkeypatch.setattr(trials, "plan_problem", interrupted)
    monkeypatch.setattr("hstar.training.reinforcement.rtdp.Rtdp.run", interrupted)
    with pytest.raises(OutOfResources, match="interrupted"):
        make(part, experiment.search_once, (STUDY, problems, entry, "h^FF", 0))
    with pytest.raises(OutOfResources, match="interrupted"):
        make(*training)
    assert not list(tmp_path.glob("searches/**/*.json"))
    assert not list(tmp_path.glob("models/**/*.json"))


def suite_in(folder: Path) -> Path:
    """A suite with one domain; two of its test problems are training problems, one of them under
    another name, the other laid out differently."""
    train = write_folder(folder / "mine" / "train", "gripper", count=4, seed=1)
    test = write_folder(folder / "mine" / "test", "gripper", count=3, seed=40)
    shutil.copy(train / "p00.pddl", test / "same.pddl")
    text = (train / "p01.pddl").read_text()
    (test / "again.pddl").write_text("; a comment\n" + text.replace("\n", "\n  "))
    return folder


def test_test_problems_that_are_training_problems_are_left_out(tmp_path: Path) -> None:
    suite = suite_in(tmp_path / "suite")
    part = tmp_path / "mine.json"
    found = Subject.read("mine", suite / "mine", part)
    assert sorted(Path(file).name for file in found.left_out) == ["again.pddl", "same.pddl"]
    assert [entry.path.name for entry in found.test] and len(found.test) == 3
    assert Subject.read("mine", suite / "mine", part) == found
    for path in (suite / "mine" / "test").glob("p*.pddl"):
        path.unlink()
    part.unlink()
    with pytest.raises(SuiteError, match="every test problem is a training problem"):
        Subject.read("mine", suite / "mine", part)


def test_a_suite_may_have_domains_of_its_own(tmp_path: Path) -> None:
    study = dataclasses.replace(STUDY, columns=("h^FF", "H^FF"), seeds=(0,))
    scale = TrialScale(2**31, (study,))
    experiment = experiment_in(tmp_path / "run", scale, suite_in(tmp_path / "suite"))
    experiment.directory.mkdir()
    results = experiment.execute()
    assert {run["domain"] for run in results.searches[PAPER]} == {"mine"}
    experiment.report(results, "tiny").write(experiment.directory, "command", 1.0)
    facts = (experiment.directory / "tables.md").read_text()
    assert "left out because they are training problems: 2" in facts


def test_tests_are_spread_over_sizes() -> None:
    entries = tuple(Entry(f"o{size}-p{i}.pddl", size) for size in (3, 5) for i in range(4))
    problems = Subject("mine", "mine", entries, entries)
    chosen = problems.chosen(2)
    assert [entry.objects for entry in chosen] == [3, 3, 5, 5]
    assert problems.chosen(0) == problems.chosen(9) == entries


def test_a_bad_suite_is_refused(tmp_path: Path) -> None:
    command = ("paper", "reward-shaping", "-o", tmp_path / "out")
    for scale, text in (
        (
            "small",
            "needs folders DOMAIN/train and DOMAIN/test of problems; name theirs with --suite",
        ),
        ("compatibility", "needs folders of problems with the names of appendix A.7"),
    ):
        check_one_line(hstar(*command, "--scale", scale), 31, text)
        (tmp_path / "empty").mkdir(exist_ok=True)
        run = hstar(*command, "--scale", scale, "--suite", tmp_path / "empty")
        check_one_line(run, 31, "there are no folders", str(tmp_path / "empty"))
    check_one_line(hstar(*command, "--suite", tmp_path / "no"), 36, "there is no folder")
    run = hstar(*command, "--peer", "x=y")
    assert run.code == 36


def test_domains_of_the_appendix_are_tried_one_by_one(tmp_path: Path) -> None:
    """One works, one is broken, one is not of the appendix."""
    asked = TrialStudy(APPENDIX, (APPENDIX,), 60.0, tests=2, steps={"paper": 30}, learn=60.0)
    write_folder(tmp_path / "suite" / "gripper", "gripper", count=3)
    broken = write_folder(tmp_path / "suite" / "blocks", "blocks", count=1)
    (broken / "p00.pddl").write_text("(define (problem x) (:domain blocks) (:init (oops)))")
    write_folder(tmp_path / "suite" / "unheard-of", "ferry", count=1)
    scale = TrialScale(2**31, (asked,))
    experiment = experiment_in(tmp_path / "run", scale, tmp_path / "suite")
    experiment.directory.mkdir()
    _, folders = experiment.find_folders()
    assert list(folders) == ["blocks", "gripper"]
    results = experiment.execute()
    rows = appendix(results)
    assert rows["gripper"]["outcome"] == WORKS
    assert rows["gripper"]["problems"] == rows["gripper"]["solved"] == 2
    assert rows["gripper"]["steps"] == 30
    assert "no '(:goal" in rows["blocks"]["outcome"] and rows["blocks"]["solved"] == 0
    table = compatibility_table(results, asked)
    assert table.shown.startswith("1 of 2 domains work")
    lines = {str(line[0]): line for line in table.rows}
    assert lines["barman-opt11-strips"][-1] == "not in the suite"
    assert lines["gripper"][-1] == WORKS
    report = experiment.report(results, "compatibility")
    report.write(experiment.directory, "command", 1.0)
    assert "1 of 2 domains of appendix A.7 work" in report.summary


def test_learning_that_takes_too_long_is_cut(tmp_path: Path) -> None:
    steps = 50_000_000
    asked = TrialStudy(APPENDIX, (APPENDIX,), 60.0, tests=1, steps={"paper": steps}, learn=0.5)
    write_folder(tmp_path / "suite" / "gripper", "gripper", count=1)
    experiment = experiment_in(tmp_path, TrialScale(2**31, (asked,)), tmp_path / "suite")
    subject = Subject.of_first("gripper", tmp_path / "suite" / "gripper", 1)
    row = experiment.learn_once(asked, subject, APPENDIX, 0)
    assert not row["error"] and 0 < row["steps"] < steps

"""`hstar learn FOLDER`: plans, models, ladders, a verdict."""

from __future__ import annotations

import itertools
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hstar.learning.candidates import RECIPES
from hstar.learning.choices import choices_along
from hstar.learning.domain import DomainLearner, DomainOptions, split_by_size
from hstar.learning.domain_outcome import DomainOutcome
from hstar.learning.ladder import Ladder
from hstar.learning.linear_model import linear_model
from label_folders import write_folder
from program import COMMAND, Outcome, check_one_line, hstar

from hstar.domains import generate
from hstar.planning.search import run
from hstar.planning.specification import DEFAULT_PLANNER, SearchSpecification
from hstar.planning.task import Task, ground, load_task
from hstar.runtime.resources import Budget, OutOfResources
from hstar.slots.loader import find_heuristic
from hstar.slots.model_file import ModelFile, read_model, write_model

QUICK = ("--steps", "300")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "problems", "blocks", 10)


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    """A folder, and what learning from it said. The model lies beside."""
    folder = write_folder(tmp_path_factory.mktemp("learned") / "problems", "blocks", 10)
    return folder, learn(folder)


def model_in(folder: Path) -> Path:
    return folder.parent / "m.safetensors"


def learn(folder: Path, *more: str | Path, quick: tuple[str, ...] = QUICK) -> Outcome:
    return hstar("learn", folder, "-o", model_in(folder), *quick, *more)


def tasks_in(folder: Path) -> list[Task]:
    return [load_task(folder / "domain.pddl", path) for path in sorted(folder.glob("p*.pddl"))]


def test_a_folder_is_learned_from(learned: tuple[Path, Outcome]) -> None:
    folder, run = learned
    assert run.code == 0, run.err
    model = model_in(folder)
    assert "5 problems to learn from, 2 larger ones to choose by, 2 for the verdict" in run.out
    assert "left out: 1 already solved" in run.out
    assert ": use it.\n" in run.out or "keep the default, because" in run.out
    assert model.exists() and not Path(f"{model}.partial").exists()
    problem, plan = folder / "p00.pddl", folder / "plan"
    assert hstar("plan", problem, "-H", model, "--plan-file", plan).code == 0
    assert hstar("validate", folder / "domain.pddl", problem, plan).code == 0
    file = read_model(model)
    assert file.metadata["features"]["name"] == "wl"
    assert file.metadata["training"]["verdict"] in run.out
    shown = hstar("model", "show", model)
    assert shown.code == 0 and "wl" in shown.out


def test_the_same_steps_give_the_same_bytes(folder: Path) -> None:
    contents = []
    for cores in ("0", "0,1"):
        command = [
            "taskset",
            "-c",
            cores,
            *COMMAND,
            "learn",
            folder,
            "-o",
            model_in(folder),
            *QUICK,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if "failed to set" in done.stderr:
            pytest.skip("there is one core")
        assert done.returncode == 0, done.stderr
        contents.append(model_in(folder).read_bytes())
    assert contents[0] == contents[1]
    assert learn(folder, "--seed", "1").code == 0
    assert read_model(model_in(folder)).metadata["features"]["name"] == "wl"


def test_time_limits(folder: Path) -> None:
    start = time.monotonic()
    run = learn(folder, quick=("--time", "5s"))
    assert run.code in (0, 12, 23)  # a busy machine may not even begin in that time
    assert time.monotonic() - start < 120
    assert run.code != 0 or "learned " in run.out or "was not compared" in run.out
    run = learn(folder, quick=("--time", "0.01s"))
    assert run.code in (0, 12, 23)
    check_one_line(learn(folder, "--time", "5s"), 36, "--time or --steps, not both")


def test_json(folder: Path) -> None:
    run = learn(folder, "--json")
    assert run.code == 0
    found = json.loads(run.out)
    assert found["plans"] == 5 and found["unit"] == "units of work"
    assert found["pays"] == found["verdict"].endswith("use it")


def test_one_problem(folder: Path) -> None:
    for path in sorted(folder.glob("p*.pddl"))[1:]:
        path.unlink()
    run = learn(folder)
    assert run.code == 0, run.err
    assert "1 problems to learn from" in run.out
    assert "On the training problem itself: " in run.out


LOCKS = """(define (domain locks) (:requirements :strips)
 (:predicates (at ?r) (door ?a ?b))
 (:action go :parameters (?a ?b) :precondition (and (at ?a) (door ?a ?b))
  :effect (and (at ?b) (not (at ?a)))))"""


def test_problems_without_a_plan(tmp_path: Path) -> None:
    folder = tmp_path / "locks"
    folder.mkdir()
    (folder / "domain.pddl").write_text(LOCKS)
    for number in range(3):
        (folder / f"p{number}.pddl").write_text(
            f"(define (problem p{number}) (:domain locks) (:objects a b c{number}) "
            "(:init (at a) (door b a)) (:goal (at b)))"
        )
    run = learn(folder)
    check_one_line(run, 36, "there is no problem to learn from", "3 without a plan")
    assert not list(tmp_path.glob("m.safetensors*"))


def test_nothing_is_solved_within_the_limits(folder: Path) -> None:
    run = learn(folder, quick=("--steps", "1"))
    assert run.code == 12
    assert "keep the default planner, because no training problem was solved" in run.out
    assert not model_in(folder).exists()


def test_wrong_options(folder: Path) -> None:
    for more in (("--width", "8"), ("--states", "5"), ("--objective", "squared")):
        check_one_line(learn(folder, *more), 36, f"{more[0]} is for one problem")
    check_one_line(learn(folder, "--option", "a=1"), 36, "--option belongs to a teacher")
    check_one_line(learn(folder, "--teacher", "backward"), 36, "takes one problem")


def test_another_domain_is_refused(learned: tuple[Path, Outcome], tmp_path: Path) -> None:
    folder, _ = learned
    other = write_folder(tmp_path / "other", "gripper", 1)
    run = hstar("plan", other / "p00.pddl", "-H", model_in(folder))
    assert run.code == 31 and "was trained on domain" in run.err


def test_its_ranking_of_operators_can_be_used_alone(
    learned: tuple[Path, Outcome], tmp_path: Path
) -> None:
    problem, plan = learned[0] / "p00.pddl", tmp_path / "plan"
    given = ("plan", problem, "-H", model_in(learned[0]), "--plan-file", plan)
    said = hstar(*given, "-s", "first-improvement", "--ranked")
    assert said.code == 0 and "ranked" in said.out
    check_one_line(hstar(*given, "-s", "gbfs", "--ranked"), 36, "gbfs does not take 'ranked'")
    wrong = hstar("plan", problem, "-H", "ff", "-s", "lazy", "--ranked", "--plan-file", plan)
    check_one_line(wrong, 36, "the heuristic ranks no operators")


def test_a_model_that_did_not_help_plans_as_the_default_does(
    learned: tuple[Path, Outcome], tmp_path: Path
) -> None:
    file = read_model(model_in(learned[0]))
    file.metadata["search"] = {"algorithm": "default", "cost": "one"}
    write_model(tmp_path / "m.safetensors", file)
    heuristic = find_heuristic(str(tmp_path / "m.safetensors"), None)
    assert SearchSpecification(heuristic).searches() == [DEFAULT_PLANNER]
    assert SearchSpecification(heuristic, "gbfs").searches()[0].heuristics == [heuristic]
    problem, model = learned[0] / "p00.pddl", tmp_path / "m.safetensors"
    said = hstar("plan", problem, "-H", model, "--plan-file", tmp_path / "plan")
    assert said.code == 0 and "did not beat the default planner" in said.out
    rows = tmp_path / "rows.parquet"
    compared = hstar("bench", problem, "-H", model, "default", "-o", rows, "--time-limit", "60s")
    assert compared.code == 0 and "m: default" in compared.out


def test_disjunctive_goals_do_not_end_the_run(tmp_path: Path) -> None:
    """A union of many of them has too many disjuncts to be grounded."""
    folder = tmp_path / "rooms"
    folder.mkdir()
    (folder / "domain.pddl").write_text(LOCKS.replace(":strips", ":adl"))
    for number in range(5):
        rooms = [f"r{i}" for i in range(number + 4)]
        doors = " ".join(f"(door {a} {b})" for a, b in itertools.pairwise(rooms))
        (folder / f"p{number}.pddl").write_text(
            f"(define (problem p{number}) (:domain locks) (:objects {' '.join(rooms)}) "
            f"(:init (at r0) {doors}) (:goal (or (at {rooms[-1]}) (at {rooms[-2]}))))"
        )
    found = learn(folder, quick=("--steps", "20000"))
    assert found.code == 0, found.err
    assert "1 problems to learn from" not in found.out


def test_a_run_that_goes_on_late_keeps_what_was_tried(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the time for choosing over, a journal still has all that was chosen from."""
    monkeypatch.setattr("hstar.learning.ladder.MOST_RUNGS", 2)
    kept: dict[str, bytes] = {}
    tasks = [task for task in tasks_in(folder) if not task.is_goal(task.initial_state)]

    def outcome(spent: float) -> DomainOutcome:
        options = DomainOptions(seconds=1000.0)
        return DomainLearner(
            tasks,
            options,
            Budget(),
            2**30,
            lambda _line: None,
            1,
            spent,
            kept.get,
            kept.__setitem__,
        ).run()

    first = outcome(0.0)
    assert first.file is not None and first.name is not None
    for name in [name for name in kept if name.startswith("verdict")]:
        del kept[name]
    again = outcome(900.0)
    assert again.name == first.name and again.file is not None
    assert again.file.metadata["features"] == first.file.metadata["features"]


def test_models_that_cannot_be_trained_are_left_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether that is noticed before the race or when the winner is corrected."""
    monkeypatch.setattr("hstar.learning.ladder.MOST_RUNGS", 2)
    made: list[str] = []

    def train(choices: Any, features: Any, budget: Budget, objective: str) -> ModelFile:
        made.append(objective)
        if objective == "l-gbfs" or len(made) > len(RECIPES):
            raise ValueError("there are too many features")
        if objective == "squared":
            raise OutOfResources("out of time", 23)
        return linear_model(choices, features, budget, objective)

    monkeypatch.setattr("hstar.learning.domain.linear_model", train)
    tasks = [task for task in tasks_in(folder) if not task.is_goal(task.initial_state)]
    said: list[str] = []
    found = DomainLearner(tasks, DomainOptions(seconds=1000.0), Budget(), 2**30, said.append).run()
    assert found.file is not None and found.score is not None
    assert "2 rounds, orders, l-gbfs: there are too many features" in said
    assert "2 rounds, orders, squared: training takes too long" in said


def test_split_by_size(folder: Path) -> None:
    tasks = tasks_in(folder)
    for count in range(1, len(tasks) + 1):
        split = split_by_size(tasks[:count])
        sizes = [[len(t.problem.objects) for t in part] for part in (
            split.training, split.choice, split.verdict)]  # fmt: skip
        assert all(sizes) and all(part == sorted(part) for part in sizes)
        if count >= 2:
            assert not {id(t) for t in split.verdict} & {id(t) for t in split.choice}
        if count >= 3:
            assert len({id(t) for part in (split.training, split.choice, split.verdict)
                        for t in part}) == count  # fmt: skip
            assert sizes[0][-1] <= min(sizes[1][0], sizes[2][0])


def test_choices_prefer_the_plan(folder: Path) -> None:
    task = tasks_in(folder)[5]
    found = run(task, SearchSpecification("lmcut", "astar"), Budget())
    assert found.plan
    choices = choices_along(task, found.plan)
    path = len(found.plan) + 1
    assert set(choices.better.tolist()) == set(range(1, path))
    assert len({state.tobytes() for state in choices.states}) == len(choices.states)
    for better, worse in zip(choices.better.tolist(), choices.worse.tolist(), strict=True):
        parent = choices.states[better - 1]
        successors = {state.tobytes() for state in task.successors(parent)[1]}
        assert choices.states[better].tobytes() in successors
        assert worse == better - 1 or (
            worse >= path and choices.states[worse].tobytes() in successors
        )
    expected = sum(
        1 + sum(s.tobytes() not in {p.tobytes() for p in choices.states[:path]}
                for s in task.successors(choices.states[i])[1])
        for i in range(path - 1)
    )  # fmt: skip
    assert len(choices.better) == expected


def test_rungs_double(folder: Path) -> None:
    problems = [task.problem for task in tasks_in(folder)]
    ladder = Ladder("verdict", problems, 0)
    first = ladder.rung(0)
    assert first is not None and first.problems == tuple(problems[-6:])
    names = set()
    number = 1
    while (rung := ladder.rung(number)) is not None:
        for name, problem in zip(rung.names, rung.problems, strict=True):
            names.add(name)
            assert problem.name.count(" + ") == 2**number - 1
        number += 1
    assert number > 3 and len(names) == 3 * (number - 1)
    assert ladder.rung(1) is ladder.rung(1)
    again, before = Ladder("verdict", problems, 0).rung(2), ladder.rung(2)
    assert again is not None and before is not None
    assert [p.objects for p in again.problems] == [p.objects for p in before.problems]
    plan = run(ground(again.problems[0]), DEFAULT_PLANNER, Budget())
    assert plan.solved


def test_several_domains_in_one_folder(folder: Path, tmp_path: Path) -> None:
    other = write_folder(tmp_path / "gripper", "gripper", 1)
    (other / "p00.pddl").rename(folder / "p99.pddl")
    run = learn(folder)
    assert run.code == 31 and "p99.pddl" in run.err
    assert not list(tmp_path.glob("m.safetensors*"))
    check_one_line(
        hstar("learn", tmp_path, "-o", tmp_path / "m.safetensors"), 31, "name one of its folders"
    )


def test_problems_of_one_size(tmp_path: Path) -> None:
    folder = tmp_path / "ferry"
    sizes = {"locations": [3], "cars": [3]}
    generate("ferry", folder, ["train"], count=6, ranges=sizes)
    run = learn(folder / "train")
    assert run.code == 0, run.err
    assert "4 problems to learn from, 1 larger ones to choose by, 1 for the verdict" in run.out
    assert ": use it.\n" in run.out or "keep the default, because" in run.out


def test_a_full_disk(folder: Path) -> None:
    """Files may not grow beyond some bytes: the model cannot be written, and is not half there."""
    limited = [
        "bash",
        "-c",
        'ulimit -f 1; exec "$@"',
        "-",
        *COMMAND,
        "learn",
        str(folder),
        "-o",
        str(model_in(folder)),
        *QUICK,
    ]
    run = subprocess.run(limited, capture_output=True, text=True, timeout=600)
    assert run.returncode == 36 and "cannot write" in run.stderr, run
    assert not model_in(folder).exists()
    assert learn(folder).code == 0 and model_in(folder).exists()

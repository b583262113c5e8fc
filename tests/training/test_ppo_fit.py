"""`hstar learn FOLDER --teacher policy`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from label_folders import write_folder
from learning_runs import check_learned, learn, model_in
from program import hstar as program

from hstar.learning.split import usable_tasks
from hstar.pddl import parse
from hstar.planning.task import Task
from hstar.runtime.resources import Budget, OutOfResources
from hstar.slots.model_file import ModelFile, read_model, to_bytes
from hstar.training.fit import FITS, Lesson, Limits, ModelRow, fit_for
from hstar.training.fit.ppo import fit_ppo
from hstar.training.reinforcement import ppo

SMALL = {"hidden": "8", "rounds": "2", "episodes": "8", "batch": "64"}
OPTIONS = [word for name, value in SMALL.items() for word in ("--option", f"{name}={value}")]
ROW = ModelRow("policy", "atoms", "gnn", "ppo", None, SMALL)


@pytest.fixture
def tasks(tmp_path: Path) -> list[Task]:
    folder = write_folder(tmp_path / "problems", "gripper", 3)
    problems = [parse(folder / "domain.pddl", path) for path in sorted(folder.glob("p*.pddl"))]
    return usable_tasks(problems, Budget(), lambda _line: None)


def test_the_command_learns_a_policy_that_plans(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "problems", "gripper", 5)
    run = learn(folder, model_in(folder), "--teacher", "policy", "--steps", "48", *OPTIONS)
    check_learned(run, model_in(folder))
    assert "update 4: " in run.out and "of 8 episodes reach the goal" in run.out
    held = read_model(model_in(folder)).metadata
    assert held["training"]["done"] == 6 and held["training"]["hidden"] == 8
    assert held["decode"]["name"] == "h-adjusted"
    plan = tmp_path / "plan"
    problem = folder / "p00.pddl"
    made = program("plan", problem, "-H", model_in(folder), "-s", "gbfls", "--plan-file", plan)
    assert made.code == 0 and plan.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--option", "hiden=8"), "policies have no option 'hiden'; their options are: hidden, "),
        (("--option", "updates=8"), "no option 'updates'"),
        (("--option", "attention=maybe"), "yes or no"),
        (("--option", "discount=1"), "the discount lies between 0 and 1"),
        (("--model", "nlm"), "gives no labels; its fit takes teacher policy, model gnn"),
        (("--objective", "squared"), "gives no labels; its fit takes"),
    ],
)
def test_wrong_options(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "problems", "gripper", 2)
    run = learn(folder, model_in(folder), "--teacher", "policy", *options)
    assert run.code == 36 and message in run.err


def test_no_other_recipe_loads_it() -> None:
    assert fit_for(ROW) is FITS.find("ppo")
    assert not FITS.find("ppo").takes(replace(ROW, teacher="rollouts"))


def test_a_run_that_was_stopped_goes_on(
    tasks: list[Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal keeps the best so far; the same run ends later as if nothing had happened."""
    monkeypatch.setattr(ppo, "CHECKPOINT_SECONDS", 0.0)
    lesson, kept, said = Lesson(tasks=tasks), list[ModelFile](), list[str]()
    whole = fit_ppo(lesson, ROW, Limits(Budget(), 1, steps=48))
    assert whole is not None

    def stop(update: int, _text: str) -> None:
        if update == 3:
            raise KeyboardInterrupt

    limits = Limits(Budget(), 1, 48, checkpoint=tmp_path / "run", keep=kept.append, say=said.append)
    with pytest.raises(KeyboardInterrupt):
        fit_ppo(lesson, ROW, replace(limits, report=stop))
    assert kept[0].metadata["training"]["done"] == 3
    resumed = fit_ppo(lesson, ROW, limits)
    assert resumed is not None and "going on from update 2" in said
    assert to_bytes(resumed) == to_bytes(whole)


def test_time_ends_it_in_the_middle_of_an_update(tasks: list[Task]) -> None:
    over = Budget(deadline=1e-9)
    assert fit_ppo(Lesson(tasks=tasks), ROW, Limits(over)) is None
    with pytest.raises(OutOfResources, match="out of time"):
        ppo.PolicyRun(tasks, ppo.PPOOptions(), budget=over).go()

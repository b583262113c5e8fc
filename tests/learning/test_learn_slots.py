"""Every teacher x features x model x objective that fits together goes through the one learner;
what does not fit is one clear line. See tests/slots/test_slots.py for `label` and `train`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from slot_combinations import every_pair, small, with_open_variables

from hstar.domains import generate
from hstar.learning import making, trials
from hstar.learning.judge import DEFAULT
from hstar.learning.options import LearnOptions
from hstar.learning.pipeline import Outcome, learn
from hstar.learning.recipe import RECIPES, Recipe, SlotChoice
from hstar.pddl import Problem, parse
from hstar.planning.search import run
from hstar.planning.specification import SearchSpecification
from hstar.planning.task import ground
from hstar.runtime.pool import Job
from hstar.runtime.resources import Budget
from hstar.slots.features import FEATURES
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import read_model
from hstar.slots.objectives import OBJECTIVES
from hstar.slots.teachers import TEACHERS
from hstar.training.fit import FITS, fit_for

pytestmark = pytest.mark.usefixtures("one_thread_in_module")

GREEDY = RECIPES["domain"].searches[0]
TINY: Recipe = replace(RECIPES["domain"], searches=(GREEDY,), plain_searches=(), corrections=1)
FEW = {"states": 60, "rounds": 2}  # options of teachers that sample, or repeat
BOOTSTRAPPED = ("bootstrap", "value-iteration")  # their labels are no whole numbers


class Here:
    """A pool that works in this process: workers would import everything again each time."""

    def __init__(self, *_: Any) -> None:
        pass

    def __enter__(self) -> Here:
        """New workers remember nothing."""
        making._dataset = None
        trials._tasks.clear()
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def answers(self, jobs: Iterable[Job], *_: Any) -> Iterator[tuple[Any, Any]]:
        for key, function, *arguments in jobs:
            yield key, function(*arguments)


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> list[Problem]:
    return blocksworld(tmp_path_factory.mktemp("learned"), 4)


def blocksworld(base: Path, count: int) -> list[Problem]:
    generate("blocksworld", base, ["train"], seed=4, count=count, ranges={"blocks": [3]})
    folder = base / "train"
    found = [parse(folder / "domain.pddl", path) for path in sorted(folder.glob("blocks*.pddl"))]
    tasks = map(ground, found)
    return [one for one, task in zip(found, tasks, strict=True)
            if not task.is_goal(task.initial_state)]  # fmt: skip


def chosen(teacher: str, model: str, features: str, objective: str, **given: Any) -> Recipe:
    """The tiny recipe with these slots, and the smallest networks. Raises ValueError."""
    options: dict[str, Any] = {**small(model, features), **given}
    own = TEACHERS.find(teacher).options
    options |= {name: value for name, value in FEW.items() if name in own and name != "states"}
    if teacher == "rollouts" and "steps" in options:
        options["steps"] = 200
    probe = SlotChoice(teacher, features, model, objective)
    row = probe.apply(TINY).rows[0]
    if fit_for(row) is FITS.find("mlp"):
        options = {"hidden": 6, "width": 4, **{k: v for k, v in options.items() if k in own}}
    if fit_for(row).acts:
        options = {"depth": 2, "width": 4, "batch": 8, "least_states": 8}
    return replace(SlotChoice(teacher, features, model, objective, options).apply(TINY), states=60)


def learned(recipe: Recipe, problems: list[Problem], said: list[str]) -> Outcome:
    return learn(problems, recipe, LearnOptions(steps=60), Budget(), None, said.append)


@pytest.mark.parametrize(("teacher", "model", "features", "objective"), every_pair(TEACHERS))
def test_slots_in_the_learner(
    teacher: str,
    model: str,
    features: str,
    objective: str,
    problems: list[Problem],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hstar.learning.pipeline.Pool", Here)
    monkeypatch.setattr("hstar.learning.race.MOST_RUNGS", 1)
    monkeypatch.setattr("hstar.learning.judge.MOST_DRAWS", 1)
    slots = (teacher, model, features, objective)
    if TEACHERS.find(teacher).prepare is not None:
        with pytest.raises(ValueError, match="reads files beside the problems"):
            chosen(*slots)
        return
    recipe, said = chosen(*slots), list[str]()
    some = problems
    if FEATURES.find(features).needs == "space":
        with pytest.raises(ValueError, match=f"features '{features}' are those of one problem"):
            learned(recipe, problems, said)
        some = problems[-1:]
    outcome = learned(recipe, some, said)
    if outcome.file is None:
        wrong = [one for one in reasons(teacher, features, objective) if one in " ".join(said)]
        assert wrong, said
        none_made = r"no model of the labels of \d+ problems? could be made$"
        assert re.search(none_made, outcome.verdict.sentence)
        legal = with_open_variables(features, objective)[1]
        if legal is None or "--base none" not in wrong[0]:
            return
        recipe = chosen(*slots, **legal)
        outcome = learned(recipe, some, said)
    assert outcome.file is not None and outcome.chosen is not None, said
    held = outcome.file.metadata
    assert held["model"]["name"] == model and held["features"]["name"] == features
    assert held["objective"]["name"] == objective
    assert held["verdict"] == json.loads(json.dumps(asdict(outcome.verdict)))
    heuristic = LearnedHeuristic(outcome.file, "learned")
    for search in (SearchSpecification(heuristic), replace(GREEDY, heuristic=heuristic)):
        found = run(ground(some[-1]), search, Budget())
        assert found.solved


def reasons(teacher: str, features: str, objective: str) -> list[str]:
    """What may be said of slots whose labels do not fit the rest."""
    found = []
    message, _ = with_open_variables(features, objective)
    if message is not None and not TEACHERS.find(teacher).replaces:
        found += [message, "these labels have none; choose another"]
    if OBJECTIVES.find(objective).form == "logits":
        found.append("whole numbers")
    return found


def test_examples_outside_the_package_are_learned_with(tmp_path: Path) -> None:
    from label_folders import write_folder
    from learning_runs import check_learned
    from program import hstar

    examples = Path(__file__).parents[2] / "examples"
    folder = write_folder(tmp_path / "problems", "gripper", 4)
    teacher = ("--teacher", "teacher_random_walks:TEACHER", "--recipe", "problem")
    for name, slots in {
        "model": ("--model", "my_model:MODEL", "--objective", "squared"),
        "objective": ("--model", "linear", "--objective", "my_objective:Pinball"),
        "teacher": ("--model", "linear", "--objective", "rank-svm", "--option", "walks=3"),
    }.items():
        model = tmp_path / f"{name}.safetensors"
        options = ("-o", model, "--steps", "20", *teacher, *slots)
        check_learned(hstar("learn", folder, *options, cwd=examples), model)
        held = read_model(model, trust=True).metadata
        assert held["model"]["name"] == slots[1] and held["objective"]["name"] == slots[3]


def test_an_interrupt_keeps_the_verdict_on_the_problems_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Draws after the first only make the verdict surer."""

    def undecided(_: Any, rung: Any, searchers: Any, times: int) -> Any:
        if "draw" in rung.name:
            raise KeyboardInterrupt
        spent = {name: 1.0 if name == DEFAULT else 0.5 for name in searchers}  # the same in turns
        return {n: [trials.Trial(True, spent[n], 5.0)] * len(rung.starts) for n in searchers}

    monkeypatch.setattr("hstar.learning.pipeline.LearningRun._on_verdict_rung", undecided)
    monkeypatch.setattr("hstar.learning.pipeline.Pool", Here)
    found = learned(TINY, blocksworld(tmp_path, 12), [])
    assert found.interrupted and found.verdict.use == "default"
    assert "is not noticeably better: keep the default" in found.verdict.sentence
    assert found.file is not None and found.file.metadata["verdict"]["use"] == "default"

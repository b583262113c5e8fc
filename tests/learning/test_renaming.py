"""Names mean nothing: renaming predicates, types, actions and objects changes no model, no search
and no verdict."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from linear_lessons import from_plans, linear_model
from program import hstar

from hstar.domains import generate
from hstar.pddl import parse
from hstar.pddl.model import Problem
from hstar.planning.search import run
from hstar.planning.specification import DEFAULT_PLANNER, SearchSpecification
from hstar.planning.task import Task, ground
from hstar.runtime.resources import Budget
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import ModelFile, read_model

SIZES = {
    "blocksworld": {"blocks": [5, 6]},
    "ferry": {"locations": [3, 4], "cars": [3]},
    "gripper": {"balls": [3, 4]},
    "logistics": {},
    "satellite": {},
    "visitall": {"side": [3, 4]},
}
PROBLEMS = 5  # of each domain: 30 tasks


def new_names(problems: list[Problem]) -> dict[str, str]:
    """Names whose alphabetical order is the opposite of that of the old ones."""
    domain = problems[0].domain
    types = [name for name in domain.types if name != "object"]
    actions = [action.name for action in domain.actions]
    objects = [name for problem in problems for name in problem.objects]
    old = sorted({*types, *domain.predicates, *actions, *objects})
    return {name: f"n{len(old) - place:04d}" for place, name in enumerate(old)}


def renamed_text(text: str, names: dict[str, str]) -> str:
    return re.sub(r"[\w-]+", lambda found: names.get(found[0].lower(), found[0]), text)


def folders(domain: str, folder: Path) -> tuple[Path, Path, dict[str, str]]:
    """A folder of problems, the same renamed, and the new names."""
    generate(domain, folder, ["train"], seed=5, count=PROBLEMS, ranges=SIZES[domain])
    source, target = folder / "train", folder / "renamed"
    target.mkdir()
    text = (source / "domain.pddl").read_text()
    problems = sorted(path for path in source.glob("*.pddl") if path.stem != "domain")
    names = new_names([parse(source / "domain.pddl", path) for path in problems])
    (target / "domain.pddl").write_text(renamed_text(text, names))
    for path in problems:
        (target / path.name).write_text(renamed_text(path.read_text(), names))
    return source, target, names


def tasks_in(folder: Path) -> list[Task]:
    files = sorted(path for path in folder.glob("*.pddl") if path.stem != "domain")
    return [ground(parse(folder / "domain.pddl", path)) for path in files]


def model_of(tasks: list[Task]) -> ModelFile:
    solvable = [task for task in tasks if not task.is_goal(task.initial_state)]
    features = {"rounds": 2, "orders": True, "statics": True}
    return linear_model(from_plans(solvable), features)


@pytest.mark.parametrize("domain", SIZES)
def test_models_and_searches_stay_the_same(domain: str, tmp_path: Path) -> None:
    source, target, names = folders(domain, tmp_path)
    before, after = tasks_in(source), tasks_in(target)
    assert len(before) == len(after) == PROBLEMS
    assert before[0].problem.domain.predicates.keys() != after[0].problem.domain.predicates.keys()
    one, two = model_of(before), model_of(after)
    assert (
        one.metadata["features"]["config"]["colours"]
        == (two.metadata["features"]["config"]["colours"])
    )
    np.testing.assert_array_equal(one.tensors["weight"], two.tensors["weight"])
    h, renamed_h = LearnedHeuristic(one, "model"), LearnedHeuristic(two, "model")
    for task, other in zip(before, after, strict=True):
        for options, its in (
            (DEFAULT_PLANNER, DEFAULT_PLANNER),
            (SearchSpecification(h, "gbfs"), SearchSpecification(renamed_h, "gbfs")),
            (
                SearchSpecification(h, "first-improvement"),
                SearchSpecification(renamed_h, "first-improvement"),
            ),
            (
                SearchSpecification(h, "lazy", preferred_by="ff", look_ahead=True),
                SearchSpecification(renamed_h, "lazy", preferred_by="ff", look_ahead=True),
            ),
        ):
            mine, theirs = run(task, options, Budget()), run(other, its, Budget())
            assert mine.solved and theirs.solved and mine.plan and theirs.plan
            assert [renamed_text(step, names) for step in mine.plan] == theirs.plan
            assert (mine.evaluated, mine.expanded, mine.generated) == (
                theirs.evaluated, theirs.expanded, theirs.generated,
            )  # fmt: skip


def test_learning_stays_the_same(tmp_path: Path) -> None:
    source, target, _ = folders("ferry", tmp_path)
    models = []
    for folder in (source, target):
        output = tmp_path / f"{folder.name}.safetensors"
        said = hstar("learn", folder, "-o", output, "--steps", "300")
        assert said.code == 0, said.err
        models.append(read_model(output))
    one, two = models
    assert one.metadata["search"] == two.metadata["search"]
    assert one.metadata["training"] == two.metadata["training"]
    np.testing.assert_array_equal(one.tensors["weight"], two.tensors["weight"])

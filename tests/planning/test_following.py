"""Lazy search that follows relaxed plans, and entries of OPEN that stand for many edges."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import pytest
from random_tasks import random_task

from hstar import search
from hstar.domains import generate
from hstar.pddl import parse
from hstar.pddl.validate import validate
from hstar.planning.specification import DEFAULT_PLANNER, SearchSpecification
from hstar.planning.task import Task, ground, load_task

SIZES = {
    "blocksworld": {"blocks": [8, 10]},
    "ferry": {"locations": [6], "cars": [8, 12]},
    "logistics": {},
    "satellite": {},
    "visitall": {"side": [5]},
}


@functools.cache
def tasks_of(domain: str, split: str = "train") -> list[Task]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(domain, folder, [split], seed=3, count=4, ranges=SIZES[domain])
        files = sorted(path for path in (folder / split).glob("*.pddl") if path.stem != "domain")
        return [load_task(folder / split / "domain.pddl", path) for path in files]


@pytest.mark.parametrize("domain", SIZES)
@pytest.mark.parametrize("batch", [1, 32])
def test_plans_are_valid_and_the_same_again(domain: str, batch: int) -> None:
    for task in tasks_of(domain):
        found = search(task, "ff", "lazy", batch=batch, look_ahead=True)
        assert found.solved and found.plan is not None
        steps = [tuple(step.strip("()").split()) for step in found.plan]
        assert validate(task.problem, steps).valid
        again = search(task, "ff", "lazy", batch=batch, look_ahead=True)
        assert (again.plan, again.evaluated) == (found.plan, found.evaluated)
        goals = search(task, "goalcount", "lazy", batch=batch, preferred_by="ff", look_ahead=True)
        assert goals.solved


def test_it_needs_fewer_evaluations_where_goals_are_independent() -> None:
    for domain in ("logistics", "satellite"):
        plain, following = (
            sum(
                search(task, "ff", "lazy", look_ahead=look_ahead).evaluated
                for task in tasks_of(domain, "test")
            )
            for look_ahead in (False, True)
        )
        assert following < plain / 2


@pytest.mark.parametrize("block", range(4))
def test_it_solves_what_lazy_search_solves(block: int) -> None:
    """On random tasks, with conditional effects and zero costs among them; and finds no plan where
    there is none."""
    outcomes = set()
    for seed in range(50 * block, 50 * block + 50):
        with tempfile.TemporaryDirectory() as name:
            drawn = random_task(seed)
            for file, text in (("domain", drawn.domain), ("problem", drawn.problem)):
                (Path(name) / f"{file}.pddl").write_text(text)
            task = ground(parse(Path(name) / "domain.pddl", Path(name) / "problem.pddl"))
        plain = search(task, "ff", "lazy", max_expansions=3000)
        following = search(task, "ff", "lazy", max_expansions=3000, look_ahead=True)
        if "gave up" not in (plain.status, following.status):
            assert plain.status == following.status
        outcomes.add(following.status)
    assert outcomes >= {"solved", "unsolvable"}


def test_limits_hold() -> None:
    task = tasks_of("logistics")[-1]
    whole = search(task, "ff", "lazy", batch=32, look_ahead=True).evaluated
    for most in range(1, whole + 2):
        found = search(task, "ff", "lazy", batch=32, look_ahead=True, max_evaluations=most)
        assert found.evaluated <= most
        assert found.solved or found.status == "gave up"


def test_what_cannot_look_ahead_is_refused() -> None:
    task = tasks_of("logistics")[0]
    with pytest.raises(ValueError, match="gbfs does not take 'look_ahead'; choose lazy"):
        search(task, "ff", "gbfs", look_ahead=True)
    for options in ({"heuristic": "hadd"}, {"heuristic": "ff", "preferred": False}):
        with pytest.raises(
            ValueError, match="relaxed plans of a heuristic with preferred operators"
        ):
            search(task, algorithm="lazy", look_ahead=True, **options)


def test_the_default_planner_can_look_ahead() -> None:
    (chosen,) = SearchSpecification(look_ahead=True).searches()
    assert chosen.look_ahead and chosen.heuristics == DEFAULT_PLANNER.heuristics
    assert "look-ahead" in chosen.describe()
    assert not DEFAULT_PLANNER.look_ahead

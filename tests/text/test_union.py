"""Unions of problems, and what they are for in learning."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from hstar import search
from hstar.domains import generate
from hstar.pddl import Problem, parse
from hstar.pddl.union import single_predicates, union
from hstar.pddl.validate import validate
from hstar.planning.task import ground, load_task
from hstar.runtime.resources import Budget
from hstar.training.fit import Lesson, Limits
from hstar.training.fit.rtdp import MOST_OBJECTS, ActingLearner, draw_unions
from hstar.training.reinforcement.rtdp import PRESETS, Rtdp

SMALL = {"depth": 2, "width": 4, "batch": 8, "least_states": 8, "updates": 60}


def problems_in(folder: Path) -> list[Problem]:
    files = sorted(path for path in folder.glob("*.pddl") if path.name != "domain.pddl")
    return [parse(folder / "domain.pddl", path) for path in files]


SIZES = {
    "blocksworld": {"blocks": [3, 4]},
    "ferry": {"locations": [3], "cars": [2]},
    "gripper": {"balls": [2, 3]},
    "visitall": {"side": [3]},
}


@pytest.mark.parametrize("domain", SIZES)
def test_one_plan_after_the_other_solves_the_union(domain: str, tmp_path: Path) -> None:
    generate(domain, tmp_path, ["train"], count=3, ranges=SIZES[domain])
    parts = problems_in(tmp_path / "train")
    whole = union(parts)
    assert len(whole.objects) == sum(len(part.objects) for part in parts)
    steps = [
        (name, *(f"{one}/{number}" for one in names))
        for number, part in enumerate(parts)
        for name, *names in plan_of(part)
    ]
    assert validate(whole, steps).valid
    assert validate(whole, plan_of(whole)).valid


def plan_of(problem: Problem) -> list[tuple[str, ...]]:
    found = search(ground(problem), "ff", "gbfs")
    assert found.solved and found.plan is not None
    return [tuple(step.strip("()").split()) for step in found.plan]


def test_constants_and_atoms_without_objects_are_shared(tmp_path: Path) -> None:
    (tmp_path / "domain.pddl").write_text(
        "(define (domain d) (:requirements :typing :action-costs) (:types t) (:constants k - t)"
        " (:predicates (p ?x - t) (free)) (:functions (total-cost) - number (c ?x - t) - number)"
        " (:action a :parameters (?x - t) :precondition (free)"
        " :effect (and (p ?x) (increase (total-cost) (c ?x)))))"
    )
    # The names of the second problem look like those that a union might give to the first.
    for name, objects in (("one", "x"), ("two", "x x-0 x_0")):
        costs = " ".join(f"(= (c {one}) 2)" for one in objects.split())
        (tmp_path / f"{name}.pddl").write_text(
            f"(define (problem {name}) (:domain d) (:objects {objects} - t) (:init (free)"
            f" (= (total-cost) 0) (= (c k) 1) {costs})"
            " (:goal (and (p k) (p x) (forall (?y - t) (p ?y)))) (:metric minimize (total-cost)))"
        )
    parts = [parse(tmp_path / "domain.pddl", tmp_path / f"{n}.pddl") for n in ("one", "two")]
    whole = union(parts)
    assert list(whole.objects) == ["k", "x/0", "x/1", "x-0/1", "x_0/1"]
    assert whole.init == [("free",)]
    found = search(ground(whole), "blind", "astar", cost="normal")
    assert found.plan_cost == 1 + 4 * 2


def test_unions_without_a_plan_and_large_ones_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "domain.pddl").write_text(
        "(define (domain d) (:predicates (p ?x) (q ?x) (locked)) (:action a :parameters (?x)"
        " :precondition (and (p ?x) (not (locked))) :effect (q ?x)))"
    )
    for name, init in (("free", "(p x)"), ("locked", "(p x) (locked) (q x)")):
        (tmp_path / f"{name}.pddl").write_text(
            f"(define (problem {name}) (:domain d) (:objects x) (:init {init}) (:goal (q x)))"
        )
    free, locked = (
        load_task(tmp_path / "domain.pddl", tmp_path / f"{name}.pddl")
        for name in ("free", "locked")
    )
    assert len(draw_unions([free, free, free], 2, 50, 0, Budget())) == 3  # no two are the same
    assert draw_unions([free], 2, 5, 0, Budget()) == []
    mixed = draw_unions([free, locked], 2, 5, 0, Budget())
    assert mixed == []  # what is locked in one part is locked in the other
    assert draw_unions((MOST_OBJECTS + 1) * [free], MOST_OBJECTS + 1, 5, 0, Budget()) == []


def test_the_learner_draws_unions_of_training_problems(tmp_path: Path) -> None:
    generate("gripper", tmp_path, ["train"], count=10, ranges={"balls": [2, 3]})
    tasks = [ground(problem) for problem in problems_in(tmp_path / "train")]
    lesson = Lesson(tasks=tasks[:-2], others=tasks[-2:])
    learners, said = {}, []
    for count in (0, 5):
        settings = replace(PRESETS["own"], **SMALL, unions=count)
        learners[count] = ActingLearner(lesson, settings, Limits(Budget(), say=said.append))
        assert learners[count].run() is not None
    assert len(learners[0].choice) == 2 and "unions" not in said[0]
    assert len(learners[5].choice) == 2 + 1  # there is one union of both, and none of four
    assert any(re.search(r"on 8 problems and [1-5] unions of two$", line) for line in said)


def test_unions_share_a_bucket(tmp_path: Path) -> None:
    generate("blocksworld", tmp_path, ["train"], count=6, ranges={"blocks": [3, 4]})
    tasks = [ground(problem) for problem in problems_in(tmp_path / "train")]
    unions = [task for parts in (2, 3) for task in draw_unions(tasks, parts, 3, 0, Budget())]
    learner = Rtdp(tasks, replace(PRESETS["own"], **SMALL), 0, unions=unions)
    learner.run(60)
    arrays, _ = learner.memory()
    sizes = {len(task.problem.objects) for task in tasks}
    assert len(arrays["fresh"]) == len(sizes) + 1


def ferry_problems(tmp_path: Path) -> list[Problem]:
    generate("ferry", tmp_path, ["train"], seed=1, count=3, ranges={"locations": [3], "cars": [2]})
    return problems_in(tmp_path / "train")


def test_joined_unions_have_one_ferry(tmp_path: Path) -> None:
    parts = ferry_problems(tmp_path)
    assert single_predicates(parts) == ["at-ferry"]
    apart, joined = union(parts), union(parts, single_predicates(parts))
    assert sum(atom[0] == "at-ferry" for atom in apart.init) == len(parts)
    assert sum(atom[0] == "at-ferry" for atom in joined.init) == 1
    assert len(joined.objects) == len(apart.objects) - (len(parts) - 1)
    assert sum(atom[0] == "at" for atom in joined.init) == sum(
        atom[0] == "at" for part in parts for atom in part.init
    )
    twice = union([parts[0], parts[0], parts[1], parts[1]], ["at-ferry"])
    assert sum(atom[0] == "at-ferry" for atom in twice.init) == 1
    found = search(ground(joined), "ff", "lazy")
    assert found.solved
    used = {name for atom in joined.init for name in atom[1:]}
    assert used <= set(joined.objects)


def test_what_one_problem_has_twice_is_not_single(tmp_path: Path) -> None:
    parts = ferry_problems(tmp_path)
    first = parts[0]
    second = next(name for name in first.objects if name.startswith("l") and
                  ("at-ferry", name) not in first.init)  # fmt: skip
    more = replace(first, init=[*first.init, ("at-ferry", second)])
    assert single_predicates([*parts, more]) == []
    none = replace(first, init=[atom for atom in first.init if atom[0] != "at-ferry"])
    assert single_predicates([*parts, none]) == []

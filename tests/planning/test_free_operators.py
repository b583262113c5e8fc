"""h^FF where operators are free: 32 states side by side have the values they have alone.

Facts of equal cost can then support each other in a circle, unless both ways of exploring follow
the same order among them.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from random_tasks import random_task

from hstar.planning.heuristics import MadeHeuristic, make_heuristic
from hstar.planning.task import Task, load_task

SEEDS = range(150)
MOST_STATES = 80
WALK = """(define (domain walk) (:requirements :strips :action-costs)
 (:predicates (at ?r) (door ?a ?b) (painted ?r) (bucket ?r) (have))
 (:functions (total-cost) - number)
 (:action go :parameters (?a ?b) :precondition (and (at ?a) (door ?a ?b))
  :effect (and (at ?b) (not (at ?a))))
 (:action take :parameters (?r) :precondition (and (at ?r) (bucket ?r))
  :effect (and (have) (increase (total-cost) 2)))
 (:action paint :parameters (?r) :precondition (and (at ?r) (have))
  :effect (and (painted ?r) (increase (total-cost) 3))))"""


def load(domain: str, problem: str, folder: Path) -> Task:
    (folder / "domain.pddl").write_text(domain)
    (folder / "problem.pddl").write_text(problem)
    return load_task(folder / "domain.pddl", folder / "problem.pddl", keep_irrelevant=True)


def walk_problem(seed: int, rooms: int = 30) -> str:
    """Rooms in a ring with some doors across, all to walk for free in both directions."""
    rng = random.Random(seed)
    doors = [(r, (r + 1) % rooms) for r in range(rooms)]
    doors += [(rng.randrange(rooms), rng.randrange(rooms)) for _ in range(rooms // 3)]
    init = [f"(door r{a} r{b}) (door r{b} r{a})" for a, b in doors]
    goal = " ".join(f"(painted r{r})" for r in rng.sample(range(rooms), 4))
    return (
        f"(define (problem p) (:domain walk) (:objects {' '.join(f'r{r}' for r in range(rooms))})"
        f"(:init (at r0) (bucket r{rng.randrange(rooms)}) (= (total-cost) 0) {' '.join(init)})"
        f"(:goal (and {goal})) (:metric minimize (total-cost)))"
    )


def states_of(task: Task) -> NDArray[np.int32]:
    """The first states in breadth-first order."""
    seen = {tuple(task.initial_state): None}
    for state in (queue := [task.initial_state]):
        for successor in task.successors(state)[1]:
            if len(seen) < MOST_STATES and tuple(successor) not in seen:
                seen[tuple(successor)] = None
                queue.append(successor)
    return np.array(list(seen), dtype=np.int32)


def free_operators(task: Task) -> int:
    return sum(task.operator(i).cost == 0 for i in range(task.num_operators))


def one_at_a_time(task: Task) -> MadeHeuristic:
    heuristic = make_heuristic(task, "ff")
    heuristic.core.set_wide_threshold(1_000_000)
    return heuristic


def check_side_by_side(task: Task, where: str) -> None:
    states = states_of(task)
    alone, together = one_at_a_time(task), make_heuristic(task, "ff")
    together.core.set_wide_threshold(1)
    values = alone.evaluate(states)
    assert together.evaluate(states).tolist() == values.tolist(), where
    assert together.preferred_operators(states) == alone.preferred_operators(states), where
    # Every relaxed plan is executable in the relaxation, so none is cheaper than h^max.
    assert (values >= make_heuristic(task, "hmax").evaluate(states)).all(), where
    # The value of a state does not depend on its neighbours in the batch.
    order = np.random.default_rng(0).permutation(len(states))
    assert together.evaluate(states[order]).tolist() == values[order].tolist(), where
    assert alone.core.states_side_by_side() == 0
    assert task.goal_is_false or together.core.states_side_by_side() == 3 * len(states), where


def test_random_tasks(tmp_path: Path) -> None:
    with_free = 0
    for seed in SEEDS:
        text = random_task(seed, costs=True)
        task = load(text.domain, text.problem, tmp_path)
        check_side_by_side(task, f"seed {seed}")
        with_free += free_operators(task) > 0
    assert with_free >= len(SEEDS) / 2


@pytest.mark.parametrize("seed", range(5))
def test_long_walks(tmp_path: Path, seed: int) -> None:
    task = load(WALK, walk_problem(seed), tmp_path)
    assert free_operators(task) >= 60
    check_side_by_side(task, f"seed {seed}")
    # A shortest walk: only one of the two doors of the ring, or one across, is preferred per aim.
    preferred = one_at_a_time(task).preferred_operators(np.stack([task.initial_state]))[0]
    assert 1 <= len(preferred) <= 5


def test_batches_of_a_search_are_evaluated_side_by_side(tmp_path: Path) -> None:
    """Free operators used to switch this off for h^FF."""
    task = load(WALK, walk_problem(0), tmp_path)
    heuristic = make_heuristic(task, "ff")
    heuristic.evaluate(states_of(task))
    assert heuristic.core.states_side_by_side() == MOST_STATES

"""Goal regression in the core against a plain oracle, on random tasks and classic domains."""

from __future__ import annotations

import functools
import itertools
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_tasks import random_task
from small_domains import ALL

from hstar import _core
from hstar.pddl import parse
from hstar.planning.heuristics import make_heuristic
from hstar.planning.task import Task, ground
from hstar.runtime.resources import Budget
from hstar.slots.teachers.backward import H2_SHARE, MOST_H2_SECONDS, h2_seconds
from hstar.slots.teachers.registry import TEACHERS

SEEDS = range(320)  # at least 200 tasks among them have a goal that is not false, and two states
LEAST_TASKS = 200
MOST_STATES = 20_000  # more than any of them has
NO_LIMIT = (0.0, 0)
NOVELTIES = ("none", "preconditions", "deletes", "both")
WAYS = ("atoms", "exclusive", "variables")


@functools.cache
def task_of(seed: int) -> Task:
    text = random_task(seed)
    with tempfile.TemporaryDirectory() as name:
        domain, problem = Path(name) / "domain.pddl", Path(name) / "problem.pddl"
        domain.write_text(text.domain)
        problem.write_text(text.problem)
        return ground(parse(domain, problem))


@functools.cache
def classic(name: str) -> Task:
    domain, problem = ALL[name](random.Random(3))
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder) / "domain.pddl", Path(folder) / "problem.pddl"
        paths[0].write_text(domain)
        paths[1].write_text(problem)
        return ground(parse(*paths))


class SetOracle:
    """The task as sets of facts, and regression by its definition."""

    def __init__(self, task: Task, regression: _core.Regression) -> None:
        self.task, self.regression = task, regression
        self.first = [0, *itertools.accumulate(task.domain_sizes)]
        self.names = [task.core.atom_name(fact) for fact in range(task.num_facts)]
        self.goal = {self.fact(v, x) for v, x in task.goal}
        self.ops = [self.operator(i) for i in range(task.num_operators)]

    def fact(self, variable: int, value: int) -> int:
        return self.first[variable] + value

    def is_atom(self, fact: int) -> bool:
        return not self.names[fact].startswith("<")

    def values_of(self, fact: int) -> range:
        variable = next(v for v in range(len(self.first)) if self.first[v + 1] > fact)
        return range(self.first[variable], self.first[variable + 1])

    def operator(self, number: int) -> tuple[set[int], set[int], set[int]] | None:
        """Preconditions, adds and deletes; None with effects that depend on the state."""
        found = self.task.operator(number)
        pre = {self.fact(v, x) for v, x in found.preconditions}
        add: set[int] = set()
        delete: set[int] = set()
        for condition, variable, value in found.effects:
            fact = self.fact(variable, value)
            if not condition:
                delete |= set(self.values_of(fact)) - {fact}
                if self.is_atom(fact):
                    add.add(fact)
            elif len(condition) == 1 and condition[0][0] == variable and not self.is_atom(fact):
                delete.add(self.fact(*condition[0]))
            else:
                return None
        return pre, add, delete

    def is_consistent(self, facts: set[int]) -> bool:
        return not any(self.regression.exclusive(a, b) for a, b in itertools.combinations(facts, 2))

    def regressed(self, facts: set[int], number: int) -> set[int] | None:
        """The weakest condition under which the operator leads to the facts, if it helps at all."""
        operator = self.ops[number]
        if operator is None:
            return None
        pre, add, delete = operator
        if not add & facts or delete & facts or not self.fits(add - facts, facts):
            return None
        rest = facts - add
        return rest | pre if self.fits(pre - rest, rest) else None

    def fits(self, new: set[int], old: set[int]) -> bool:
        return not any(self.regression.exclusive(a, b) for a in new for b in old)

    def progressed(self, state: set[int], number: int) -> set[int]:
        operator = self.ops[number]
        assert operator is not None
        pre, add, delete = operator
        assert pre <= state, "the operator is not applicable"
        return (state - delete) | add


def rows(starts: Any, facts: Any) -> list[set[int]]:
    return [set(facts[a:b].tolist()) for a, b in itertools.pairwise(starts)]


def regression_of(task: Task, h2: bool) -> _core.Regression:
    regression = _core.Regression(task.core, *NO_LIMIT)
    assert not h2 or regression.add_h2(60.0, *NO_LIMIT)
    return regression


def reachable_states(task: Task) -> Any:
    found = _core.explore(task.core, MOST_STATES, *NO_LIMIT)
    assert found is not None
    return found[0]


def test_enough_random_tasks_are_worth_a_test() -> None:
    tasks = [task_of(seed) for seed in SEEDS]
    assert sum(not task.goal_is_false for task in tasks) >= LEAST_TASKS
    assert sum(len(reachable_states(task)) > 1 for task in tasks) >= LEAST_TASKS


@pytest.mark.parametrize("seed", SEEDS)
def test_operators_and_sets_are_those_of_the_definition(seed: int) -> None:
    task = task_of(seed)
    if task.goal_is_false:
        return
    regression = _core.Regression(task.core, *NO_LIMIT)
    oracle = SetOracle(task, regression)
    images = regression.backward_walks(2, 12, NOVELTIES[seed % 4], seed, *NO_LIMIT)
    sets = rows(*images.facts)
    for image, (facts, parent, op) in enumerate(zip(sets, images.parent, images.op, strict=True)):
        if parent < 0:
            assert facts == oracle.goal
        else:
            assert parent == image - 1
            assert facts == oracle.regressed(sets[parent], int(op))
        valid = [o for o in range(task.num_operators) if oracle.regressed(facts, o) is not None]
        assert regression.operators(np.array(sorted(facts), np.int32)) == valid


@pytest.mark.parametrize("seed", SEEDS)
def test_h2_excludes_no_reachable_pair(seed: int) -> None:
    task = task_of(seed)
    regression = regression_of(task, h2=True)
    oracle = SetOracle(task, regression)
    first = np.array(oracle.first[:-1])
    pairs = {
        pair
        for state in reachable_states(task)
        for pair in itertools.combinations((state + first).tolist(), 2)
        if all(oracle.is_atom(fact) for fact in pair)
    }
    assert not [pair for pair in pairs if regression.exclusive(*pair)]


LATE_CONDITION = """\
(define (domain d) (:requirements :conditional-effects) (:predicates (p) (c) (k) (e) (g))
  (:action a1 :precondition (p) :effect (when (c) (e)))
  (:action a2 :precondition (k) :effect (c))
  (:action a3 :precondition (p) :effect (and (k) (not (c)) (not (e))))
  (:action a4 :precondition (and (k) (e) (c)) :effect (and (g) (not (p)))))
"""


def test_h2_looks_again_at_conditions_that_meet_new_facts(tmp_path: Path) -> None:
    domain, problem = tmp_path / "domain.pddl", tmp_path / "problem.pddl"
    domain.write_text(LATE_CONDITION)
    problem.write_text("(define (problem q) (:domain d) (:init (p) (c)) (:goal (g)))")
    task = ground(parse(domain, problem))
    number = {task.core.atom_name(fact): fact for fact in range(task.num_facts)}
    regression = regression_of(task, h2=True)  # a3, a2 and a1 make k and e true
    assert not regression.exclusive(number["k()"], number["e()"])


@pytest.mark.parametrize("name", ALL)
def test_h2_excludes_no_reachable_pair_of_classic_domains(name: str) -> None:
    task = classic(name)
    states = task.initial_state[None]
    walker = random.Random(1)
    for _ in range(300):
        successors = task.successors(states[-1])[1]
        if not len(successors):
            break
        states = np.concatenate([states, successors[walker.randrange(len(successors))][None]])
    regression = regression_of(task, h2=True)
    oracle = SetOracle(task, regression)
    for state in states:
        held = {oracle.fact(v, int(x)) for v, x in enumerate(state)}
        assert oracle.is_consistent({fact for fact in held if oracle.is_atom(fact)})


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("way", WAYS)
def test_plans_of_rollouts_reach_the_goal_from_every_completion(name: str, way: str) -> None:
    task = classic(name)
    regression = regression_of(task, h2=way != "atoms")
    oracle = SetOracle(task, regression)
    images = regression.backward_walks(20, 25, "both", 7, *NO_LIMIT)
    chosen = np.arange(len(images), dtype=np.int32)
    states = rows(*images.complete(chosen, way, 5, *NO_LIMIT))
    sets = rows(*images.facts)
    for image, state in enumerate(states):
        assert sets[image] <= state
        steps = 0
        while images.parent[image] >= 0:
            state = oracle.progressed(state, int(images.op[image]))
            steps += not task.operator_name(int(images.op[image])).startswith("<")
            image = int(images.parent[image])
        assert oracle.goal <= state


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("way", WAYS)
def test_labels_are_the_smallest_depths_of_contained_images(name: str, way: str) -> None:
    check_labels(classic(name), "none", way, 2)


@pytest.mark.parametrize("seed", SEEDS)
def test_labels_of_random_tasks_are_the_smallest_depths(seed: int) -> None:
    if not (task := task_of(seed)).goal_is_false:
        check_labels(task, NOVELTIES[seed % 4], WAYS[seed % 3], seed)


def check_labels(task: Task, novelty: str, way: str, seed: int) -> None:
    regression = regression_of(task, h2=True)
    images = regression.backward_walks(4, 15, novelty, seed, *NO_LIMIT)
    chosen = np.array([-1, *range(len(images))], dtype=np.int32)
    starts, facts = images.complete(chosen, way, 9, *NO_LIMIT)
    depths = images.smallest_depths(starts, facts, *NO_LIMIT)
    sets = list(zip(rows(*images.facts), images.depth.tolist(), strict=True))
    for state, depth in zip(rows(starts, facts), depths, strict=True):
        assert depth == min((d for needed, d in sets if needed <= state), default=-1)


@pytest.mark.parametrize("name", ALL)
def test_lmcut_never_exceeds_the_label_of_a_whole_state(name: str) -> None:
    task = classic(name)
    images = regression_of(task, h2=True).backward_walks(4, 20, "both", 2, *NO_LIMIT)
    chosen = np.arange(len(images), dtype=np.int32)
    starts, facts = images.complete(chosen, "variables", 9, *NO_LIMIT)
    depths = images.smallest_depths(starts, facts, *NO_LIMIT)
    first = [0, *itertools.accumulate(task.domain_sizes)]
    whole, labels = [], []
    for state, depth in zip(rows(starts, facts), depths, strict=True):
        held = [[f for f in state if a <= f < b] for a, b in itertools.pairwise(first)]
        if all(len(values) == 1 for values in held):
            whole.append([values[0] - a for values, a in zip(held, first, strict=False)])
            labels.append(depth)
    if whole:
        lmcut = make_heuristic(task, "lmcut", "one").evaluate(np.array(whole, np.int32))
        assert (lmcut <= np.array(labels)).all()


@pytest.mark.parametrize("name", ALL)
def test_focused_sampling_lists_sets_once_and_starts_breadth_first(name: str) -> None:
    task = classic(name)
    regression = regression_of(task, h2=True)
    oracle = SetOracle(task, regression)
    images = regression.focused(400, 0.25, 0, 1, 3, *NO_LIMIT)
    assert 1 <= len(images) <= 400
    sets = rows(*images.facts)
    for image in range(1, len(images)):
        parent = int(images.parent[image])
        assert sets[image] == oracle.regressed(sets[parent], int(images.op[image]))
    walk = images.walk > 0
    searched = [frozenset(s) for s, is_walk in zip(sets, walk, strict=True) if not is_walk]
    assert len(set(searched)) == len(searched) <= 100
    assert (np.diff(images.depth[~walk]) >= 0).all()
    for number in set(images.walk[walk].tolist()):
        one = [frozenset(sets[i]) for i in np.flatnonzero(images.walk == number)]
        assert len(set(one)) == len(one) and not set(one) & set(searched)


@pytest.mark.parametrize("name", ALL)
def test_the_same_seed_gives_the_same_bytes(name: str) -> None:
    def sample(seed: int) -> bytes:
        regression = regression_of(classic(name), h2=True)
        images = regression.backward_walks(3, 20, "both", seed, *NO_LIMIT)
        chosen = np.arange(-1, len(images), dtype=np.int32)
        starts, facts = images.complete(chosen, "atoms", seed, *NO_LIMIT)
        walks = regression.focused(200, 0.1, 0, 1, seed, *NO_LIMIT)
        return starts.tobytes() + facts.tobytes() + walks.facts[1].tobytes()

    assert sample(1) == sample(1) != sample(2)


def test_bad_arguments_are_refused() -> None:
    regression = _core.Regression(classic("blocks").core, *NO_LIMIT)
    images = regression.backward_walks(1, 3, "none", 0, *NO_LIMIT)
    for call in (
        lambda: regression.backward_walks(1, 3, "nothing", 0, *NO_LIMIT),
        lambda: images.complete(np.array([99], np.int32), "atoms", 0, *NO_LIMIT),
        lambda: images.complete(np.array([0], np.int32), "somehow", 0, *NO_LIMIT),
        lambda: images.smallest_depths(np.array([0, 5]), np.array([1], np.int32), *NO_LIMIT),
        lambda: images.smallest_depths(np.array([0, 1]), np.array([10**6], np.int32), *NO_LIMIT),
    ):
        with pytest.raises(ValueError, match=r"unknown choice|no pre-image|starts|no fact"):
            call()
    with pytest.raises(IndexError):
        regression.exclusive(0, 10**6)
    task = classic("blocks").core
    for call in (
        lambda: regression.backward_walks(-1, 3, "none", 0, *NO_LIMIT),
        lambda: regression.backward_walks(1, -3, "none", 0, *NO_LIMIT),
        lambda: regression.focused(-5, 0.1, 0, 1, 0, *NO_LIMIT),
        lambda: regression.focused(5, float("nan"), 0, 1, 0, *NO_LIMIT),
        lambda: regression.focused(5, 1e300, 0, 1, 0, *NO_LIMIT),
        lambda: regression.focused(5, 0.1, 0, 0, 0, *NO_LIMIT),
        lambda: _core.random_walks(task, -1, 3, 0, *NO_LIMIT),
        lambda: _core.random_walks(task, 1, -3, 0, *NO_LIMIT),
    ):
        with pytest.raises(ValueError, match="must"):
            call()


def test_options_that_the_core_cannot_count_are_refused() -> None:
    for name, option, value in (
        ("regression", "walks", "9999999999"),
        ("regression", "seed", "-1"),
        ("fsm", "length", "-3"),
        ("fsm", "stride", "0"),
    ):
        with pytest.raises(ValueError, match="it must be from"):
            TEACHERS.find(name).settings({option: value})


@pytest.mark.parametrize("h2", [False, True])
def test_mutexes_keep_to_the_limits(h2: bool) -> None:
    task = classic("logistics").core
    for limits, reason in (((1e-9, 0), "time"), ((0.0, 1), "memory")):
        with pytest.raises(_core.Stopped, match=reason):
            if h2:
                _core.Regression(task, *NO_LIMIT).add_h2(60.0, *limits)
            else:
                _core.Regression(task, *limits)


def test_h2_gets_a_share_of_the_time_left() -> None:
    assert h2_seconds(Budget()) == MOST_H2_SECONDS
    assert h2_seconds(Budget.starting_now(1e6, None)) == MOST_H2_SECONDS
    assert 0 < h2_seconds(Budget.starting_now(60, None)) <= 60 * H2_SHARE
    assert h2_seconds(Budget(deadline=1e-9)) == 0


def test_a_deadline_ends_h2_without_a_change() -> None:
    task = classic("logistics")
    regression = _core.Regression(task.core, *NO_LIMIT)
    before = exclusive_pairs(task, regression)
    after = exclusive_pairs(task, regression) if regression.add_h2(0.0, *NO_LIMIT) else before
    assert before <= after and exclusive_pairs(task, regression) == after


def exclusive_pairs(task: Task, regression: _core.Regression) -> set[tuple[int, int]]:
    pairs = itertools.combinations(range(task.num_facts), 2)
    return {(a, b) for a, b in pairs if regression.exclusive(a, b)}

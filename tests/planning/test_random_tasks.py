"""The native core against the oracle on hundreds of random small tasks.

Every layer is checked separately, so that a failure says which one is wrong: the grounder (state
spaces against lifted semantics), the heuristics (values against definitions), and the searches
(plans against the validator, costs against exact distances).
"""

from __future__ import annotations

import functools
import math
import random
import tempfile
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import oracle
import pytest
from random_tasks import RandomTask, random_task

from hstar import search
from hstar.pddl import parse
from hstar.pddl.model import And, Atom, Problem
from hstar.pddl.validate import validate
from hstar.planning.algorithms import SEARCHES
from hstar.planning.heuristics import HEURISTICS, make_heuristic
from hstar.planning.task import Task, ground

SEEDS = range(200)
MAX_STATES = 1000
SAMPLED_STATES = 30  # per task, where the oracle needs milliseconds for each state
ADMISSIBLE = ("blind", "hmax", "lmcut")
DEEPENING_LIMIT = 20_000  # expansions: IDA* may go round in a space without a goal for very long


@dataclass(frozen=True)
class Case:
    """A random task, parsed and grounded, with its exact state spaces."""

    text: RandomTask
    problem: Problem
    task: Task
    lifted: oracle.StateSpace
    strips: oracle.StripsTask

    @property
    def optimal_cost(self) -> float:
        return self.lifted.h_star[oracle.from_problem(self.problem).init]


def parse_text(text: RandomTask, folder: Path) -> Problem:
    domain, problem = folder / "domain.pddl", folder / "problem.pddl"
    domain.write_text(text.domain)
    problem.write_text(text.problem)
    return parse(domain, problem)


@functools.cache
def load(seed: int) -> Case | None:
    """The case of a seed; None if its state space is too large for the oracle."""
    text = random_task(seed)
    with tempfile.TemporaryDirectory() as folder:
        problem = parse_text(text, Path(folder))
    try:
        lifted = oracle.explore(oracle.from_problem(problem), MAX_STATES)
    except oracle.StateSpaceTooLarge:
        return None
    task = ground(problem, keep_irrelevant=True)
    return Case(text, problem, task, lifted, oracle.from_task(task))


@pytest.fixture(params=SEEDS)
def case(request: pytest.FixtureRequest) -> Case:
    loaded = load(request.param)
    if loaded is None:
        pytest.skip(f"more than {MAX_STATES} states")
    return loaded


def reachable_rows(task: Task) -> dict[tuple[int, ...], list[tuple[int, tuple[int, ...]]]]:
    """Every state the core reaches (as a tuple of values), with (operator, successor) pairs."""
    start = tuple(int(value) for value in task.initial_state)
    space: dict[tuple[int, ...], list[tuple[int, tuple[int, ...]]]] = {}
    queue, seen = deque([start]), {start}
    while queue:
        row = queue.popleft()
        operators, successors = task.successors(np.array(row, dtype=np.int32))
        space[row] = [
            (int(op), tuple(int(value) for value in successor))
            for op, successor in zip(operators, successors, strict=True)
        ]
        for _, successor in space[row]:
            if successor not in seen:
                seen.add(successor)
                queue.append(successor)
    return space


def as_batch(rows: list[tuple[int, ...]]) -> Any:
    return np.array(rows, dtype=np.int32)


def sampled_rows(case: Case) -> list[tuple[int, ...]]:
    rows = list(reachable_rows(case.task))
    return random.Random(case.text.seed).sample(rows, min(len(rows), SAMPLED_STATES))


def cheapest(edges: list[tuple[oracle.State, float]]) -> dict[oracle.State, float]:
    best: dict[oracle.State, float] = {}
    for target, cost in edges:
        best[target] = min(cost, best.get(target, math.inf))
    return best


def test_most_random_tasks_are_worth_testing() -> None:
    """Guards the tests below against passing because the generator became dull."""
    cases = [case for case in map(load, SEEDS) if case is not None]
    assert len(cases) >= 0.8 * len(SEEDS)
    assert sum(len(case.lifted.transitions) >= 8 for case in cases) >= 0.5 * len(cases)
    assert sum(0 < case.optimal_cost < math.inf for case in cases) >= 0.25 * len(cases)
    assert sum(case.optimal_cost == math.inf for case in cases) >= 0.05 * len(cases)


def test_state_space_is_the_lifted_one(case: Case) -> None:
    """Same states and same cheapest transitions as lifted semantics, seen through kept atoms.

    Atoms the task does not keep must never change. The core may compile a complex goal into an
    extra variable, so its states are compared by the atoms of the problem's own predicates.
    """
    task, predicates = case.task, case.problem.domain.predicates
    if case.optimal_cost == math.inf and task.num_operators == 0:
        return  # a task found unsolvable while grounding may be replaced by an empty one
    names = (task.fact_name(v, d) for v, size in enumerate(task.domain_sizes) for d in range(size))
    atoms = (oracle.parse_atom(name) for name in names)
    kept = {atom for atom in atoms if atom and atom[0] in predicates}

    dropped = {state - kept for state in case.lifted.transitions}
    assert len(dropped) == 1, "an atom that changes was dropped by the grounder"
    expected = {
        state & kept: cheapest(
            [(target & kept, cost) for _, cost, target in edges if target != state]
        )
        for state, edges in case.lifted.transitions.items()
    }
    names_of = {
        (state & kept, target & kept, name)
        for state, edges in case.lifted.transitions.items()
        for name, _, target in edges
    }

    def visible(row: tuple[int, ...]) -> oracle.State:
        true = task.atoms(np.array(row, dtype=np.int32))
        return frozenset(oracle.parse_atom(name) for name in true) & kept

    edges_of: dict[oracle.State, list[tuple[oracle.State, float]]] = {}
    for row, edges in reachable_rows(task).items():
        state = visible(row)
        outgoing = edges_of.setdefault(state, [])
        for op, successor in edges:
            target = visible(successor)
            if target != state:
                outgoing.append((target, task.operator(op).cost))
                assert (state, target, task.operator_name(op)) in names_of
    assert {state: cheapest(edges) for state, edges in edges_of.items()} == expected


def test_successors_follow_the_operators(case: Case) -> None:
    """The successor generator agrees with the operators as the task itself describes them."""
    for row, edges in reachable_rows(case.task).items():
        expected = {
            (name, cost, target)
            for name, cost, target in case.strips.successors(oracle.fdr_state(row))
        }
        found = {
            (case.task.operator(op).name, case.task.operator(op).cost, oracle.fdr_state(successor))
            for op, successor in edges
        }
        assert found == expected


@pytest.mark.parametrize(
    ("name", "definition"),
    [("hmax", oracle.h_max), ("hadd", oracle.h_add), ("goalcount", oracle.h_goalcount)],
)
def test_value_is_the_textbook_one(case: Case, name: str, definition: Any) -> None:
    rows = sampled_rows(case)
    values = make_heuristic(case.task, name).evaluate(as_batch(rows))
    for row, value in zip(rows, values, strict=True):
        assert value == definition(case.strips, oracle.fdr_state(row)), row


def test_hmax_is_at_least_that_of_plain_atoms() -> None:
    """Without negation, mutex groups can only prune operators, so hmax can only grow by them."""
    equal = larger = 0
    for seed in range(1000, 1060):
        text = random_task(seed, negation=False, conditional=False)
        with tempfile.TemporaryDirectory() as folder:
            problem = parse_text(text, Path(folder))
        task = ground(problem, keep_irrelevant=True)
        value = make_heuristic(task, "hmax").evaluate(as_batch([tuple(task.initial_state)]))[0]
        plain = lifted_h_max(problem)
        assert value >= plain, f"seed {seed}"
        equal += value == plain
        larger += value > plain
    assert equal >= 5 * larger


def lifted_h_max(problem: Problem) -> float:
    """hmax of the initial state over all ground atoms, for a problem without negation."""
    ops = []
    for action in problem.domain.actions:
        for binding in oracle.bindings(problem, action.parameters, {}):
            pre = conjuncts(problem, action.precondition, binding)
            if pre is None:
                continue
            add = frozenset(oracle.ground(e.atom, binding) for e in action.effects if e.positive)
            cost = oracle.action_cost(problem, action, binding)
            effect = oracle.ConditionalEffect(frozenset(), add, frozenset())
            ops.append(oracle.Op(action.name, cost, pre, (effect,)))
    init = oracle.from_problem(problem).init
    goal = conjuncts(problem, problem.goal, {})
    assert goal is not None
    return oracle.h_max(oracle.StripsTask(frozenset(), init, goal, tuple(ops)), init)


def conjuncts(
    problem: Problem, formula: Any, binding: dict[str, str]
) -> frozenset[oracle.Atom] | None:
    """The atoms of a conjunction; None if an equality in it is false."""
    if isinstance(formula, Atom):
        return frozenset({oracle.ground(formula, binding)})
    if isinstance(formula, And):
        parts = [conjuncts(problem, part, binding) for part in formula.parts]
        return None if None in parts else frozenset().union(*(p for p in parts if p))
    return frozenset() if oracle.holds(problem, formula, frozenset(), binding) else None


def test_bounds_on_every_reachable_state(case: Case) -> None:
    """hmax, lmcut <= h*; dead ends of the relaxation are found by all; ff within its bounds."""
    h_star = oracle.explore(case.strips, 10 * MAX_STATES).h_star
    rows = list(reachable_rows(case.task))
    states = [oracle.fdr_state(row) for row in rows]
    assert set(states) == set(h_star)
    exact = np.array([h_star[state] for state in states])
    value = {name: make_heuristic(case.task, name).evaluate(as_batch(rows)) for name in HEURISTICS}
    for name in ADMISSIBLE:
        assert (value[name] <= exact + 1e-6).all(), name
    unreachable = np.isinf(value["hmax"])
    for name in ("hadd", "ff", "lmcut"):
        assert (np.isinf(value[name]) == unreachable).all(), name
    solved = np.array([case.strips.is_goal(state) for state in states])
    for name in HEURISTICS:
        assert (value[name][solved] == 0).all(), name
    alive = ~unreachable
    assert (value["ff"][alive] <= value["hadd"][alive]).all()
    if not oracle.has_conditional_effects(case.strips):
        # With conditional effects ff and lmcut pay once for an operator that hmax counts twice.
        assert (value["ff"][alive] >= value["hmax"][alive]).all()
        assert (value["lmcut"][alive] >= value["hmax"][alive]).all()


def test_oracle_lmcut_is_admissible(case: Case) -> None:
    """The oracle is a program too; its LM-cut is the reference for the order of magnitude."""
    h_star = oracle.explore(case.strips, 10 * MAX_STATES).h_star
    for row in sampled_rows(case)[:5]:
        state = oracle.fdr_state(row)
        value = oracle.h_lmcut(case.strips, state)
        assert value <= h_star[state]
        if not oracle.has_conditional_effects(case.strips):
            assert value >= oracle.h_max(case.strips, state)


@pytest.mark.parametrize("heuristic", ADMISSIBLE)
def test_astar_is_optimal(case: Case, heuristic: str) -> None:
    result = search(case.task, heuristic=heuristic, algorithm="astar")
    if case.optimal_cost == math.inf:
        assert (result.solved, result.exit_code) == (False, 11)
    else:
        assert (result.solved, result.exit_code) == (True, 0)
        assert result.plan_cost == case.optimal_cost


@pytest.mark.parametrize("heuristic", ADMISSIBLE)
def test_idastar_is_optimal(case: Case, heuristic: str) -> None:
    result = search(case.task, heuristic, "idastar", max_expansions=DEEPENING_LIMIT)
    if case.optimal_cost == math.inf:
        assert result.exit_code in (11, 12)
    else:
        assert (result.solved, result.plan_cost) == (True, case.optimal_cost)


@pytest.mark.parametrize("algorithm", sorted(SEARCHES))
@pytest.mark.parametrize("heuristic", sorted(HEURISTICS))
@pytest.mark.parametrize("block", range(10))
def test_every_search_finds_valid_plans(algorithm: str, heuristic: str, block: int) -> None:
    """All searches here are complete and all heuristics safe, so they must decide every task, but
    that IDA* may have to give up where there is no plan."""
    deepening = algorithm == "idastar"
    limit = DEEPENING_LIMIT if deepening else None
    for seed in SEEDS[block :: 10 * 4]:
        case = load(seed)
        if case is None:
            continue
        result = search(case.task, heuristic, algorithm, max_expansions=limit)
        if case.optimal_cost == math.inf:
            assert not result.solved, f"seed {seed}"
            assert result.exit_code in ((11, 12) if deepening else (11,)), f"seed {seed}"
            continue
        assert (result.solved, result.exit_code) == (True, 0), f"seed {seed}"
        steps = [tuple(step.strip("()").split()) for step in result.plan]
        verdict = validate(case.problem, steps)
        assert verdict.valid, f"seed {seed}: step {verdict.step}: {verdict.reason}"
        assert verdict.cost == result.plan_cost >= case.optimal_cost
        assert verdict.length == result.plan_length == len(steps)

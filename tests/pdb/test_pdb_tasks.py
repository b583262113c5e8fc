"""Projections of planning tasks: equal to a plain oracle, admissible, and useful to A*."""

from __future__ import annotations

import itertools
import math
import random
import tempfile
from pathlib import Path

import numpy as np
import oracle
import pytest
from program import DATA, hstar
from random_tasks import random_task

from hstar import search
from hstar.pdb import (
    PdbFileError,
    PdbHeuristic,
    build_pdb,
    compress,
    parse_pattern,
    read_pdb,
    write_pdb,
)
from hstar.pddl import parse
from hstar.planning.heuristics import make_heuristic
from hstar.planning.task import Task, ground

Abstract = tuple[int, ...]


def random_grounded(seed: int, **features: bool) -> Task:
    text = random_task(seed, **features)
    with tempfile.TemporaryDirectory() as folder:
        domain, problem = Path(folder) / "domain.pddl", Path(folder) / "problem.pddl"
        domain.write_text(text.domain)
        problem.write_text(text.problem)
        return ground(parse(domain, problem), keep_irrelevant=True)


def plain_projection(task: Task, pattern: list[int]) -> dict[Abstract, float]:
    """Distances in the projection by its definition: all abstract states, all outcomes."""
    place = {variable: i for i, variable in enumerate(pattern)}
    states = list(itertools.product(*(range(task.domain_sizes[v]) for v in pattern)))
    predecessors: dict[Abstract, list[tuple[float, Abstract]]] = {state: [] for state in states}
    operators = [task.operator(i) for i in range(task.num_operators)]
    for state in states:
        for operator in operators:
            if any(state[place[v]] != d for v, d in operator.preconditions if v in place):
                continue
            outcomes = {state}
            for conditions, variable, value in operator.effects:
                if variable not in place:
                    continue
                if any(state[place[v]] != d for v, d in conditions if v in place):
                    continue
                i = place[variable]
                changed = {(*s[:i], value, *s[i + 1 :]) for s in outcomes}
                certain = all(v in place for v, _ in conditions)
                outcomes = changed if certain else outcomes | changed
            for outcome in outcomes:
                predecessors[outcome].append((operator.cost, state))
    goals = {
        state: 0.0
        for state in states
        if not task.goal_is_false and all(state[place[v]] == d for v, d in task.goal if v in place)
    }
    found = oracle.dijkstra(goals, lambda state: predecessors[state])  # type: ignore[arg-type, return-value]
    return {state: found.get(state, math.inf) for state in states}  # type: ignore[call-overload]


@pytest.mark.parametrize("seed", range(60))
def test_projections_equal_the_oracle_and_never_exceed(seed: int) -> None:
    task = random_grounded(seed)
    variables = random.Random(seed).sample(range(task.num_variables), min(3, task.num_variables))
    if not variables:
        pytest.skip("a task without variables")
    try:
        space = oracle.explore(oracle.from_task(task), 600)
    except oracle.StateSpaceTooLarge:
        pytest.skip("too many states")
    heuristic = PdbHeuristic([build_pdb(task, variables)]).bind(task)
    expected = plain_projection(task, variables)
    for facts, exact in space.h_star.items():
        state = np.array([[value for _, value in sorted(facts)]], dtype=np.int32)
        h = float(heuristic.evaluate(state)[0]) / task.cost_scale
        assert h == pytest.approx(expected[tuple(int(state[0, v]) for v in variables)])
        assert h <= exact + 1e-6


@pytest.mark.parametrize("seed", range(40))
def test_astar_with_projections_is_optimal(seed: int) -> None:
    task = random_grounded(seed)
    size = 1
    pattern = []
    for variable, values in enumerate(task.domain_sizes):
        if size * values <= 5000:
            pattern.append(variable)
            size *= values
    if not pattern:
        pytest.skip("a task without variables")
    halves = [pattern[::2], pattern[1::2] or pattern]
    heuristic = PdbHeuristic([build_pdb(task, half) for half in halves])
    mine = search(task, heuristic, "astar")
    known = search(task, "lmcut", "astar")
    assert mine.status == known.status and mine.plan_cost == known.plan_cost


def test_all_variables_give_the_exact_distance() -> None:
    task = ground(parse(DATA / "strips" / "domain.pddl", DATA / "strips" / "problem.pddl"))
    whole = build_pdb(task, range(task.num_variables))
    value = PdbHeuristic([whole]).bind(task).evaluate(task.initial_state[None])[0]
    assert value == search(task, "lmcut", "astar").plan_cost
    assert make_heuristic(task, "lmcut").evaluate(task.initial_state)[0] <= value


def test_unit_costs_and_compression() -> None:
    task = ground(parse(DATA / "costs" / "domain.pddl", DATA / "costs" / "problem.pddl"))
    pattern = range(task.num_variables)
    real, unit = build_pdb(task, pattern), build_pdb(task, pattern, cost="one")
    h = [PdbHeuristic([d]).bind(task).evaluate(task.initial_state[None])[0] for d in (real, unit)]
    found = search(task, "lmcut", "astar")
    assert h[0] == found.plan_cost * task.cost_scale
    assert 0 < h[1] <= (found.plan_length or 0)
    small = compress(real, div=2, space=task)
    assert PdbHeuristic([small]).bind(task).evaluate(task.initial_state[None])[0] <= h[0]


def test_patterns_of_tasks() -> None:
    task = ground(parse(DATA / "strips" / "domain.pddl", DATA / "strips" / "problem.pddl"))
    assert parse_pattern(task, "goal") == sorted(v for v, _ in task.goal)
    assert parse_pattern(task, "0-1") == [0, 1]
    with pytest.raises(ValueError, match="out of range"):
        parse_pattern(task, "0-99")
    with pytest.raises(ValueError, match="twice"):
        build_pdb(task, [0, 0])
    with pytest.raises(ValueError, match="not additive"):
        build_pdb(task, [0], additive=True)


def test_files_belong_to_one_task(tmp_path: Path) -> None:
    task = ground(parse(DATA / "strips" / "domain.pddl", DATA / "strips" / "problem.pddl"))
    other = ground(parse(DATA / "costs" / "domain.pddl", DATA / "costs" / "problem.pddl"))
    path = tmp_path / "task.pdb"
    write_pdb(path, build_pdb(task, [0, 1]))
    heuristic = PdbHeuristic([read_pdb(path)])
    assert heuristic.bind(task).evaluate(task.initial_state[None]).shape == (1,)
    with pytest.raises(PdbFileError, match="another task"):
        heuristic.bind(other)


def test_commands_of_tasks(tmp_path: Path) -> None:
    problem = DATA / "strips" / "problem.pddl"
    path = tmp_path / "goal.pdb"
    built = hstar("pdb", "build", problem, "--pattern", "goal", "-o", path)
    assert built.code == 0 and "Mean:" in built.out
    plan = hstar("plan", problem, "-H", f"pdb:{path}", "-s", "astar", cwd=tmp_path)
    assert plan.code == 0 and "Solution found" in plan.out
    wrong = hstar(
        "plan", DATA / "costs" / "problem.pddl", "-H", f"pdb:{path}", "-s", "astar", cwd=tmp_path
    )
    assert wrong.code == 31 and "another task" in wrong.err

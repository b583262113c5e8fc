"""hstar from Python: facts, operators, successors and costs of a task."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from example_tasks import ADL, COSTS, reachable
from small_domains import problem_text

import hstar


@pytest.fixture(scope="module")
def museum() -> hstar.Task:
    return hstar.load_task(*ADL)


def test_names_of_facts(towers: hstar.Task) -> None:
    names = [
        towers.fact_name(variable, value)
        for variable, size in enumerate(towers.domain_sizes)
        for value in range(size)
    ]
    assert len(names) == towers.num_facts
    assert "on(a, b)" in names
    assert "hand-free()" in names or "held(a)" in names
    for variable, value in ((-1, 0), (towers.num_variables, 0), (0, -1), (0, 10**6)):
        with pytest.raises(IndexError):
            towers.fact_name(variable, value)


def test_atoms_of_states(towers: hstar.Task) -> None:
    """What the plan makes true is what the atoms say."""
    atoms = set(towers.atoms(towers.initial_state))
    assert {"on(b, a)", "clear(b)", "clear(c)"} <= atoms
    assert "on(a, b)" not in atoms
    state = towers.initial_state
    result = hstar.search(towers, "blind", "astar")
    for step in result.plan or ():
        operators, states = towers.successors(state)
        names = [towers.operator_name(op) for op in operators]
        state = states[names.index(step)]
    assert {"on(a, b)", "on(b, c)"} <= set(towers.atoms(state))
    assert all(state[variable] == value for variable, value in towers.goal)


def test_successors_are_what_the_operators_say(museum: hstar.Task) -> None:
    """Preconditions and effects of operator(), applied by hand, give the successors."""
    for state in reachable(museum, 60):
        applicable, successors = museum.successors(state)
        expected = [
            index
            for index in range(museum.num_operators)
            if all(state[v] == value for v, value in museum.operator(index).preconditions)
        ]
        assert applicable.tolist() == expected
        for index, successor in zip(applicable, successors, strict=True):
            by_hand = state.copy()
            for conditions, variable, value in museum.operator(int(index)).effects:
                if all(state[v] == wanted for v, wanted in conditions):
                    by_hand[variable] = value
            np.testing.assert_array_equal(successor, by_hand)


def test_a_plan_from_another_state_must_reach_the_goal(towers: hstar.Task) -> None:
    plan = hstar.search(towers, "ff").plan
    assert plan is not None and len(plan) > 1
    start = towers.initial_state
    assert towers.replay(plan, start) == len(plan)
    for wrong, message in ((plan[:-1], "does not hold at the end"), (plan[1:], "not possible")):
        with pytest.raises(ValueError, match=message):
            towers.replay(wrong, start)


def test_indices_of_operators(towers: hstar.Task) -> None:
    for index in (-1, towers.num_operators):
        with pytest.raises(IndexError):
            towers.operator(index)
        with pytest.raises(IndexError):
            towers.operator_name(index)


def test_keep_irrelevant(tmp_path: Path) -> None:
    """A lamp that no goal mentions is dropped, unless it is to be kept."""
    domain, problem = tmp_path / "d.pddl", tmp_path / "p.pddl"
    domain.write_text(
        "(define (domain lamps) (:predicates (lit ?x))\n"
        "(:action switch :parameters (?x) :precondition (not (lit ?x)) :effect (lit ?x)))"
    )
    problem.write_text(problem_text("lamps", "a b", [], ["(lit a)"]))
    small = hstar.load_task(domain, problem)
    large = hstar.load_task(domain, problem, keep_irrelevant=True)
    assert (small.num_variables, small.num_operators) == (1, 1)
    assert (large.num_variables, large.num_operators) == (2, 2)
    for keep in (False, True):
        assert hstar.plan(domain, problem, keep_irrelevant=keep).plan == ["(switch a)"]


def test_mutex_groups(towers: hstar.Task) -> None:
    groups = [set(group) for group in towers.mutex_groups]
    assert any({"on(a, b)", "on(a, c)"} <= group for group in groups)
    for state in reachable(towers):
        true = set(towers.atoms(state))
        assert all(len(true & group) <= 1 for group in groups)


# -- costs with decimals


def test_decimal_costs() -> None:
    """Inside the core costs are whole numbers; outside they are what the files say."""
    task = hstar.load_task(*COSTS)
    assert task.cost_scale == 4
    costs = {op.name: op.cost for op in map(task.operator, range(task.num_operators))}
    assert costs["(drive van north south)"] == 11.25
    assert costs["(drive van south north)"] == 13.25
    assert costs["(load box van south)"] == 2
    assert costs["(unload box van north)"] == 0
    result = hstar.search(task, "lmcut", "astar")
    assert result.plan_cost == 26.5
    assert task.unscaled(8) == 2
    assert isinstance(task.unscaled(8), int)


@pytest.mark.parametrize(("cost", "total"), [("0.1", 0.3), ("0.000001", 3e-6), ("0.5", 1.5)])
def test_sums_of_decimals_are_exact(cost: str, total: float, tmp_path: Path) -> None:
    """0.1 + 0.1 + 0.1 is 0.3, not 0.30000000000000004."""
    domain, problem = tmp_path / "d.pddl", tmp_path / "p.pddl"
    domain.write_text(
        "(define (domain steps) (:predicates (at ?x) (next ?x ?y)) (:functions (total-cost))\n"
        "(:action go :parameters (?x ?y) :precondition (and (at ?x) (next ?x ?y))\n"
        f" :effect (and (at ?y) (not (at ?x)) (increase (total-cost) {cost}))))"
    )
    init = ["(at a)", "(next a b)", "(next b c)", "(next c d)"]
    metric = "(:metric minimize (total-cost))"
    problem.write_text(problem_text("steps", "a b c d", init, ["(at d)"], metric))
    for search in hstar.SEARCHES:
        assert hstar.plan(domain, problem, "blind", search).plan_cost == total


def test_without_a_metric_every_step_costs_one(tmp_path: Path) -> None:
    problem = tmp_path / "p.pddl"
    problem.write_text(COSTS[1].read_text().replace("(:metric minimize (total-cost))", ""))
    result = hstar.plan(COSTS[0], problem, "blind", "astar")
    assert (result.plan_cost, result.plan_length) == (4, 4)
    assert result.plan_text.endswith("; cost = 4 (unit cost)\n")

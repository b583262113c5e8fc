"""hstar from Python: plans, tasks, batches of states, and functions of one's own as heuristics."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hard_tasks import large_search, slow_grounding
from numpy.typing import NDArray
from program import DATA
from small_domains import BLOCKS, problem_text

import hstar

STRIPS = DATA / "strips" / "domain.pddl", DATA / "strips" / "problem.pddl"
COSTS = DATA / "costs" / "domain.pddl", DATA / "costs" / "problem.pddl"
ADL = DATA / "adl" / "domain.pddl", DATA / "adl" / "problem.pddl"

States = NDArray[np.int32]
Values = NDArray[np.float32]


@pytest.fixture(scope="module")
def towers() -> hstar.Task:
    return hstar.load_task(*STRIPS)


@pytest.fixture(scope="module")
def museum() -> hstar.Task:
    return hstar.load_task(*ADL)


def reachable(task: hstar.Task, most: int = 200) -> States:
    """Some states of a task, breadth first: int32[B, V]."""
    found = [task.initial_state]
    seen = {found[0].tobytes()}
    for state in found:
        for successor in task.successors(state)[1]:
            if len(found) < most and successor.tobytes() not in seen:
                seen.add(successor.tobytes())
                found.append(successor)
    return np.stack(found)


# -- plans


@pytest.mark.parametrize("search", hstar.SEARCHES)
@pytest.mark.parametrize("heuristic", hstar.HEURISTICS)
@pytest.mark.parametrize("files", [STRIPS, COSTS, ADL], ids=["strips", "costs", "adl"])
def test_every_search_with_every_heuristic(
    files: tuple[Path, Path], heuristic: str, search: str
) -> None:
    """And every plan is replayed by the validator, which knows nothing of grounding."""
    result = hstar.plan(*files, heuristic, search)
    assert result.solved
    assert (result.status, result.exit_code) == ("solved", 0)
    assert result.plan is not None
    steps = [tuple(step.strip("()").split()) for step in result.plan]
    verdict = hstar.validate(hstar.parse(*files), steps)
    assert verdict.valid, verdict.reason
    assert verdict.cost == pytest.approx(result.plan_cost)
    assert result.plan_length == len(steps)


@pytest.mark.parametrize("heuristic", ["blind", "hmax", "lmcut"])
def test_astar_with_admissible_heuristics_is_optimal(heuristic: str) -> None:
    assert hstar.plan(*STRIPS, heuristic, "astar").plan_cost == 4
    assert hstar.plan(*COSTS, heuristic, "astar").plan_cost == 26.5
    assert hstar.plan(*ADL, heuristic, "astar").plan_cost == 18


def test_results_show_themselves_in_notebooks(tmp_path: Path) -> None:
    shown = hstar.plan(*STRIPS)._repr_html_()
    assert shown.startswith("<table>")
    assert "<code>(stack a b)</code>" in shown
    unsolved = hstar.plan(*large_search(tmp_path), "blind", max_expansions=3)._repr_html_()
    assert "gave up" in unsolved
    assert "<code>" not in unsolved
    assert "None" not in unsolved


def test_names_cannot_break_out_of_the_html(tmp_path: Path) -> None:
    problem = tmp_path / "p.pddl"
    init = ["(ontable <b>)", "(clear <b>)", "(handempty)"]
    problem.write_text(problem_text("blocks", "<b>", init, ["(holding <b>)"]))
    (tmp_path / "d.pddl").write_text(BLOCKS)
    shown = hstar.plan(tmp_path / "d.pddl", problem)._repr_html_()
    assert "(pick-up &lt;b&gt;)" in shown


def test_plan_text() -> None:
    text = hstar.plan(*COSTS, "blind", "astar").plan_text
    assert text.startswith("(drive van north south)\n")
    assert text.endswith("; cost = 26.5 (general cost)\n")


def test_no_plan_has_no_text(tmp_path: Path) -> None:
    result = hstar.plan(*large_search(tmp_path), "blind", max_evaluations=3)
    assert (result.plan, result.plan_cost, result.plan_length) == (None, None, None)
    with pytest.raises(ValueError, match="there is no plan: gave up"):
        _ = result.plan_text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"heuristic": "magic"}, "unknown heuristic 'magic'"),
        ({"search": "magic"}, "unknown search 'magic'"),
        ({"cost": "two"}, "unknown cost 'two'"),
        ({"weight": 0.5}, "weight must be finite and at least 1"),
        ({"weight": math.nan}, "weight must be finite and at least 1"),
        ({"batch": 0}, "batch must be between 1 and"),
        ({"batch": 2**40}, "batch must be between 1 and"),
        ({"max_evaluations": 0}, "limits must be between 1 and"),
        ({"max_expansions": -1}, "limits must be between 1 and"),
        ({"max_expansions": 2**64}, "limits must be between 1 and"),
        ({"time_limit": 0}, "time limit must be positive"),
        ({"time_limit": math.nan}, "time limit must be positive"),
        ({"memory_limit": -1}, "memory limit must be positive"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hstar.plan(*STRIPS, **options)


def test_bad_files() -> None:
    with pytest.raises(hstar.PddlError, match="there is no such file"):
        hstar.plan(STRIPS[0], "missing.pddl")
    with pytest.raises(hstar.PddlError, match="give the domain first"):
        hstar.plan(*reversed(STRIPS))


def test_limits(tmp_path: Path) -> None:
    """Before the search a limit raises; during the search it is a result with counters."""
    (tmp_path / "slow").mkdir()
    with pytest.raises(hstar.OutOfResources) as caught:
        hstar.plan(*slow_grounding(tmp_path / "slow"), time_limit=0.2)
    assert (caught.value.status, caught.value.exit_code) == ("out of time", 23)
    result = hstar.plan(*large_search(tmp_path), "blind", "astar", time_limit=0.3)
    assert (result.solved, result.status, result.exit_code) == (False, "out of time", 23)
    assert result.expanded > 0


def test_plans_are_found_outside_of_the_main_thread() -> None:
    """Where no signal can be caught; limits hold there as well."""
    results = []
    limits = {"time_limit": 60.0, "memory_limit": 2**40}
    thread = threading.Thread(target=lambda: results.append(hstar.plan(*STRIPS, **limits)))
    thread.start()
    thread.join()
    assert results[0].plan_cost == 4


# -- a Python function as heuristic


def test_own_heuristic(towers: hstar.Task) -> None:
    """Five lines, and it searches exactly as the native one does."""

    def open_goals(states: States) -> Values:
        h = np.zeros(len(states), dtype=np.float32)
        for variable, value in towers.goal:
            h += states[:, variable] != value
        return h

    own = hstar.search_task(towers, open_goals, "gbfs")
    native = hstar.search_task(towers, "goalcount", "gbfs")
    assert own.solved
    assert (own.plan, own.expanded, own.evaluated) == (
        native.plan,
        native.expanded,
        native.evaluated,
    )


@pytest.mark.parametrize("search", [name for name in hstar.SEARCHES if name != "bfs"])
def test_own_heuristic_in_every_search(search: str) -> None:
    seen = []

    def zero(states: States) -> Values:
        seen.append(states)
        return np.zeros(len(states), dtype=np.float32)

    result = hstar.plan(*STRIPS, zero, search, batch=4)
    assert result.solved
    assert sum(map(len, seen)) == result.evaluated
    assert all(states.dtype == np.int32 and states.ndim == 2 for states in seen)


@pytest.mark.parametrize(
    "answer",
    [
        lambda states: [0.0] * len(states),
        lambda states: np.zeros(len(states), dtype=np.int64),
        lambda states: np.zeros(len(states), dtype=np.float64),
        lambda states: np.zeros(2 * len(states), dtype=np.float32)[::2],
        lambda states: -np.ones(len(states)),
        lambda states: np.full(len(states), 1e30),
    ],
)
def test_any_numbers_will_do(answer: Any) -> None:
    assert hstar.plan(*STRIPS, answer).solved


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda states: np.zeros(len(states) + 1), "must return as many numbers"),
        (lambda states: np.zeros((len(states), 1)), "in one dimension"),
        (lambda states: np.zeros(0), "was given 1 states and must return as many"),
        (lambda states: np.full(len(states), np.nan), "returned NaN; use inf for dead ends"),
        (lambda states: None, "NaN"),
        (lambda states: ["high"] * len(states), "could not convert string to float"),
    ],
)
def test_wrong_answers_of_a_heuristic(answer: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hstar.plan(*STRIPS, answer)


@pytest.mark.parametrize("after", [0, 3])
def test_an_exception_in_a_heuristic_arrives_as_it_is(after: int) -> None:
    calls = 0

    def broken(states: States) -> Values:
        nonlocal calls
        calls += 1
        if calls > after:
            raise ZeroDivisionError("my own mistake")
        return np.zeros(len(states), dtype=np.float32)

    with pytest.raises(ZeroDivisionError, match="my own mistake"):
        hstar.plan(*STRIPS, broken)
    assert calls == after + 1
    assert hstar.plan(*STRIPS).solved, "and nothing is broken afterwards"


@pytest.mark.parametrize("search", ["gbfs", "lazy", "astar", "wastar", "gbfls"])
def test_dead_ends_of_ones_own_are_no_proof(search: str) -> None:
    """A learned heuristic may be wrong, so its dead ends end the search without a verdict."""
    result = hstar.plan(*STRIPS, lambda states: np.full(len(states), np.inf), search)
    assert (result.status, result.exit_code, result.deadends) == ("gave up", 12, 1)
    assert result.initial_h == math.inf
    assert '"initial_h": null' in result.to_json()


def test_without_dead_ends_the_proof_holds(tmp_path: Path) -> None:
    (tmp_path / "d.pddl").write_text(BLOCKS)
    problem = tmp_path / "p.pddl"
    init = ["(ontable a)", "(clear a)", "(ontable b)", "(clear b)", "(handempty)"]
    problem.write_text(problem_text("blocks", "a b", init, ["(on a b)", "(on b a)"]))
    zeros = hstar.plan(tmp_path / "d.pddl", problem, lambda states: np.zeros(len(states)))
    assert (zeros.status, zeros.exit_code) == ("unsolvable", 11)


# -- batches of states


@pytest.mark.parametrize("cost", ["normal", "one", "plusone"])
@pytest.mark.parametrize("name", hstar.HEURISTICS)
@pytest.mark.parametrize("files", [STRIPS, COSTS, ADL], ids=["strips", "costs", "adl"])
def test_batches_agree_with_single_states(files: tuple[Path, Path], name: str, cost: str) -> None:
    task = hstar.load_task(*files)
    heuristic = hstar.make_heuristic(task, name, cost)
    states = reachable(task)
    values = heuristic.evaluate(states)
    assert (values.dtype, values.shape) == (np.float32, (len(states),))
    one_by_one = np.concatenate([heuristic.evaluate(state) for state in states])
    np.testing.assert_array_equal(values, one_by_one)
    np.testing.assert_array_equal(heuristic.evaluate(states[::-1]), values[::-1])
    is_goal = np.all([states[:, v] == value for v, value in task.goal], axis=0)
    assert not values[is_goal].any()
    assert (values[~is_goal] >= (1 if name == "goalcount" else 0)).all()


def test_cost_types() -> None:
    """In towers every action costs 1, so costs plus one are twice the costs."""
    task = hstar.load_task(*STRIPS)
    states = reachable(task)
    for name in ("hmax", "hadd", "lmcut"):
        normal, one, plusone = (
            hstar.make_heuristic(task, name, cost).evaluate(states)
            for cost in ("normal", "one", "plusone")
        )
        np.testing.assert_array_equal(normal, one)
        np.testing.assert_array_equal(plusone, 2 * normal)


def test_preferred_operators(towers: hstar.Task) -> None:
    states = reachable(towers)
    preferred = hstar.make_heuristic(towers, "ff").preferred_operators(states)
    assert len(preferred) == len(states)
    for state, operators in zip(states, preferred, strict=True):
        applicable, _ = towers.successors(state)
        assert set(operators) <= set(applicable.tolist())
    names = [towers.operator_name(op) for op in preferred[0]]
    assert "(unstack b a)" in names


def test_plan_features(towers: hstar.Task) -> None:
    states = reachable(towers)
    ff = hstar.make_heuristic(towers, "ff")
    features = ff.plan_features(states)
    assert (features.dtype, features.shape) == (np.float32, (len(states), 4))
    goals = hstar.make_heuristic(towers, "goalcount").evaluate(states)
    np.testing.assert_array_equal(features[:, 0], goals)
    np.testing.assert_array_equal(features[:, 1], ff.evaluate(states))
    steps = features[:, 1] > 0  # every action costs 1
    np.testing.assert_allclose(features[steps, 3], features[steps, 2] / features[steps, 1])
    with pytest.raises(ValueError, match="only the heuristic 'ff'"):
        hstar.make_heuristic(towers, "hadd").plan_features(states)


def test_unknown_heuristic_or_cost(towers: hstar.Task) -> None:
    with pytest.raises(ValueError, match="unknown heuristic 'magic'"):
        hstar.make_heuristic(towers, "magic")
    with pytest.raises(ValueError, match="unknown cost type 'two'"):
        hstar.make_heuristic(towers, "ff", "two")


def wrong_states(task: hstar.Task) -> dict[str, Any]:
    good = task.initial_state
    return {
        "too short": good[:-1],
        "too long": np.append(good, np.int32(0)),
        "transposed": np.stack([good] * (len(good) + 1)).T,
        "three axes": good.reshape(1, 1, -1),
        "negative": np.where(np.arange(len(good)) == 0, -1, good),
        "too large": np.where(np.arange(len(good)) == 0, task.domain_sizes[0], good),
        "beyond 32 bits": good.astype(np.int64) + 2**32,
        "decimals": good + 0.5,
        "floats": good.astype(np.float32),
        "NaN": np.full(len(good), np.nan),
        "truth values": good.astype(bool),
        "text": good.astype(str),
        "nothing": np.zeros((1, 0), dtype=np.int32),
    }


@pytest.mark.parametrize("kind", wrong_states(hstar.load_task(*STRIPS)))
def test_wrong_states(kind: str, towers: hstar.Task) -> None:
    states = wrong_states(towers)[kind]
    ff = hstar.make_heuristic(towers, "ff")
    for function in (ff.evaluate, ff.preferred_operators, ff.plan_features, towers.successors):
        with pytest.raises(ValueError, match="state"):
            function(states)


def test_other_layouts_of_states_are_fine(towers: hstar.Task) -> None:
    ff = hstar.make_heuristic(towers, "ff")
    states = reachable(towers)
    values = ff.evaluate(states)
    for same in (
        states.astype(np.int64),
        states.astype(np.uint8),
        np.asfortranarray(states),
        np.repeat(states, 2, axis=0)[::2],
        states.tolist(),
    ):
        np.testing.assert_array_equal(ff.evaluate(same), values)
    assert ff.evaluate(states[:0]).shape == (0,)
    assert ff.plan_features(states[:0]).shape == (0, 4)
    assert ff.preferred_operators(states[:0]) == []
    with pytest.raises(ValueError, match="one state"):
        towers.successors(states[:2])


# -- tasks


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
    result = hstar.search_task(towers, "blind", "astar")
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
    result = hstar.search_task(task, "lmcut", "astar")
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

"""The theory of reward shaping, and that RTDP converges to it, on spaces solved exactly."""

from __future__ import annotations

import functools
import math

import numpy as np
import oracle
import pytest
from exact_values import (
    EVERY,
    GAMMAS,
    MOST_STATES,
    REACH_GOAL,
    TOLERANCE,
    Exact,
    Values,
    assert_close,
    check_values,
    optimum,
)
from numpy.typing import NDArray
from small_domains import ALL
from test_regression import classic, task_of

from hstar.training.reinforcement.shaping import POTENTIALS, REWARDS, Shaping
from hstar.training.reinforcement.tabular import rtdp, tabulate, value_iteration

SEEDS = range(60)


@functools.cache
def classic_space(name: str) -> Exact:
    return Exact(classic(name))


@functools.cache
def random_spaces() -> list[Exact]:
    spaces = []
    for seed in SEEDS:
        try:
            spaces.append(Exact(task_of(seed)))
        except (ValueError, oracle.StateSpaceTooLarge):
            continue
    return spaces


def swept(space: Exact, shaping: Shaping, h: Values) -> Values:
    """Value iteration in plain Python, on shaped rewards as they are defined."""
    phi, goal = shaping.phi(h), space.steps == 0
    dead = np.isinf(space.steps)

    def reward(after: int) -> float:
        if shaping.reward == "goal":
            return float(goal[after])
        return 0.0 if shaping.reward == "free-last" and goal[after] else -1.0

    V = np.where(dead, optimum(shaping, space.steps) - phi, 0.0)
    for _ in range(len(V) + 1):
        before = V.copy()
        for s, successors in enumerate(space.successors):
            if goal[s] or dead[s]:
                continue
            V[s] = max(
                reward(t) + shaping.gamma * phi[t] - phi[s] + shaping.gamma * V[t]
                for t in successors
            )
        if np.array_equal(V, before):
            break
    return V


@pytest.mark.parametrize("name", ALL)
def test_optimal_values_of_domains(name: str) -> None:
    """V* follows from h*, and shaped and unshaped optima differ by the potential."""
    space = classic_space(name)
    assert space.steps.max() > 3
    for shaping in EVERY:
        for h in ("ff", "hadd"):
            check_values(space, shaping, h)


def test_optimal_values_of_random_tasks() -> None:
    spaces = random_spaces()
    assert len(spaces) >= 30
    assert sum(math.isinf(space.steps[0]) for space in spaces) >= 3
    assert sum(space.steps[0] == 0 for space in spaces) >= 1
    trapped = [s for s in spaces if math.isfinite(s.steps[0]) and np.isinf(s.steps).any()]
    assert len(trapped) >= 3
    reach_goal = [
        s
        for s in spaces
        if any(s.task.operator_name(o) == REACH_GOAL for o in range(s.task.num_operators))
    ]
    assert len(reach_goal) >= 3
    for number, space in enumerate(spaces):
        for shaping in EVERY:
            check_values(space, shaping, ("ff", "hadd")[number % 2])


@pytest.mark.parametrize("seed", range(0, 60, 4))
def test_steps_are_those_of_the_lifted_problem(seed: int) -> None:
    """So artificial operators are no steps, and action costs do not matter."""
    task = task_of(seed)
    lifted = oracle.from_problem(task.problem)
    try:
        table = tabulate(task, max_states=MOST_STATES)
        distance = {lifted.init: 0}
        goal = math.inf
        for state in (queue := [lifted.init]):
            if lifted.is_goal(state):
                goal = distance[state]
                break
            for _, _, after in lifted.successors(state):
                if after not in distance:
                    distance[after] = distance[state] + 1
                    queue.append(after)
                    assert len(queue) < 10 * MOST_STATES
    except (ValueError, oracle.StateSpaceTooLarge):
        pytest.skip("too large")
    shaping = Shaping(0.999, "step", "none")
    expected = optimum(shaping, np.array([goal]))
    assert_close(value_iteration(table, shaping)[:1], expected)


@pytest.mark.parametrize("shaping", EVERY, ids=str)
def test_value_iteration_as_by_definition(shaping: Shaping) -> None:
    for space in (classic_space("gripper"), classic_space("ferry"), *random_spaces()[:10]):
        h = space.h("ff")
        h = np.where(np.isinf(space.steps), math.inf, h)
        assert_close(value_iteration(space.table, shaping, h), swept(space, shaping, h))


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("name", ALL)
def test_shaping_with_exact_distances(name: str, gamma: float) -> None:
    """Nothing is left to learn; where the last step is free, its reward is left."""
    space = classic_space(name)
    values = value_iteration(space.table, Shaping(gamma, "step"), space.steps)
    assert np.abs(values).max() <= TOLERANCE
    values = value_iteration(space.table, Shaping(gamma, "free-last"), space.steps)
    assert_close(values, optimum(Shaping(gamma, "goal"), space.steps))


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize("name", ALL)
def test_rtdp_from_random_states_converges(name: str, potential: str, gamma: float) -> None:
    """Every state is updated again and again, so argmax and the max backup find every optimum."""
    space = classic_space(name)
    for h in map(space.h, ("ff", "hadd")):
        for reward in REWARDS:
            shaping = Shaping(gamma, reward, potential)
            steps = 500 * len(h)
            result = rtdp(space.table, shaping, h, steps=steps, random_starts=True, seed=1)
            assert_close(result.values + shaping.phi(h), optimum(shaping, space.steps))
            assert result.episodes >= result.goals > 0


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize("name", ["gripper", "ferry", "briefcase"])
def test_sampling_rtdp_from_the_initial_state_converges(
    name: str, potential: str, gamma: float
) -> None:
    """At this temperature operators are drawn almost uniformly, so every state is updated again and
    again, but for those behind goals. Argmax might not: h^FF and h^add may exceed h*, and a state
    whose first value is too low is not tried."""
    space = classic_space(name)
    before_goals = reached_before_goals(space)
    for h in map(space.h, ("ff", "hadd")):
        shaping = Shaping(gamma, "step", potential)
        result = rtdp(space.table, shaping, h, steps=400_000, sample=True, temperature=10, seed=1)
        expected = optimum(shaping, space.steps)
        assert_close((result.values + shaping.phi(h))[before_goals], expected[before_goals])


def reached_before_goals(space: Exact) -> NDArray[np.int64]:
    found = [0]
    for state in found:
        if space.steps[state] > 0:
            found += [t for t in dict.fromkeys(space.successors[state]) if t not in found]
    return np.array(found)


def test_argmax_rtdp_is_optimal_where_it_goes() -> None:
    """From the initial state and with optimistic values, as in RTDP's own theory: the value of the
    initial state is exact, though most states are never seen."""
    space = classic_space("logistics")
    for potential, h in (("none", None), ("naive", space.h("blind")), ("naive", space.h("lmcut"))):
        shaping = Shaping(0.999, "step", potential)
        result = rtdp(space.table, shaping, h, steps=20_000)
        phi = 0.0 if h is None else shaping.phi(h)
        assert_close((result.values + phi)[:1], optimum(shaping, space.steps)[:1])


@pytest.mark.parametrize("sample", [False, True])
def test_expectation_backup(sample: bool) -> None:
    """V is the expectation of Q under softmax(Q / tau); at tau = 0 it is the maximum."""
    space, shaping = classic_space("gripper"), Shaping(0.9, "step", "discounted")
    h = space.h("ff")
    run = functools.partial(rtdp, space.table, shaping, h, steps=200_000, sample=sample)
    anywhere = functools.partial(run, random_starts=True, backup="expectation")
    V = anywhere(temperature=0.5).values
    phi = shaping.phi(h)
    for s, successors in enumerate(space.successors):
        if space.steps[s] == 0:
            continue
        q = np.array([shaping.gamma * (phi[t] + V[t]) - 1 - phi[s] for t in successors])
        pi = np.exp(q / 0.5) / np.exp(q / 0.5).sum()
        assert abs(V[s] - pi @ q) <= TOLERANCE
    assert_close(anywhere(temperature=0.0).values + phi, optimum(shaping, space.steps))
    greedy = run(random_starts=True, temperature=0.0).values
    assert_close(greedy, anywhere(temperature=0.0).values)


def test_same_seed_same_values() -> None:
    space = classic_space("blocks")
    run = functools.partial(rtdp, space.table, Shaping(), space.h("ff"), steps=200, sample=True)
    first, again, other = run(seed=3), run(seed=3), run(seed=4)
    assert (first.values == again.values).all()
    assert first[1:] == again[1:]
    assert (first.values != other.values).any()
    assert first.episodes >= 200 / 40
    assert run(seed=3, depth=1).episodes == 200

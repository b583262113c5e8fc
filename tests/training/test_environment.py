"""The environment of reinforcement learning against the task in Python, state by state."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exact_values import ROOMS
from learning_window import about, expand, inputs
from numpy.typing import NDArray
from small_domains import ALL
from test_regression import task_of

from hstar import _core
from hstar.pddl.errors import UnsupportedPddlError
from hstar.planning.heuristics import make_heuristic
from hstar.planning.task import REACH_GOAL, Task, load_task
from hstar.runtime.resources import Budget, OutOfResources
from hstar.slots.features.atoms import ATOMS, Batch

OPTIONS = {"breadth": 3, "types": True}
Rows = NDArray[np.int32]


def read(folder: Path, domain: str, problem: str) -> Task:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "domain.pddl").write_text(domain)
    (folder / "problem.pddl").write_text(problem)
    return load_task(folder / "domain.pddl", folder / "problem.pddl")


def rooms_task(folder: Path, doors: str, goal: str = "(at g)", start: str = "s") -> Task:
    """One-way doors, as in "sa ag". Only what matters for the goal is kept."""
    objects = " ".join(sorted({"s", "g", *doors.replace(" ", "")}))
    init = " ".join(f"(door {a} {b}) (= (length {a} {b}) 1)" for a, b in doors.split())
    problem = (
        f"(define (problem p) (:domain rooms) (:objects {objects}) (:init (= (total-cost) 0) "
        f"(at {start}) {init}) (:goal {goal}) (:metric minimize (total-cost)))"
    )
    (folder / "domain.pddl").write_text(ROOMS)
    (folder / "problem.pddl").write_text(problem)
    paths = folder / "domain.pddl", folder / "problem.pddl"
    return load_task(*paths, keep_irrelevant=True)


def environment_of(
    tasks: list[Task], heuristic: str = "ff", lower: str = "", **limits: Any
) -> _core.Environment:
    """Each task with a vocabulary of its own: they may be of several domains."""
    problems = [(task.core, encoding_of(task)) for task in tasks]
    return _core.Environment(problems, heuristic, lower, **limits)


def encoding_of(task: Task) -> dict[str, Any]:
    """Networks read no goals with a choice: such a task has no inputs."""
    if encoder_of(task) is not None:
        return ATOMS.native(ATOMS.configure([task], OPTIONS, "one"), task)
    return {
        "num_objects": 0,
        "base_entries": np.zeros((0, 2), np.int32),
        "base_values": np.zeros(0, np.float32),
        "fact_entries": np.full((task.num_facts, 2), -1, np.int32),
    }


def encoder_of(task: Task) -> Callable[[Any], Batch] | None:
    try:
        return ATOMS.encoder(ATOMS.configure([task], OPTIONS, "one"), task)
    except UnsupportedPddlError:
        return None


class Expected:
    """What the environment should say, in plain Python."""

    def __init__(self, task: Task, heuristic: str) -> None:
        self.task = task
        evaluator = make_heuristic(task, heuristic, cost="one") if heuristic else None
        self.evaluate = (
            (lambda rows: np.zeros(len(rows))) if evaluator is None else evaluator.evaluate
        )

    def steps(self, state: Rows) -> list[tuple[int, Rows]]:
        ops, states = self.task.successors(state)
        return [
            (int(op), after)
            for op, after in zip(ops, states, strict=True)
            if self.task.operator_name(int(op)) != REACH_GOAL
        ]

    def h(self, state: Rows) -> float:
        return 0.0 if self.task.satisfies_goal(state) else float(self.evaluate(state[None])[0])

    def is_stuck(self, state: Rows) -> bool:
        """By the state alone."""
        if self.task.satisfies_goal(state):
            return False
        return math.isinf(self.h(state)) or not self.steps(state)

    def is_dead_end(self, state: Rows) -> bool:
        """After expansion."""
        if self.task.satisfies_goal(state):
            return False
        return self.is_stuck(state) or all(self.is_stuck(after) for _, after in self.steps(state))


def check_walk(world: _core.Environment, tasks: list[Task], heuristic: str, length: int) -> int:
    """Random walks on all problems at once, in one batch per step. Returns how many states."""
    rng = random.Random(7)
    expected = [Expected(task, heuristic) for task in tasks]
    encode = [encoder_of(task) for task in tasks]
    at = [0] * len(tasks)
    seen: set[tuple[int, bytes]] = set()
    order = list(range(len(tasks)))
    for _ in range(length):
        rng.shuffle(order)
        problems, states = list(order), [at[p] for p in order]
        before = about(world, problems, states)
        starts, ops, successors = expand(world, problems, states)
        after = about(world, problems, states)
        sizes, input_starts, entries, values = inputs(world, problems, states)
        assert len(starts) == len(order) + 1
        for row, p in enumerate(order):
            state = world.values(p, at[p])
            seen.add((p, state.tobytes()))
            assert before["goals"][row] == tasks[p].satisfies_goal(state)
            assert before["h"][row] == pytest.approx(expected[p].h(state))
            assert after["h"][row] == before["h"][row]
            assert after["dead_ends"][row] == expected[p].is_dead_end(state)
            assert before["dead_ends"][row] in (
                after["dead_ends"][row],
                expected[p].is_stuck(state),
            )
            mine = slice(starts[row], starts[row + 1])
            steps = expected[p].steps(state)
            assert ops[mine].tolist() == [op for op, _ in steps]
            for number, (_, row_after) in zip(successors[mine], steps, strict=True):
                assert world.values(p, int(number)).tolist() == row_after.tolist()
                assert world.add(p, row_after[None]) == number
            own = slice(input_starts[row], input_starts[row + 1])
            if encode[p] is None:
                assert entries[own].size == 0
                continue
            batch = encode[p](state[None])
            assert sizes[row] == batch.sizes[0]
            assert sorted_rows(entries[own], values[own]) == sorted_rows(
                batch.entries, batch.values
            )
            at[p] = int(rng.choice(list(successors[mine]))) if steps else 0
    return len(seen)


def sorted_rows(entries: Any, values: Any) -> list[tuple[int, int, float]]:
    return sorted(
        (int(arity), int(index), float(value))
        for (arity, index), value in zip(entries, values, strict=True)
    )


@pytest.mark.parametrize("heuristic", ["ff", "hadd", "hmax", "lmcut", "goalcount", ""])
def test_problems_of_several_domains(tmp_path: Path, heuristic: str) -> None:
    tasks = [
        read(tmp_path / f"{name}{seed}", *ALL[name](random.Random(seed)))
        for name in ALL
        for seed in (1, 2)
        if not (name == "briefcase" and heuristic == "lmcut")  # it has conditional effects
    ]
    world = environment_of(tasks, heuristic)
    assert check_walk(world, tasks, heuristic, 40) > 100


def test_random_tasks_with_dead_ends_and_several_goals() -> None:
    tasks = [task for seed in range(120) if not (task := task_of(seed)).goal_is_false]
    names = {task: {task.operator_name(op) for op in range(task.num_operators)} for task in tasks}
    assert sum(REACH_GOAL in found for found in names.values()) >= 5
    world = environment_of(tasks, "ff")
    assert check_walk(world, tasks, "ff", 12) > 300
    everything = [(p, s) for p in range(len(tasks)) for s in range(world.num_states(p))]
    found = about(world, (p for p, _ in everything), (s for _, s in everything))
    assert found["dead_ends"].sum() >= 10
    assert found["goals"].sum() >= 10
    assert not (found["dead_ends"] & found["goals"]).any()


def test_no_operator_is_a_dead_end(tmp_path: Path) -> None:
    """Even if the heuristic is finite; and so is a state all of whose successors are dead ends,
    once it is expanded. Two steps ahead is too far to see."""
    task = rooms_task(tmp_path, "sg sa ab bc")
    world = environment_of([task], "goalcount")
    _, (g, a) = world.expand(0, 0)
    if world.about(0, g)[1] is False:
        g, a = a, g
    assert world.about(0, g) == (0, True, False)
    assert world.about(0, a) == (1, False, False)
    b = world.expand(0, a)[1][0]
    assert world.about(0, b) == (1, False, False)
    c = world.expand(0, b)[1][0]
    assert world.about(0, c) == (1, False, True)
    assert world.about(0, b) == (1, False, True)
    assert world.about(0, a) == (1, False, False)


def test_what_is_a_dead_end_does_not_depend_on_the_order_of_expansions(tmp_path: Path) -> None:
    """Otherwise a resumed run, which has expanded other states, would go another way."""
    task = rooms_task(tmp_path, "sg sa ab bc ad")
    names = rooms_of(task)
    flags = []
    for order in ("sab", "bas", "abs"):
        world = environment_of([task], "goalcount")
        for room in order:
            world.expand(0, world.add(0, names[room][None]))
        flags.append({room: world.about(0, world.add(0, names[room][None]))[2] for room in names})
    assert flags[0] == flags[1] == flags[2]
    assert [room for room in sorted(names) if flags[0][room]] == ["b", "c", "d"]


def rooms_of(task: Task) -> dict[str, Rows]:
    """The states of a task with rooms, by the room."""
    states = [task.initial_state]
    for state in states:
        found = [row for _, row in Expected(task, "").steps(state)]
        states += [row for row in found if not any((row == one).all() for one in states)]
    return {next(a for a in task.atoms(row) if a.startswith("at("))[3:-1]: row for row in states}


def test_an_infinite_h_is_a_dead_end(tmp_path: Path) -> None:
    """y and z lead to each other, but never to the goal."""
    task = rooms_task(tmp_path, "sg sy yz zy")
    rows = rooms_of(task)
    for heuristic, is_seen in (("ff", True), ("hmax", True), ("goalcount", False), ("", False)):
        world = environment_of([task], heuristic)
        y = world.add(0, rows["y"][None])
        assert world.about(0, y)[2] is is_seen
        assert math.isinf(world.about(0, y)[0]) is is_seen
        assert world.about(0, 0)[2] is False


@pytest.mark.parametrize("goal", ["(or (at a) (at g))", "(exists (?r) (and (at ?r) (door ?r g)))"])
def test_disjunctive_goals_take_no_step(tmp_path: Path, goal: str) -> None:
    task = rooms_task(tmp_path, "sa ab bg", goal)
    world = environment_of([task], "ff")
    for room, row in rooms_of(task).items():
        number = world.add(0, row[None])
        is_goal = room in ("ag" if goal.startswith("(or") else "b")
        assert world.about(0, number)[1] is is_goal
        ops, _ = world.expand(0, number)
        assert all(task.operator_name(int(op)) != REACH_GOAL for op in ops)
        assert not is_goal or world.about(0, number) == (0, True, False)


def test_a_goal_that_is_false(tmp_path: Path) -> None:
    """Nothing is a goal, and nothing is reached."""
    task = rooms_task(tmp_path, "sa as", "(and (at g))")
    assert task.goal_is_false
    for heuristic in ("ff", ""):
        world = environment_of([task], heuristic)
        assert not world.about(0, 0)[1]


def test_an_empty_goal_is_reached_at_once(tmp_path: Path) -> None:
    task = rooms_task(tmp_path, "sa as", "(and)")
    world = environment_of([task], "ff")
    assert world.about(0, 0) == (0, True, False)


def test_a_state_has_one_number() -> None:
    task = task_of(next(seed for seed in range(99) if task_of(seed).num_variables > 1))
    world = environment_of([task, task], "ff")
    for problem in (0, 1):
        assert world.add(problem, task.initial_state[None]) == 0
        assert world.values(problem, 0).tolist() == task.initial_state.tolist()
    world.expand(0, 0)
    assert world.num_states(1) == 1  # problems are apart, even of one task


def test_wrong_numbers_are_refused(tmp_path: Path) -> None:
    task = rooms_task(tmp_path, "sa ag")
    world = environment_of([task], "ff")
    for method in (world.about, world.expand, world.inputs):
        for problem, state, message in (
            (1, 0, "there is no problem 1"),
            (-1, 0, "there is no problem -1"),
            (0, 1, "no state 1 yet"),
            (0, -1, "no state -1"),
            (0, 2**40, "no state"),
        ):
            with pytest.raises(ValueError, match=message):
                method(problem, state)
    with pytest.raises(ValueError, match="there is no problem 3"):
        world.num_states(3)
    for problem, state in ((0, 9), (2, 0)):
        with pytest.raises(ValueError, match="no"):
            world.values(problem, state)
    state = task.initial_state
    with pytest.raises(ValueError, match="there is no problem 5"):
        world.add(5, state[None])
    for wrong in (np.append(state, np.int32(0)), state + 1000, state - 1000):
        with pytest.raises((ValueError, IndexError)):
            world.add(0, wrong.astype(np.int32)[None])
    with pytest.raises(ValueError, match="nonsense"):
        environment_of([task], "nonsense")
    assert world.num_states(0) == 1


def test_wrong_encodings_are_refused(tmp_path: Path) -> None:
    """The learner checks them against the network before it reads them."""
    task = rooms_task(tmp_path, "sa ag")
    features = ATOMS.configure([task], OPTIONS, "one")
    encoding = ATOMS.native(features, task)
    shape = _core.NlmShape(3, 2, 4, 1, True, True, "sigmoid", [0, 3, 3, 0])
    theta = np.zeros(shape.num_parameters, np.float32)
    for change in (
        {"fact_entries": encoding["fact_entries"][:-1]},
        {"fact_entries": encoding["fact_entries"] + 1000},
        {"num_objects": 1},
    ):
        world = _core.Environment([(task.core, {**encoding, **change})], "ff", "")
        with pytest.raises(ValueError):
            _core.RtdpLearner(world, [0], shape, theta, _core.RtdpOptions(), 0, 1)


def test_a_deadline_ends_the_construction(tmp_path: Path) -> None:
    task = rooms_task(tmp_path, "sa ag")
    budget = Budget()
    with pytest.raises(OutOfResources, match="out of time"), budget.native():
        environment_of([task], "ff", deadline=_core.monotonic_seconds() - 1)

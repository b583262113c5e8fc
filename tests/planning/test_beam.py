"""Beam search against a plain one in Python, and queues of what another heuristic prefers."""

from __future__ import annotations

import functools
import hashlib
from typing import Any

import numpy as np
import pytest
from golden_cases import task_of
from numpy.typing import NDArray
from program import DATA
from program import hstar as program
from test_random_tasks import SEEDS, load

import hstar
from hstar import search
from hstar.experiments.bench import BenchOptions
from hstar.planning.puzzle import make_puzzle
from hstar.planning.result import SearchResult
from hstar.planning.specification import SearchSpecification

FILES = DATA / "strips" / "domain.pddl", DATA / "strips" / "problem.pddl"
DOUBLE = [(0, False), (0, True)]
PATIENCE = 100  # layers without a new smallest value

State = tuple[int, ...]


@pytest.fixture(scope="module")
def task() -> hstar.Task:
    return hstar.load_task(*FILES)


def scattered(states: NDArray[np.int32]) -> NDArray[np.float32]:
    """Real values that follow from the state and mean nothing; a few are infinite."""
    digests = [hashlib.sha256(np.ascontiguousarray(row).tobytes()).digest() for row in states]
    drawn = np.array([int.from_bytes(one[:4], "big") / 2**32 for one in digests])
    return np.where(drawn < 0.97, drawn, np.inf).astype(np.float32)


def few_values(states: NDArray[np.int32]) -> NDArray[np.float32]:
    """Many ties."""
    return np.floor(3 * np.where(np.isinf(scattered(states)), 0, scattered(states)))


def no_values(states: NDArray[np.int32]) -> NDArray[np.float32]:
    return np.zeros(len(states), dtype=np.float32)


class Noted:
    """A heuristic that notes the states it is asked about, in order."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.states: list[State] = []

    def __call__(self, states: NDArray[np.int32]) -> Any:
        self.states += [tuple(row) for row in states.tolist()]
        return self.function(states)


def plain_beam_search(
    task: hstar.Task, h: Any, width: int, most: int = 10**6
) -> tuple[list[str] | None, list[State]]:
    """(the plan or None, the states in the order in which they are generated).

    Ends when there are more states than `most`.
    """
    goal_facts = hstar.make_heuristic(task, "goalcount")

    def value(state: State) -> float:
        return float(h(np.array([state], dtype=np.int32))[0])

    def is_goal(state: State) -> bool:
        return bool(goal_facts.evaluate(np.array([state], dtype=np.int32))[0] == 0)

    start = tuple(task.initial_state.tolist())
    plans: dict[State, list[str]] = {start: []}
    if is_goal(start):
        return [], [start]
    best = value(start)
    waiting = [(best, 0, start)] if best < np.inf else []  # OPEN; numbers ascend with time
    found = list(waiting)
    idle = 0
    while waiting and len(plans) <= most:
        is_stuck = idle >= PATIENCE
        idle = 0 if is_stuck else idle + 1
        layer = sorted(waiting if is_stuck or not found else found)[:width]
        waiting = [entry for entry in waiting if entry not in layer]
        found = []
        for _, _, parent in layer:
            operators, rows = task.successors(np.array(parent, dtype=np.int32))
            for operator, child in zip(operators, map(tuple, rows.tolist()), strict=True):
                if child in plans:
                    continue
                name = task.operator_name(operator)
                plans[child] = plans[parent] + ([name] if name != "(reach-goal)" else [])
                if is_goal(child):
                    return plans[child], list(plans)
                here = value(child)
                if here < best:
                    best, idle = here, 0
                if here < np.inf:
                    found.append((here, len(plans), child))
        waiting += found
    return None, list(plans)


@pytest.mark.parametrize("seed", SEEDS[:40])
def test_beam_search_equals_the_plain_one(seed: int) -> None:
    case = load(seed)
    if case is None:
        pytest.skip("a large state space")
    for values in (scattered, few_values, no_values):
        for width in (1, 3, 10):
            noted = Noted(values)
            result = search(case.task, noted, "beam", width=width)
            plan, generated = plain_beam_search(case.task, values, width)
            assert result.plan == plan
            # A layer is evaluated in parts. Where a goal is found, the last part is not.
            assert noted.states == generated[: len(noted.states)]
            assert result.solved or len(noted.states) == len(generated)
            # An infinite value of a function proves nothing.
            assert result.solved or result.status == (
                "gave up" if result.deadends else "unsolvable"
            )


def test_a_beam_that_is_stuck_returns_to_open() -> None:
    """In a space with far more layers than its patience; most of the time nothing gets better."""
    tiles = task_of("sliding-tiles")
    for values in (few_values, no_values):
        for width in (1, 2):
            noted = Noted(values)
            result = search(tiles, noted, "beam", width=width, max_expansions=1000)
            _, generated = plain_beam_search(tiles, values, width, len(noted.states) + 100)
            assert result.expanded > 4 * width * PATIENCE
            assert noted.states == generated[: len(noted.states)]


def outcome(result: SearchResult) -> tuple[Any, ...]:
    counted = (result.evaluated, result.requested, result.expanded, result.generated)
    return (result.status, result.plan, result.deadends, *counted)


@pytest.mark.parametrize("seed", SEEDS[:60])
def test_second_queues_find_a_plan_just_where_there_is_one(seed: int) -> None:
    case = load(seed)
    if case is None:
        pytest.skip("a large state space")
    for algorithm in ("gbfs", "lazy", "beam"):
        for heuristic in ("goalcount", "blind", ["goalcount", "hadd"]):
            for options in ({}, {"preferred_by": "ff"}, {"preferred_by": "ff", "seed": 3}):
                width = {"width": 2} if algorithm == "beam" else {}
                options = {**options, **width}
                run = functools.partial(search, case.task, heuristic, algorithm, **options)
                result = run()
                assert result.solved == np.isfinite(case.optimal_cost), (algorithm, options)
                assert result.solved or result.status == "unsolvable"
                assert outcome(result) == outcome(run())


@pytest.mark.parametrize("seed", SEEDS[:40])
@pytest.mark.parametrize("batch", [1, 4])
def test_an_adviser_prefers_as_the_heuristic_itself_does(seed: int, batch: int) -> None:
    """A function with the values of h^FF, advised by h^FF, searches as h^FF does."""
    case = load(seed)
    if case is None:
        pytest.skip("a large state space")
    function = hstar.make_heuristic(case.task, "ff").evaluate
    for algorithm in ("gbfs", "lazy", "beam"):
        size = {} if algorithm == "beam" else {"batch": batch}
        run = functools.partial(search, case.task, algorithm=algorithm, queues=DOUBLE, **size)
        own = outcome(run("ff"))
        assert outcome(run("ff", preferred_by="ff")) == own
        advised = outcome(run(function, preferred_by="ff"))
        # An infinite value of a function is no proof, but a lazy search hears of it from h^FF.
        assert advised[1:] == own[1:]
        assert advised[0] == own[0] or algorithm != "lazy"


def test_an_adviser_proves_dead_ends() -> None:
    """A value that says nothing: without the adviser the whole space is searched."""
    proofs = 0
    for seed in SEEDS:
        case = load(seed)
        if case is None or np.isfinite(case.optimal_cost):
            continue
        for algorithm in ("gbfs", "lazy", "beam"):
            alone = search(case.task, no_values, algorithm)
            advised = search(case.task, no_values, algorithm, preferred_by="ff")
            assert alone.status == advised.status == "unsolvable"
            assert alone.deadends == 0 and advised.expanded <= alone.expanded
            proofs += advised.deadends > 0
    assert proofs > 0


def test_beams_solve_puzzles() -> None:
    for name in ("tiles-3x3", "pancake-7"):
        puzzle = make_puzzle(name)
        state = puzzle.scramble(20, 1)
        for width in (1, 50):
            one, two = (search(puzzle, "blind", "beam", state=state, width=width) for _ in "12")
            assert one.solved and outcome(one) == outcome(two)
    done = program("solve", "tiles-3x3", "--scramble", "20", "-s", "beam", "--width", "50")
    assert done.code == 0


def test_limits_hold_within_a_layer(task: hstar.Task) -> None:
    result = search(task, no_values, "beam", max_expansions=3)
    assert (result.status, result.expanded) == ("gave up", 3)
    result = search(task, no_values, "beam", max_evaluations=4)
    assert (result.status, result.requested) == ("gave up", 4)


def test_what_does_not_fit_is_refused(task: hstar.Task) -> None:
    for width in (0, -1, 2**31):
        with pytest.raises(ValueError, match="the width must be between 1 and"):
            search(task, "ff", "beam", width=width)
    with pytest.raises(ValueError, match="'hmax' has no preferred operators; choose one of ff"):
        search(task, "ff", "gbfs", preferred_by="hmax")
    with pytest.raises(ValueError, match="did you mean 'ff'"):
        search(task, "ff", "gbfs", preferred_by="fff")
    with pytest.raises(ValueError, match="astar does not take 'preferred_by'; choose gbfs"):
        search(task, "ff", "astar", preferred_by="ff")
    with pytest.raises(ValueError, match="preferred operators are turned off"):
        search(task, "ff", "lazy", preferred_by="ff", preferred=False)
    with pytest.raises(ValueError, match="'ff' does not work on a puzzle"):
        puzzle = make_puzzle("tiles-3x3")
        search(puzzle, "blind", "gbfs", state=puzzle.scramble(5, 1), preferred_by="ff")
    with pytest.raises(ValueError, match="no preferred operators"):
        BenchOptions(["suite"], shared=SearchSpecification(preferred_by="lmcut"))


def test_the_command_line(task: hstar.Task, tmp_path: Any) -> None:
    flags = ["-H", "goalcount", "-s", "beam", "--width", "3", "--preferred", "ff"]
    done = program("plan", *FILES, *flags, "--plan-file", tmp_path / "plan")
    assert done.code == 0 and "preferred by ff" in done.out
    expected = search(task, "goalcount", "beam", width=3, preferred_by="ff")
    assert f"Expanded {expected.expanded} state(s)." in done.out
    for wrong, said in {
        ("--width", "0"): "'0' is not a positive whole number",
        ("--preferred", "hmax"): "'hmax' has no preferred operators",
        ("--no-preferred", "--preferred", "ff"): "turned off",
    }.items():
        done = program("plan", *FILES, "-H", "goalcount", *wrong)
        assert done.code == 36 and said in done.err


def test_labels_say_what_was_chosen() -> None:
    chosen = SearchSpecification("goalcount", "beam", width=3, preferred_by="ff")
    assert chosen.label() == "beam(goalcount, width 3, preferred by ff)"
    assert chosen.searches() == [chosen]

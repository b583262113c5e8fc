"""Searches that take turns: who finds the plan, limits, errors; nobody waits forever."""

from __future__ import annotations

import json
import resource
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hard_tasks import large_search, never_ending
from program import python

import hstar
from hstar import _core, search
from hstar.planning.result import SearchResult
from hstar.planning.search import run
from hstar.planning.specification import DEFAULT_PLANNER, SearchSpecification
from hstar.runtime.resources import Budget

Values = Callable[[Any], Any]
SOME = 8  # blocks: enough to be hard without a good heuristic
STACK = 64 * 2**20  # bytes, of each thread


@pytest.fixture(scope="module")
def towers(tmp_path_factory: pytest.TempPathFactory) -> hstar.Task:
    return hstar.load_task(*large_search(tmp_path_factory.mktemp("towers"), SOME))


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> hstar.Task:
    return hstar.load_task(*never_ending(tmp_path_factory.mktemp("endless")))


def constant(states: Any) -> Any:
    return np.ones(len(states))


def misleading(task: hstar.Task) -> Values:
    """Prefers states that look far from the goal."""
    ff = hstar.make_heuristic(task, "ff", "one")
    return lambda states: 1000 - np.minimum(ff.evaluate(states), 900)


def perfect(task: hstar.Task) -> Values:
    """Leads straight along a plan."""
    plan = run(task, DEFAULT_PLANNER, Budget()).plan
    assert plan is not None
    state, left = task.initial_state, {task.initial_state.tobytes(): len(plan)}
    for number, name in enumerate(plan, 1):
        ops, states = task.successors(state)
        state = states[[task.operator_name(op) for op in ops.tolist()].index(name)]
        left[state.tobytes()] = len(plan) - number
    return lambda states: np.array([left.get(one.tobytes(), 1e6) for one in states])


# -- who finds the plan


@pytest.mark.parametrize("useless", ["constant", "misleading"])
def test_a_useless_heuristic_leaves_the_plan_to_the_default_planner(
    useless: str, towers: hstar.Task
) -> None:
    heuristic = constant if useless == "constant" else misleading(towers)
    result = search(towers, heuristic, "lazy", alternating=[DEFAULT_PLANNER])
    alone = run(towers, DEFAULT_PLANNER, Budget())
    assert (result.found_by, result.plan) == ("default", alone.plan)
    assert (result.evaluated, result.initial_h) == (alone.evaluated, alone.initial_h)
    assert result.plan is not None and result.unchecked is None
    assert towers.replay(result.plan) == result.plan_cost
    assert json.loads(result.to_json())["found_by"] == "default"


def test_a_perfect_heuristic_wins(tmp_path: Path) -> None:
    # The other search would not get there.
    task = hstar.load_task(*large_search(tmp_path, 12))
    heuristic = perfect(task)
    first = search(task, heuristic, alternating=[SearchSpecification("blind", "astar")])
    second = search(task, "blind", "astar", alternating=[SearchSpecification(heuristic)])
    assert first.found_by == second.found_by == "learned"
    assert first.plan == second.plan == run(task, SearchSpecification(heuristic), Budget()).plan
    assert first.expanded == second.expanded


def test_three_searches(towers: hstar.Task) -> None:
    options = SearchSpecification(
        constant, alternating=[SearchSpecification(misleading(towers)), DEFAULT_PLANNER]
    )
    assert "in turns with" in options.describe() and "default planner" in options.describe()
    result = run(towers, options, Budget())
    assert result.solved and result.found_by in ("learned", "default")


def test_a_search_alone_has_no_finder(towers: hstar.Task) -> None:
    result = run(towers, DEFAULT_PLANNER, Budget())
    assert result.solved and result.found_by is None
    assert "found_by" not in json.loads(result.to_json())


def test_turns_on_a_puzzle() -> None:
    from hstar.planning.puzzle import make_puzzle

    puzzle = make_puzzle("pancake-6")
    start = puzzle.scramble(5, 1)
    result = search(
        puzzle, constant, alternating=[SearchSpecification("blind", "astar")], state=start
    )
    assert result.solved and puzzle.replay(result.plan or [], start) == result.plan_cost


def test_a_proof_that_there_is_no_plan_ends_all(tmp_path: Path) -> None:
    task = hstar.load_task(*never_ending(tmp_path, 3))

    def hopeless(states: Any) -> Any:
        return np.full(len(states), np.inf)

    result = search(task, hopeless, alternating=[DEFAULT_PLANNER])
    assert (result.status, result.exit_code, result.found_by) == ("unsolvable", 11, None)
    # None of these proves anything.
    assert search(task, hopeless, alternating=[SearchSpecification(hopeless)]).status == "gave up"


# -- limits


def test_time_is_for_all(endless: hstar.Task) -> None:
    budget = Budget.starting_now(0.3, None)
    result = run(endless, SearchSpecification("goalcount", alternating=[DEFAULT_PLANNER]), budget)
    assert (result.status, result.exit_code) == ("out of time", 23)
    assert result.evaluated > 1 and result.found_by is None


def test_the_limits_of_evaluations_hold_for_each_search(endless: hstar.Task) -> None:
    seen = [0, 0]

    def counting(number: int) -> Values:
        def values(states: Any) -> Any:
            seen[number] += len(states)
            return np.ones(len(states))

        return values

    options = SearchSpecification(
        counting(0),
        alternating=[SearchSpecification(counting(1)), DEFAULT_PLANNER],
        max_evaluations=100,
    )
    result = run(endless, options, Budget())
    assert result.status == "gave up"
    assert 0 < seen[0] <= 100 and 0 < seen[1] <= 100
    assert (
        run(endless, replace(options, max_evaluations=None, max_expansions=3), Budget()).status
        == "gave up"
    )


# -- errors


@pytest.mark.parametrize("first", [True, False])
def test_an_error_in_a_heuristic_is_raised(first: bool, endless: hstar.Task) -> None:
    calls = 0

    def failing(states: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise ZeroDivisionError("in the heuristic")
        return np.zeros(len(states))

    one, other = SearchSpecification(failing), DEFAULT_PLANNER
    options = replace(one, alternating=[other]) if first else replace(other, alternating=[one])
    with pytest.raises(ZeroDivisionError, match="in the heuristic"):
        run(endless, options, Budget())


def test_a_heuristic_shared_by_searches_is_refused(towers: hstar.Task) -> None:
    ff = hstar.make_heuristic(towers, "ff").core
    with pytest.raises(ValueError, match="cannot share a heuristic"):
        search(towers, ff, alternating=[SearchSpecification(ff)])
    assert search(towers, ff).solved  # it was not left locked
    assert search(
        towers, constant, alternating=[SearchSpecification(constant), DEFAULT_PLANNER]
    ).solved


@pytest.mark.parametrize("where", ["same search", "search in turns", "search within"])
def test_a_function_cannot_use_the_heuristic_of_its_search(where: str, towers: hstar.Task) -> None:
    """It would wait for itself. With a heuristic of its own it works."""
    shared, own = (hstar.make_heuristic(towers, "ff") for _ in range(2))

    def asks(heuristic: Any, states: Any) -> Any:
        if where == "search within":
            search(towers, heuristic.core, max_evaluations=2)
        return heuristic.evaluate(states)

    def run_with(inner: Any) -> SearchResult:
        function = partial(asks, inner)
        if where == "search in turns":
            return search(towers, function, alternating=[SearchSpecification(shared.core)])
        return search(towers, [function, shared.core])

    with pytest.raises(ValueError, match="uses the same heuristic; bind or make another"):
        run_with(shared)
    assert run_with(own).solved
    assert shared.evaluate(towers.initial_state) > 0  # it was not left locked


def test_waiting_in_another_thread_ends_with_the_limit(towers: hstar.Task) -> None:
    """A function waits for a thread, which waits for what the search of the function holds."""
    shared = hstar.make_heuristic(towers, "ff")

    def asks(states: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(shared.evaluate, states).result()

    budget = hstar.Budget.starting_now(0.5, None)
    with pytest.raises(ValueError, match="a search that has no time left uses the same heuristic"):
        hstar.search(towers, [asks, shared], "gbfs", budget=budget)
    assert shared.evaluate(towers.initial_state) > 0


def test_searches_that_wait_for_each_other_end_with_their_limits(towers: hstar.Task) -> None:
    """Each holds a heuristic, and its function asks for that of the other."""
    held = [hstar.make_heuristic(towers, "ff") for _ in range(2)]
    both_run = threading.Barrier(2, timeout=60)

    def search_with(own: int) -> SearchResult:
        waits = [both_run.wait]

        def asks(states: Any) -> Any:
            while waits:
                waits.pop()()
            return held[1 - own].evaluate(states)

        budget = hstar.Budget.starting_now(1.0, None)
        return search(towers, [asks, held[own]], budget=budget)

    with ThreadPoolExecutor(2) as pool:
        errors = [one.exception() for one in [pool.submit(search_with, own) for own in range(2)]]
    assert any("a search that has no time left" in str(error) for error in errors), errors
    assert all(one.evaluate(towers.initial_state) > 0 for one in held)


def test_the_lengths_of_turns_are_checked(towers: hstar.Task) -> None:
    searches = [([constant], DEFAULT_PLANNER.for_core(towers))] * 2
    for lengths in ([1.0], [0.0, 1.0], [-1.0, 1.0], [np.nan, 1.0], [np.inf, 1.0]):
        with pytest.raises(ValueError, match="length of"):
            _core.search_in_turns(towers.core, None, searches, lengths, 0.0, 0)
    assert _core.search_in_turns(towers.core, None, [], [], 0.0, 0) == (-1, [])


@pytest.mark.parametrize(
    "alternating",
    [[3], [{"algorithm": "gbfs"}], [replace(DEFAULT_PLANNER, alternating=[DEFAULT_PLANNER])]],
)
def test_what_alternates_with_a_search_is_checked(alternating: Any) -> None:
    with pytest.raises(ValueError, match="must be a list of SearchSpecification"):
        SearchSpecification("ff", alternating=alternating)


# -- threads and signals


def output_of(script: str, *arguments: str | Path) -> str:
    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        resource.setrlimit(
            resource.RLIMIT_STACK, (STACK, resource.getrlimit(resource.RLIMIT_STACK)[1])
        )

    return python(START + script, *arguments, prepare=prepare)


START = """
import os, resource, signal, sys, threading, time
import numpy as np
import hstar
from hstar import _core
from hstar.runtime.resources import Budget
from hstar.planning.search import run
from hstar.planning.specification import DEFAULT_PLANNER, SearchSpecification
task = hstar.load_task(sys.argv[1], sys.argv[2])
"""

CROSSED = """
one, other = (hstar.make_heuristic(task, "ff").core for _ in range(2))
options = DEFAULT_PLANNER.for_core(task)
both = threading.Barrier(2)
def meeting(states):
    try:
        both.wait(0.5)  # if both calls have begun to search, go on together
        time.sleep(0.25)  # and let the other search of this call have its turn
    except threading.BrokenBarrierError:
        pass
    return np.zeros(len(states))
def plan(first, second):
    searches = [([first, meeting], options), ([second], options)]
    print(_core.search_in_turns(task.core, None, searches, [0.2, 0.2], 0.0, 0)[0] >= 0)
threads = [threading.Thread(target=plan, args=pair) for pair in ((one, other), (other, one))]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_calls_that_share_heuristics_do_not_wait_in_a_circle(tmp_path: Path) -> None:
    assert output_of(CROSSED, *large_search(tmp_path, SOME)) == "True\nTrue\n"


OUT_OF_MEMORY = """
def resident_bytes():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
calls = []
def waiting(states):  # hardly grows
    calls.extend([1] * (resident_bytes() < _core.peak_resident_bytes() - 50 * 2**20))
    if len(calls) == 1000:
        raise RuntimeError("it went on")
    return np.zeros(len(states))
options = SearchSpecification("blind", batch=2**14, alternating=[SearchSpecification(waiting)])
try:
    print(run(task, options, Budget.starting_now(120, resident_bytes() + 150 * 2**20)).status)
except RuntimeError as error:
    print(error)
"""


def test_a_search_without_memory_lets_the_other_go_on(tmp_path: Path) -> None:
    assert output_of(OUT_OF_MEMORY, *large_search(tmp_path, 40)) == "it went on\n"


NO_THREADS = """
data = next(int(line.split()[1]) for line in open("/proc/self/status") if "VmData" in line) * 1024
room = data + int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_DATA, (room, room))
result = run(task, SearchSpecification("ff", alternating=[DEFAULT_PLANNER]), Budget())
print(result.status, result.found_by)
"""


def test_a_thread_that_cannot_start(tmp_path: Path) -> None:
    """The second search has no memory for its thread; the first, which needs none, goes on."""
    files = large_search(tmp_path, SOME)
    assert output_of(NO_THREADS, *files, str(STACK // 2)) == "solved learned\n"


INTERRUPTED = """
def hopeless(states):
    time.sleep(0.1)  # this search runs longer than the other
    return np.full(len(states), np.inf)
def interrupting(states):
    os.kill(os.getpid(), signal.SIGINT)
    return np.zeros(len(states))
for options in (
    SearchSpecification(hopeless, alternating=[SearchSpecification(interrupting)]),
    SearchSpecification(interrupting, alternating=[SearchSpecification(hopeless)]),
):
    print(run(task, options, Budget()).status)
"""


def test_an_interrupt_counts_more_than_a_search_that_gave_up(tmp_path: Path) -> None:
    assert output_of(INTERRUPTED, *never_ending(tmp_path)) == "interrupted\ninterrupted\n"

"""Planning that learns on the way: the default planner, a learned heuristic, and turns of both.

    1. the default planner, for as long as learning may take, but at most a quarter of the time left
    2. learning, for at most half of what is left then
    3. the learned search and the default planner in turns, each turn twice as long as the one
       before; the default planner alone if it solved more in the trials

The time of learning is part of the total time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hstar import _core
from hstar.learning.instance import InstanceLearner, LearnOptions, search_with
from hstar.runtime.resources import Budget, OutOfResources, stopped
from hstar.search import STRONGEST, SearchOptions, SearchResult, run
from hstar.search import _validated as validated
from hstar.spaces.task import Task

Say = Callable[[str], None]
OUT_OF_TIME, OUT_OF_MEMORY = "out of time", "out of memory"


@dataclass(frozen=True, slots=True)
class Planned:
    """The result of the last search, how long learning took, and which search found the plan."""

    result: SearchResult
    training_time: float
    found_by: str | None  # "default", "learned", or None without a plan


def plan_with_learning(task: Task, seconds: float, budget: Budget, say: Say) -> Planned:
    """Search for a plan of a task, learning for at most `seconds`. Raises OutOfResources."""
    first = min(seconds, _left(budget) / 4)
    say(f"The default planner searches for {first:.3g} s.")
    result = _search(task, STRONGEST, first, budget)
    if result.status != OUT_OF_TIME or _left(budget) <= 0:
        return Planned(result, 0.0, "default" if result.solved else None)
    start = _core.monotonic_seconds()
    learned = _learn(task, LearnOptions(seconds=min(seconds, _left(budget) / 2)), budget, say)
    training_time = _core.monotonic_seconds() - start
    ways = {"learned": learned, "default": STRONGEST} if learned else {"default": STRONGEST}
    last, found_by = take_turns(task, ways, first, budget, say)
    return Planned(last or result, training_time, found_by)


def take_turns(
    task: Task, ways: Mapping[str, SearchOptions], turn: float, budget: Budget, say: Say
) -> tuple[SearchResult | None, str | None]:
    """The last result of searches in turns, and the name of the way that found a plan.

    The first turns have `turn` seconds, the next twice as many, and so on. A search that runs out
    of memory has no more turns. There is no result if there is no time.
    """
    left = dict(ways)
    result = None
    while _left(budget) > 0:
        for name, way in list(left.items()):
            seconds = min(turn if len(left) > 1 else math.inf, _left(budget))
            length = f" for {seconds:.3g} s" if math.isfinite(seconds) else ""
            say(f"The {name} search goes on{length}.")
            result = _search(task, way, seconds, budget)
            if result.status == OUT_OF_MEMORY and len(left) > 1:
                del left[name]
            elif result.status != OUT_OF_TIME:
                return result, name if result.solved else None
            if _left(budget) <= 0:
                break
        turn *= 2
    return result, None


def _search(task: Task, way: SearchOptions, seconds: float, budget: Budget) -> SearchResult:
    """Search for at most so many seconds. A plan is validated in the time that is left to all."""
    result = run(task, way, _until(budget, seconds))
    if result.unchecked != OUT_OF_TIME or _left(budget) <= 0:
        return result
    return validated(replace(result, unchecked=None), task, None, budget)


def _learn(task: Task, options: LearnOptions, budget: Budget, say: Say) -> SearchOptions | None:
    """How to search with what was learned; None if the default planner solved more."""
    say(f"Learning for {options.seconds:.3g} s.")
    try:
        found = InstanceLearner(task.problem, options, budget, say).run()
    except ValueError as error:
        say(f"Nothing can be learned: {error}.")
        return None
    except (OutOfResources, MemoryError) as error:
        reason = error.status if isinstance(error, OutOfResources) else OUT_OF_MEMORY
        if reason not in (OUT_OF_TIME, OUT_OF_MEMORY):
            raise
        say(f"Nothing was learned: {reason}.")
        return None
    if found.interrupted:
        raise stopped("interrupt")
    say(f"Walks from the initial state: {found.sentence()}.")
    if found.file is None or found.score is None or found.score.solved < found.default.solved:
        return None
    return search_with(found.file)


def _left(budget: Budget) -> float:
    return budget.deadline - _core.monotonic_seconds() if budget.deadline else math.inf


def _until(budget: Budget, seconds: float) -> Budget:
    """The budget, but at most so many seconds from now."""
    if seconds >= _left(budget):
        return budget
    return Budget(_core.monotonic_seconds() + seconds, budget.memory_bytes)

"""Planning that learns on the way: the default planner, then the learner, then turns of both.

    1. the default planner, for as long as learning may take, but at most a quarter of the time left
    2. the learner for one problem, for at most half of what is left then; its race ends with the
       problem itself, so it may find a plan
    3. the learned search and the default planner in turns

The time of learning is part of the total time.
"""

from __future__ import annotations

from dataclasses import replace

from hstar import _core
from hstar.learning.options import LearnOptions
from hstar.learning.pipeline import learn
from hstar.learning.recipe import RECIPES
from hstar.learning.trials import Say
from hstar.planning.result import SearchResult, stopped_before_search
from hstar.planning.search import run, validated
from hstar.planning.specification import DEFAULT, DEFAULT_PLANNER, SearchSpecification
from hstar.planning.task import Task
from hstar.runtime.resources import Budget, OutOfResources, stopped
from hstar.slots.learned_heuristic import LearnedHeuristic

LEARNED = "learned"
WORKER_MEMORY = 4 * 2**30  # where nothing is said
LIMITS = ("out of time", "out of memory")


def plan_with_learning(task: Task, seconds: float, budget: Budget, say: Say) -> SearchResult:
    """Search for a plan of a task, learning for at most `seconds`. Raises OutOfResources."""
    first = min(seconds, budget.seconds_left / 4)
    say(f"The default planner searches for {first:.3g} s.")
    result = search_for(task, DEFAULT_PLANNER, first, budget)
    if result.status not in LIMITS or budget.seconds_left <= 0:
        return told(result, 0.0, DEFAULT)
    own = min(seconds, budget.seconds_left / 2)
    say(f"Learning for {own:.3g} s.")
    began = _core.monotonic_seconds()
    searching = DEFAULT_PLANNER
    try:
        memory = budget.memory_bytes // 2 or WORKER_MEMORY
        recipe = replace(RECIPES["problem"], racing=1.0)
        options = LearnOptions(own, memory_bytes=memory, is_judged=False)
        outcome = learn([task.problem], recipe, options, budget, None, say)
        if outcome.interrupted:
            raise stopped("interrupt")
        if outcome.result is not None:
            checked = validated(replace(outcome.result, unchecked=None), task, None, budget)
            return told(checked, _core.monotonic_seconds() - began, LEARNED)
        if outcome.file is not None:
            heuristic = LearnedHeuristic(outcome.file, LEARNED)
            searching = SearchSpecification(heuristic)
    except ValueError as error:
        say(f"Nothing can be learned: {error}.")
    except (OutOfResources, MemoryError) as error:
        reason = error.status if isinstance(error, OutOfResources) else "out of memory"
        if reason not in LIMITS:
            raise
        say(f"No more can be learned: {reason}.")
    took = _core.monotonic_seconds() - began
    if budget.seconds_left > 0:
        say(f"Search: {searching.describe()}.")
        result = search_for(task, searching, budget.seconds_left, budget)
    return told(result, took, result.found_by or DEFAULT)


def told(result: SearchResult, training_time: float, finder: str) -> SearchResult:
    """The result with how long learning took, and which search found the plan."""
    found_by = finder if result.solved else None
    return replace(result, training_time=training_time, found_by=found_by)


def search_for(
    task: Task, searching: SearchSpecification, seconds: float, budget: Budget
) -> SearchResult:
    """Search for at most so many seconds. A plan is validated in the time that is left to all.

    A search that cannot even begin within its seconds, or within the memory, has a result as well.
    """
    start = _core.monotonic_seconds()
    try:
        result = run(task, searching, budget.within(seconds))
    except (OutOfResources, MemoryError) as caught:
        error = caught if isinstance(caught, OutOfResources) else stopped("memory")
        if error.status not in LIMITS:
            raise
        return stopped_before_search(error, _core.monotonic_seconds() - start)
    if result.unchecked != "out of time" or budget.seconds_left <= 0:
        return result
    return validated(replace(result, unchecked=None), task, None, budget)

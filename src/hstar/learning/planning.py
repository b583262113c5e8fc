"""Planning that learns on the way: the default planner, then networks, then turns of all.

    1. the default planner, for as long as learning may take, but at most a quarter of the time left
    2. networks, one after the other, for at most half of what is left then; each searches for a
       plan at once, for as long as it took to make
    3. the searches with networks and the default planner in turns, each round twice as long as the
       one before

The time of learning is part of the total time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from hstar import _core
from hstar.learning.instance import (
    LearnOptions,
    planned_candidates,
    search_with,
    way_text,
    with_search,
)
from hstar.learning.networks import NetworkMaker
from hstar.planning.result import SearchResult, stopped_before_search
from hstar.planning.search import run, validated
from hstar.planning.specification import DEFAULT_PLANNER, SearchSpecification
from hstar.planning.task import Task
from hstar.runtime.resources import Budget, OutOfResources, stopped
from hstar.slots.model_file import ModelFile

Say = Callable[[str], None]
OUT_OF_TIME, OUT_OF_MEMORY = "out of time", "out of memory"
DEFAULT, LEARNED = "default", "learned"


@dataclass(frozen=True, slots=True)
class Planned:
    """The result of the last search, how long learning took, and which search found the plan."""

    result: SearchResult
    training_time: float
    found_by: str | None  # "default", "learned", or None without a plan


@dataclass(slots=True)
class Clock:
    """Seconds spent on learning."""

    seconds: float = 0.0


def plan_with_learning(task: Task, seconds: float, budget: Budget, say: Say) -> Planned:
    """Search for a plan of a task, learning for at most `seconds`. Raises OutOfResources."""
    first = min(seconds, budget.seconds_left / 4)
    say(f"The default planner searches for {first:.3g} s.")
    result = search_for(task, DEFAULT_PLANNER, first, budget)
    if result.status not in (OUT_OF_TIME, OUT_OF_MEMORY) or budget.seconds_left <= 0:
        return Planned(result, 0.0, DEFAULT if result.solved else None)
    options = LearnOptions(seconds=min(seconds, budget.seconds_left / 2))
    clock = Clock()
    ways: dict[str, SearchSpecification] = {}
    turn = first
    for file, took in networks(task, options, budget, say, clock):
        turn = max(1.0, took / len(options.ways))
        for way in options.ways:
            if budget.seconds_left <= 0:
                break
            name = f"{LEARNED} {len(ways) + 1}"
            ways[name] = search_with(with_search(file, way))
            say(f"Search {name}, {way_text(way)}, for {turn:.3g} s.")
            result = search_for(task, ways[name], turn, budget)
            if result.status == OUT_OF_MEMORY:
                del ways[name]
            elif result.status != OUT_OF_TIME:
                return Planned(result, clock.seconds, LEARNED if result.solved else None)
    last, finder = take_turns(task, {**ways, DEFAULT: DEFAULT_PLANNER}, 2 * turn, budget, say)
    found_by = None if finder is None else finder.partition(" ")[0]
    return Planned(last or result, clock.seconds, found_by)


def networks(
    task: Task, options: LearnOptions, budget: Budget, say: Say, clock: Clock
) -> Iterator[tuple[ModelFile, float]]:
    """Networks for the goal of a task, with the seconds that each took.

    What cannot be learned, or not within the limits, is said; then there are no more. Raises
    OutOfResources for signals.
    """
    say(f"Learning for {options.seconds:.3g} s.")
    try:
        start = _core.monotonic_seconds()
        own = budget.within(options.seconds)
        maker = NetworkMaker(task.problem, options.network, options.states, own, say)
        clock.seconds += _core.monotonic_seconds() - start
        count = planned_candidates(options.candidates, options.seconds)
        for number, candidate in enumerate(options.candidates[:count]):
            start = _core.monotonic_seconds()
            share = min((options.seconds - clock.seconds) / (count - number), budget.seconds_left)
            file = maker.make(candidate, options.seed, start + share, budget.memory_bytes)
            took = _core.monotonic_seconds() - start
            clock.seconds += took
            if file is not None:
                say(f"{candidate.label}: trained in {took:.3g} s.")
                yield file, took
    except ValueError as error:
        say(f"Nothing can be learned: {error}.")
    except (OutOfResources, MemoryError) as error:
        reason = error.status if isinstance(error, OutOfResources) else OUT_OF_MEMORY
        if reason not in (OUT_OF_TIME, OUT_OF_MEMORY):
            raise
        say(f"No more can be learned: {reason}.")


def take_turns(
    task: Task, ways: Mapping[str, SearchSpecification], turn: float, budget: Budget, say: Say
) -> tuple[SearchResult | None, str | None]:
    """The last result of searches in turns, and the name of the way that found a plan.

    The first turns have `turn` seconds, the next twice as many, and so on. A search that runs out
    of memory has no more turns. There is no result if there is no time.
    """
    left = dict(ways)
    result = None
    while budget.seconds_left > 0:
        for name, way in list(left.items()):
            seconds = min(turn if len(left) > 1 else math.inf, budget.seconds_left)
            length = f"{seconds:.3g} s" if len(left) > 1 else "all the time that is left"
            say(f"The {name} search has {length}.")
            result = search_for(task, way, seconds, budget)
            if result.status == OUT_OF_MEMORY and len(left) > 1:
                del left[name]
            elif result.status != OUT_OF_TIME:
                return result, name if result.solved else None
            if budget.seconds_left <= 0:
                break
        turn *= 2
    return result, None


def search_for(
    task: Task, way: SearchSpecification, seconds: float, budget: Budget
) -> SearchResult:
    """Search for at most so many seconds. A plan is validated in the time that is left to all.

    A search that cannot even begin within its seconds, or within the memory, has a result as well.
    """
    start = _core.monotonic_seconds()
    try:
        result = run(task, way, budget.within(seconds))
    except (OutOfResources, MemoryError) as caught:
        error = caught if isinstance(caught, OutOfResources) else stopped("memory")
        if error.status not in (OUT_OF_TIME, OUT_OF_MEMORY):
            raise
        return stopped_before_search(error, _core.monotonic_seconds() - start)
    if result.unchecked != OUT_OF_TIME or budget.seconds_left <= 0:
        return result
    return validated(replace(result, unchecked=None), task, None, budget)

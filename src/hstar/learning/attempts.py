"""One search for a plan, as a job for a worker process.

Limits and results count either seconds or, so that they are the same in every run, work: about as
many units as evaluations of a linear model on Weisfeiler-Leman features would take the time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hstar import _core
from hstar.learning.sibling_values import sibling_values
from hstar.pddl import PddlError, Problem
from hstar.planning.search import run
from hstar.planning.specification import DEFAULT_PLANNER, SearchSpecification
from hstar.planning.task import Task, ground
from hstar.runtime.pool import Lost, Pool
from hstar.runtime.resources import Budget, OutOfResources
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import from_bytes

OPTIMAL, DEFAULT = "optimal", "default"
CHEAPEST = SearchSpecification("lmcut", "astar")
WORK = {"lmcut": 100, "ff": 30}  # units of an evaluation; all others take 1
LEAST_GROUNDING = 1.0  # seconds
KEPT_TASKS = 4
SIGNALS = ("interrupted", "terminated")
# For a task; PddlError is for costs too large to add up, such as those of a union.
TOO_MUCH = (OutOfResources, MemoryError, PddlError, OverflowError)

# OPTIMAL, DEFAULT, the content of a model file that names its search, or a search without a model
Way = str | bytes | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Effort:
    """Limits of a search. `work` is None where seconds count."""

    seconds: float
    work: int | None
    memory_bytes: int
    grounding_factor: float = 4.0

    def divided(self, by: int) -> Effort:
        """A part of it for the search, and as much as before for grounding."""
        work = None if self.work is None else max(1, self.work // by)
        factor = self.grounding_factor * by
        return replace(self, seconds=self.seconds / by, work=work, grounding_factor=factor)

    @property
    def limit(self) -> float:
        return self.seconds if self.work is None else float(self.work)

    @property
    def grounding_seconds(self) -> float:
        """A problem that takes longer to ground says nothing about the search."""
        return max(LEAST_GROUNDING, self.grounding_factor * self.seconds)

    @property
    def unit(self) -> str:
        return "s" if self.work is None else "units of work"


@dataclass(frozen=True, slots=True)
class Attempt:
    """`spent` has the unit of the limit that was given. A worker that `ran_out` of memory may hold
    too much of it to go on. With an optimal plan come the `values` of the states beside it
    (hstar.learning.sibling_values)."""

    plan: list[str] | None
    spent: float
    ran_out: bool = False
    values: list[list[float]] | None = None
    cost: float | None = None  # of the plan

    @property
    def solved(self) -> bool:
        return self.plan is not None


def attempt(name: Hashable, problem: Problem, way: Way, effort: Effort) -> Attempt:
    """Search for a plan. Problems of one name are the same. Raises OutOfResources for signals."""
    failed = Attempt(None, effort.limit)
    try:
        task = grounded(name, problem, effort)
        if task is None:
            return failed
        options, budget = _options(way), Budget(0.0, effort.memory_bytes)
        if effort.work is None:
            budget = Budget.starting_now(effort.seconds, effort.memory_bytes)
        else:
            options = _within_work(options, effort.work)
        start = _core.monotonic_seconds()
        result = run(task, options, budget)
    except TOO_MUCH as error:
        raise_signals(error)
        is_memory = isinstance(error, MemoryError) or (
            isinstance(error, OutOfResources) and error.status != "out of time"
        )
        return replace(failed, ran_out=is_memory)
    if result.status in SIGNALS:
        raise OutOfResources(result.status, result.exit_code)
    if result.plan is None:
        return replace(failed, ran_out=result.status == "out of memory")
    spent: float = _core.monotonic_seconds() - start
    if effort.work is not None:
        spent = result.requested * _price(options) + result.expanded * _price_of_advice(options)
        if spent > effort.work:
            return failed
    found = Attempt(result.plan, float(spent), cost=result.plan_cost)
    return found if way != OPTIMAL else _with_values(found, task, result.plan, effort)


def _with_values(found: Attempt, task: Task, plan: Sequence[str], effort: Effort) -> Attempt:
    """Values take at most as much as finding the plan might have taken."""
    try:
        return replace(found, values=sibling_values(task, plan, CHEAPEST, *distance_limits(effort)))
    except TOO_MUCH as error:
        raise_signals(error)
        return found


def raise_signals(error: Exception) -> None:
    """Raises the error again if it is a signal, which ends everything."""
    if isinstance(error, OutOfResources) and error.status in SIGNALS:
        raise error


def distance_limits(effort: Effort) -> tuple[int | None, Budget]:
    """Evaluations and budget of searches for exact distances."""
    if effort.work is None:
        return None, Budget.starting_now(effort.seconds, effort.memory_bytes)
    return max(1, effort.work // WORK["lmcut"]), Budget(0.0, effort.memory_bytes)


def _within_work(options: SearchSpecification, work: int) -> SearchSpecification:
    advice = _price_of_advice(options)
    return replace(
        options,
        max_evaluations=max(1, work // _price(options)),
        max_expansions=max(1, work // advice) if advice else None,
    )


def _options(way: Way) -> SearchSpecification:
    if way == OPTIMAL:
        return CHEAPEST
    if way == DEFAULT:
        return DEFAULT_PLANNER
    if isinstance(way, Mapping):
        return SearchSpecification.from_dict({"cost": "one", **way})
    assert isinstance(way, bytes)
    heuristic = LearnedHeuristic(from_bytes(way, "learned"), "learned")
    return SearchSpecification(heuristic).searches()[0]


def _price(options: SearchSpecification) -> int:
    return sum(WORK.get(h, 1) if isinstance(h, str) else 1 for h in options.heuristics)


def _price_of_advice(options: SearchSpecification) -> int:
    """Of the heuristic that prefers operators in each expansion."""
    return sum(WORK.get(h, 1) for h in options.advisers if isinstance(h, str))


_tasks: OrderedDict[Hashable, Task | None] = OrderedDict()


def grounded(name: Hashable, problem: Problem, effort: Effort) -> Task | None:
    """None if it is too large."""
    if name not in _tasks:
        budget = Budget(0.0, effort.memory_bytes)
        if effort.work is None:
            budget = Budget.starting_now(effort.grounding_seconds, effort.memory_bytes)
        # Where work counts, what other tasks hold must not decide whether this one fits.
        while len(_tasks) >= (KEPT_TASKS if effort.work is None else 1):
            _tasks.popitem(last=False)
        try:
            _tasks[name] = ground(problem, budget=budget)
        except PddlError:  # a union of goals may have too many disjuncts
            _tasks[name] = None
        except OutOfResources as error:
            if error.status != "out of time":
                raise
            _tasks[name] = None
    _tasks.move_to_end(name)
    return _tasks[name]


def attempts(
    pool: Pool,
    processes: int,
    jobs: Iterable[tuple[Hashable, Hashable, Problem, Way]],
    effort: Effort,
    may_start: Callable[[], bool] = lambda: True,
) -> Iterator[tuple[Any, Attempt]]:
    """Key and result of each job (key, name of the problem, problem, way), as they end. No more are
    started once `may_start` is false."""
    for key, answer in in_pool(pool, processes, attempt, jobs, effort, may_start):
        yield key, Attempt(None, effort.limit) if isinstance(answer, Lost) else answer


def in_pool(
    pool: Pool,
    processes: int,
    work: Callable[..., Any],
    jobs: Iterable[tuple[Hashable, *tuple[Any, ...]]],
    effort: Effort,
    may_start: Callable[[], bool],
) -> Iterator[tuple[Any, Any]]:
    """Key and answer of each job (key, *arguments) as they end: work(*arguments, effort), Lost."""
    waiting = iter(jobs)
    ended = False
    while True:
        while not ended and len(pool) < processes:
            job = next(waiting, None) if may_start() else None
            ended = job is None
            if job is not None:
                key, *arguments = job
                limit = None
                if effort.work is None:
                    limit = 2 * effort.seconds + effort.grounding_seconds
                pool.submit(key, work, *arguments, effort, time_limit=limit)
        if not len(pool):
            return
        yield pool.next()


def is_spent(answer: object) -> bool:
    """Whether a worker must be replaced after this answer."""
    return isinstance(answer, Attempt) and answer.ran_out

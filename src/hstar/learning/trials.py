"""Searches that show what a way of searching is worth, as jobs of worker processes.

Limits and results count either seconds or, so that they are the same in every run, work: about as
many units as evaluations of a linear model on Weisfeiler-Leman features would take the time.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

import numpy as np

from hstar import _core
from hstar.pddl import PddlError, Problem
from hstar.planning.heuristics import AnyHeuristic
from hstar.planning.result import NOTICEABLE, SearchResult
from hstar.planning.search import run
from hstar.planning.specification import DEFAULT_PLANNER, SearchSpecification
from hstar.planning.task import Task, ground
from hstar.runtime.pool import Lost, Pool
from hstar.runtime.resources import Budget, OutOfResources
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import from_bytes

WORK = {"lmcut": 100, "ff": 30}  # units of an evaluation; all others take 1
LEAST_GROUNDING = 1.0  # seconds
KEPT_TASKS = 4
ITSELF = "itself"  # the problem that a learned search is for
MOST_TRIES = 3  # of a job whose worker dies
SIGNALS = ("interrupted", "terminated")
# For a task; PddlError is for costs too large to add up, such as those of a union.
TOO_MUCH = (OutOfResources, MemoryError, PddlError, OverflowError)

Say = Callable[[str], None]
MayStart = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Effort:
    """Limits of a job. `work` is None where seconds count."""

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

    def budget(self, seconds: float | None = None) -> Budget:
        """From now on; where work counts, without a deadline."""
        if self.work is not None:
            return Budget(0.0, self.memory_bytes)
        return Budget.starting_now(seconds or self.seconds, self.memory_bytes)


@dataclass(frozen=True, slots=True)
class Start:
    """A problem to solve, from its initial state or from another `state` (values of variables).
    Starts of one `name` are of the same problem."""

    name: Hashable
    problem: Problem
    state: tuple[int, ...] | None = None
    is_union: bool = False


@dataclass(frozen=True, slots=True)
class Searcher:
    """How to search, and the content of the model's file if the heuristic is a model."""

    search: SearchSpecification
    model: bytes | None = None

    def specification(self) -> SearchSpecification:
        if self.model is None:
            return self.search
        heuristic = LearnedHeuristic(from_bytes(self.model, "learned", trust=True), "learned")
        return replace(self.search, heuristic=heuristic)


DEFAULT_SEARCHER = Searcher(DEFAULT_PLANNER)


@dataclass(frozen=True, slots=True)
class Trial:
    """One search: what it `spent`, in the unit of its limit, and what the plan costs. A worker that
    `ran_out` of memory may hold too much of it to go on."""

    solved: bool
    spent: float
    cost: float | None = None
    result: SearchResult | None = field(default=None, compare=False)  # of the problem itself
    ran_out: bool = False


@dataclass(frozen=True, slots=True)
class Score:
    """Trials of one way to search, from the same starts as those of its rivals."""

    trials: tuple[Trial, ...] = ()

    @property
    def solved(self) -> int:
        return sum(trial.solved for trial in self.trials)

    @property
    def spent(self) -> float:
        """Per trial; one that failed counts with the limit it was given."""
        return sum(trial.spent for trial in self.trials) / max(1, len(self.trials))

    @property
    def rank(self) -> tuple[int, float]:
        """Less is better: more solved, or as many with less effort."""
        return -self.solved, self.spent

    def cost_ratio(self, other: Score) -> float | None:
        """What plans cost, as a multiple of the other's: the geometric mean over trials in which
        both have one. None without any."""
        pairs = zip(self.trials, other.trials, strict=False)
        costs = [(one.cost, two.cost) for one, two in pairs if one.cost and two.cost]
        return mean_ratio(costs, least=0.0)

    def text(self, unit: str) -> str:
        """Such as "6 of 8 solved, 0.9 ms each"."""
        each = f"{self.spent:,.0f} {unit}"
        if unit == "s":
            each = f"{self.spent:.2g} s" if self.spent >= 0.1 else f"{1000 * self.spent:.2g} ms"
        return f"{self.solved} of {len(self.trials)} solved, {each} each"


def mean_ratio(pairs: Sequence[tuple[float, float]], least: float = 1e-3) -> float | None:
    """The geometric mean of a / b; numbers below the least, which say nothing, count as that."""
    if not pairs:
        return None
    return math.exp(sum(math.log(max(a, least) / max(b, least)) for a, b in pairs) / len(pairs))


def cheapest(scores: Mapping[Any, Score]) -> Any:
    """The key of the best score: most solved, least effort; of those that are about as good, the
    one with the cheapest plans."""
    best = min(scores, key=lambda key: scores[key].rank)
    top = scores[best]
    chosen, least = best, 1 / NOTICEABLE
    for key, score in scores.items():
        if score.solved == top.solved and score.spent <= AS_GOOD * top.spent:
            ratio = score.cost_ratio(top)
            if ratio is not None and ratio < least:
                chosen, least = key, ratio
    return chosen


AS_GOOD = 1.5  # times the effort


def try_search(start: Start, searcher: Searcher, effort: Effort) -> Trial:
    """A job for a worker. Raises OutOfResources for signals."""
    failed = Trial(False, effort.limit)
    try:
        task = grounded(start, effort)
        if task is None:
            return failed
        options, budget = searcher.specification(), effort.budget()
        if effort.work is not None:
            options = within_work(options, effort.work)
        began = _core.monotonic_seconds()
        state = None if start.state is None else np.array(start.state, np.int32)
        result = run(task, options, budget, state)
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
    spent: float = _core.monotonic_seconds() - began
    if effort.work is not None:
        of_values, of_advice = price(options.heuristics), price(options.advisers)
        spent = float(result.requested * of_values + result.expanded * of_advice)
        if spent > effort.work:
            return failed
    return Trial(True, spent, result.plan_cost, result if start.name == ITSELF else None)


def raise_signals(error: Exception) -> None:
    """Raises the error again if it is a signal, which ends everything."""
    if isinstance(error, OutOfResources) and error.status in SIGNALS:
        raise error


def within_work(options: SearchSpecification, work: int) -> SearchSpecification:
    advice = price(options.advisers)  # in each expansion
    return replace(
        options,
        max_evaluations=max(1, work // price(options.heuristics)),
        max_expansions=max(1, work // advice) if advice else None,
    )


def price(heuristics: Iterable[AnyHeuristic]) -> int:
    return sum(WORK.get(h, 1) if isinstance(h, str) else 1 for h in heuristics)


_tasks: OrderedDict[Hashable, Task | None] = OrderedDict()


def grounded(start: Start, effort: Effort) -> Task | None:
    """None if it is too large."""
    name = start.name
    if name not in _tasks:
        # Where work counts, what other tasks hold must not decide whether this one fits.
        while len(_tasks) >= (KEPT_TASKS if effort.work is None else 1):
            _tasks.popitem(last=False)
        try:
            _tasks[name] = ground(start.problem, budget=effort.budget(effort.grounding_seconds))
        except (PddlError, OutOfResources) as error:  # a goal may have too many disjuncts
            if isinstance(error, OutOfResources) and error.status != "out of time":
                raise
            _tasks[name] = None
    _tasks.move_to_end(name)
    return _tasks[name]


@dataclass(frozen=True, slots=True)
class Workers:
    """A pool, and who is told of deaths among its processes."""

    pool: Pool
    say: Say

    def answers(
        self,
        work: Callable[..., Any],
        jobs: Iterable[tuple[Hashable, *tuple[Any, ...]]],
        effort: Effort,
        may_start: MayStart,
    ) -> Iterator[tuple[Any, Any]]:
        """Key and answer of each job (key, *arguments) as they end: work(*arguments, effort). No
        more are started once `may_start` is false. A job whose worker dies is tried again. If all
        tries die, it has no answer."""
        limit = 2 * effort.seconds + effort.grounding_seconds if effort.work is None else None
        allowed = takewhile(lambda _: may_start(), jobs)
        full = ((key, work, *arguments, effort) for key, *arguments in allowed)
        for key, answer in self.pool.answers(full, limit, MOST_TRIES, self.say):
            if isinstance(answer, Lost):
                self.say(f"a job is left out: {answer}")
            else:
                yield key, answer


def is_spent(answer: object) -> bool:
    """Whether a worker must be replaced after this answer."""
    return isinstance(answer, Trial) and answer.ran_out

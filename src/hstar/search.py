"""Search: which algorithms there are, and what comes out.

Every algorithm but IDA* runs in the core's one best-first loop; what the counters mean is defined
there.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from hstar import _core
from hstar.heuristics import COST_TYPES, TaskHeuristic, check_heuristic_name
from hstar.pddl.errors import PddlError
from hstar.pddl.model import Problem
from hstar.pddl.planfile import format_plan
from hstar.pddl.validate import validate
from hstar.runtime.registry import did_you_mean
from hstar.runtime.resources import Budget, OutOfResources, raising_interrupts
from hstar.spaces.task import Task, ground

ALGORITHMS: dict[str, str] = {
    "gbfs": "greedy best-first search, eager",
    "lazy": "greedy best-first search, lazy, with preferred operators",
    "astar": "A* with reopening",
    "idastar": "IDA*, which remembers no states",
    "wastar": "weighted A* with reopening",
    "gbfls": "greedy best-first search with look-ahead",
    "bfs": "breadth-first search",
}

EXIT_CODES = {
    "solved": 0,
    "unsolvable": 11,
    "gave up": 12,
    "out of memory": 22,
    "out of time": 23,
    "interrupted": 130,
    "terminated": 143,
}

MAX_BATCH = 2**20
MAX_COUNT = 2**63 - 1

HeuristicFunction = Callable[[Any], Any]  # int32[B, V] -> B numbers


class InvalidPlanError(Exception):
    """The search returned a plan that the validator rejects: a bug in hstar."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search. `None` means no limit."""

    heuristic: str | HeuristicFunction | TaskHeuristic = "ff"
    algorithm: str = "gbfs"
    cost: str = "normal"
    weight: float = 3.0
    batch: int = 1
    preferred: bool = True
    max_evaluations: int | None = None
    max_expansions: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.heuristic, str):
            check_heuristic_name(self.heuristic)
        if self.algorithm not in ALGORITHMS:
            hint, known = did_you_mean(self.algorithm, ALGORITHMS), ", ".join(ALGORITHMS)
            raise ValueError(f"unknown search '{self.algorithm}'{hint}; choose one of {known}")
        if self.cost not in COST_TYPES:
            hint, known = did_you_mean(self.cost, COST_TYPES), ", ".join(COST_TYPES)
            raise ValueError(f"unknown cost '{self.cost}'{hint}; choose one of {known}")
        if not 1 <= self.weight < math.inf:
            raise ValueError(f"the weight must be finite and at least 1, not {self.weight:g}")
        if not 1 <= self.batch <= MAX_BATCH:
            raise ValueError(f"the batch must be between 1 and {MAX_BATCH}, not {self.batch}")
        for limit in (self.max_evaluations, self.max_expansions):
            if limit is not None and not 1 <= limit <= MAX_COUNT:
                raise ValueError(f"limits must be between 1 and {MAX_COUNT}, not {limit}")

    def describe(self) -> str:
        if isinstance(self.heuristic, str):
            return f"{ALGORITHMS[self.algorithm]}; heuristic {self.heuristic}, cost {self.cost}"
        label = getattr(self.heuristic, "label", "your function")
        return f"{ALGORITHMS[self.algorithm]}; heuristic {label}"


# What `hstar plan` uses when asked for nothing in particular.
STRONGEST = SearchOptions(heuristic="ff", algorithm="lazy", cost="one", batch=32)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found and what it took. Times in seconds; `initial_h` may be infinite.

    `initial_h` is None where the search never began. `evaluated` and `evaluations` are those of
    Fast Downward: states that were evaluated, and heuristic values that were computed for them
    (equal with one heuristic). `requested` also counts the values that were known already; it is
    what `max_evaluations` limits. `unchecked` says which limit or signal kept a plan from being
    validated; it is None for plans that were.
    """

    solved: bool
    status: str
    plan: list[str] | None
    plan_cost: int | float | None
    plan_length: int | None
    evaluated: int
    evaluations: int
    requested: int
    expanded: int
    generated: int
    reopened: int
    deadends: int
    initial_h: float | None
    states: int
    state_bytes: int
    search_time: float
    total_time: float
    peak_memory_kb: int
    exit_code: int
    unit_cost: bool = field(default=True)
    unchecked: str | None = None

    @property
    def plan_text(self) -> str:
        """The plan as a file in Fast Downward's format. Raises ValueError if there is none."""
        if self.plan is None or self.plan_cost is None:
            raise ValueError(f"there is no plan: {self.status}")
        return format_plan(_steps(self.plan), self.plan_cost, self.unit_cost)

    def to_json(self) -> str:
        """One JSON object; infinity is null."""
        fields = asdict(self)
        del fields["unit_cost"], fields["unchecked"]
        if self.initial_h is not None and not math.isfinite(self.initial_h):
            fields["initial_h"] = None
        return json.dumps(fields)

    def _repr_html_(self) -> str:
        shown = {
            "status": self.status,
            "plan cost": self.plan_cost,
            "plan length": self.plan_length,
            "evaluated states": self.evaluated,
            "expanded states": self.expanded,
            "search time": f"{self.search_time:.3f} s",
        }
        rows = "".join(
            f"<tr><th style='text-align:left'>{name}</th><td>{html.escape(str(value))}</td></tr>"
            for name, value in shown.items()
            if value is not None
        )
        steps = "".join(f"<li><code>{html.escape(step)}</code></li>" for step in self.plan or ())
        listing = f"<details><summary>plan</summary><ol>{steps}</ol></details>" if steps else ""
        return f"<table>{rows}</table>{listing}"


def search(
    task: Task,
    heuristic: str | HeuristicFunction | TaskHeuristic = "ff",
    algorithm: str = "gbfs",
    *,
    budget: Budget | None = None,
    **options: Any,
) -> SearchResult:
    """Search for a plan. Further options are those of SearchOptions.

    Raises ValueError, OutOfResources (limits reached before the search) and KeyboardInterrupt.
    """
    with raising_interrupts():
        chosen = SearchOptions(heuristic, algorithm, **options)
        return uninterrupted(run(task, chosen, budget or Budget()))


def uninterrupted(result: SearchResult) -> SearchResult:
    """The result, unless Ctrl-C ended the search: then raises KeyboardInterrupt."""
    if "interrupted" in (result.status, result.unchecked):
        raise KeyboardInterrupt
    return result


def run(task: Task, options: SearchOptions, budget: Budget) -> SearchResult:
    """Search for a plan and validate it.

    Raises InvalidPlanError if it does not hold, PddlError if costs are too large to add up.
    """
    start = _core.monotonic_seconds()
    heuristic = "blind" if options.algorithm == "bfs" else _bound(options.heuristic, task)
    try:
        with budget.native(resume=False):  # a result, once there, is not lost to a late alarm
            found = task.core.search(
                heuristic=heuristic,
                cost=options.cost,
                algorithm=options.algorithm,
                weight=options.weight,
                batch=options.batch,
                use_preferred=options.preferred,
                lookahead_depth=_lookahead_depth(task) if options.algorithm == "gbfls" else 0,
                max_evaluations=options.max_evaluations or 0,
                max_expansions=options.max_expansions or 0,
                deadline=budget.deadline,
                memory_bytes=budget.memory_bytes,
            )
    except OverflowError as error:
        raise PddlError(str(error), task.problem.path) from error
    found |= fast_downward_counts(found)
    status, plan, cost = found.pop("status"), found.pop("plan"), found.pop("plan_cost")
    solved = status == "solved"
    result = SearchResult(
        solved=solved,
        status=status,
        plan=plan if solved else None,
        plan_cost=task.unscaled(cost) if solved else None,
        plan_length=len(plan) if solved else None,
        total_time=_core.monotonic_seconds() - start,
        peak_memory_kb=_core.peak_resident_bytes() // 1024,
        exit_code=EXIT_CODES[status],
        unit_cost=not task.problem.uses_metric,
        **found,
    )
    return _validated(result, task.problem, budget) if solved else result


def _validated(result: SearchResult, problem: Problem, budget: Budget) -> SearchResult:
    """The result of a search that found a plan, after checking the plan within the budget. A plan
    for which limits leave no time is kept, and marked."""
    assert result.plan is not None and result.plan_cost is not None
    start = _core.monotonic_seconds()
    unchecked, exit_code = None, result.exit_code
    try:
        with budget.enforced():
            _check(problem, result.plan, result.plan_cost)
    except OutOfResources as error:
        unchecked = error.status
        if error.exit_code > 128:  # a signal
            exit_code = error.exit_code
    seconds = result.total_time + _core.monotonic_seconds() - start
    return replace(result, unchecked=unchecked, exit_code=exit_code, total_time=seconds)


def fast_downward_counts(found: dict[str, Any]) -> dict[str, int]:
    """The core counts every value asked for; Fast Downward only those it computes."""
    return {"evaluations": found["evaluated"], "requested": found["evaluations"]}


def _bound(heuristic: str | HeuristicFunction | TaskHeuristic, task: Task) -> Any:
    """What the core takes: a name, a heuristic of its own, or a function."""
    if isinstance(heuristic, str):
        return heuristic
    bind = getattr(heuristic, "bind", None)
    return bind(task) if bind is not None else heuristic


def plan_problem(
    problem: Problem, options: SearchOptions, budget: Budget, **grounding: Any
) -> SearchResult:
    """Ground a problem and search; the total time includes both."""
    start = _core.monotonic_seconds()
    result = run(ground(problem, budget=budget, **grounding), options, budget)
    return replace(result, total_time=_core.monotonic_seconds() - start)


def stopped_before_search(error: OutOfResources, seconds: float) -> SearchResult:
    """The result of a run that ended while reading or grounding: nothing was counted."""
    return SearchResult(
        solved=False,
        status=error.status,
        plan=None,
        plan_cost=None,
        plan_length=None,
        evaluated=0,
        evaluations=0,
        requested=0,
        expanded=0,
        generated=0,
        reopened=0,
        deadends=0,
        initial_h=None,
        states=0,
        state_bytes=0,
        search_time=0.0,
        total_time=seconds,
        peak_memory_kb=_core.peak_resident_bytes() // 1024,
        exit_code=error.exit_code,
    )


def _lookahead_depth(task: Task) -> int:
    """5 h^FF(I), or 50 where that is infinite (the reward-shaping paper, appendix A.3)."""
    h = task.core.initial_value("ff", "one")
    return int(5 * h) if math.isfinite(h) else 50


def _steps(plan: list[str]) -> list[tuple[str, ...]]:
    return [tuple(step.strip("()").split()) for step in plan]


def _check(problem: Problem, plan: list[str], cost: int | float) -> None:
    verdict = validate(problem, _steps(plan))
    if not verdict.valid:
        raise InvalidPlanError(
            f"the search returned an invalid plan ({verdict.reason}); "
            "this is a bug in hstar, please report it with the PDDL files"
        )
    if not math.isclose(verdict.cost, cost, rel_tol=1e-9, abs_tol=1e-9):
        raise InvalidPlanError(
            f"the search says the plan costs {cost}, the validator says {verdict.cost}; "
            "this is a bug in hstar, please report it with the PDDL files"
        )

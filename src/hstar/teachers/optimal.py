"""The optimal teacher: A* with LM-cut finds a cheapest plan, and its states get their h*.

Hart, Nilsson and Raphael (1968) for A*, Helmert and Domshlak (2009) for LM-cut.
"""

from __future__ import annotations

from dataclasses import replace

from hstar import _core
from hstar.pddl.model import Problem
from hstar.runtime.resources import Budget, OutOfResources
from hstar.search import SearchOptions, SearchResult, run, stopped_before_search
from hstar.spaces.task import Task, ground
from hstar.teachers.attempt import SOLVED, TRIVIAL, Attempt, follow, heuristic_columns


def label_optimally(problem: Problem, budget: Budget, max_expansions: int | None) -> Attempt:
    """Solve a problem optimally and label the states of the plan.

    The budget holds for grounding and search. Raises PddlError where grounding refuses the problem.
    """
    start = _core.monotonic_seconds()
    task: Task | None = None
    options = SearchOptions("lmcut", "astar", max_expansions=max_expansions)
    try:
        with budget.enforced():
            task = ground(problem, budget=budget)
            result = run(task, options, budget)
    except OutOfResources as error:
        result = stopped_before_search(error, _core.monotonic_seconds() - start)
    attempt = outcome(result)
    if task is not None and attempt.status == SOLVED:
        states, remaining = follow(task, attempt.plan)
        attempt = replace(
            attempt,
            states=[task.atoms(state) for state in states],
            columns={
                "h_star": [float(cost) for cost in remaining],
                "lower": [None] * len(remaining),
                "upper": [None] * len(remaining),
                **heuristic_columns(task, states),
            },
        )
    return replace(attempt, total_time=_core.monotonic_seconds() - start)


def outcome(result: SearchResult) -> Attempt:
    """What a search says, before its states are labelled."""
    return Attempt(
        status=TRIVIAL if result.plan == [] else result.status,
        plan=result.plan or [],
        plan_cost=result.plan_cost,
        evaluated=result.evaluated,
        expanded=result.expanded,
        search_time=result.search_time,
        peak_memory_kb=result.peak_memory_kb,
    )

"""hstar learns heuristics for forward search and shows what they are worth.

result = hstar.plan("domain.pddl", "problem.pddl", heuristic="ff", search="gbfs")
"""

from __future__ import annotations

import os
from typing import Any

from hstar.heuristics import HEURISTICS, TaskHeuristic, make_heuristic
from hstar.pddl import PddlError, Problem, UnsupportedPddlError, parse
from hstar.pddl.validate import validate
from hstar.runtime.resources import Budget, OutOfResources, raising_interrupts
from hstar.search import ALGORITHMS, SearchOptions, SearchResult, plan_problem, uninterrupted
from hstar.search import search as search_task
from hstar.spaces.task import Task, ground, load_task

__all__ = [
    "ALGORITHMS",
    "HEURISTICS",
    "Budget",
    "OutOfResources",
    "PddlError",
    "Problem",
    "SearchOptions",
    "SearchResult",
    "Task",
    "UnsupportedPddlError",
    "ground",
    "load_model",
    "load_task",
    "make_heuristic",
    "parse",
    "plan",
    "search_task",
    "validate",
]


def plan(
    domain: str | os.PathLike[str],
    problem: str | os.PathLike[str],
    heuristic: Any = "ff",
    search: str = "gbfs",
    *,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    keep_irrelevant: bool = False,
    **options: Any,
) -> SearchResult:
    """Solve a problem; the plan is validated before it is returned.

    `heuristic` is a name from HEURISTICS, a model from load_model, or a function from states
    int32[B, V] to B numbers; `search` is a name from ALGORITHMS; further options are those of
    SearchOptions. Limits in seconds and bytes. Raises PddlError, ModelFileError, ValueError,
    OutOfResources (limits reached while grounding), KeyboardInterrupt.
    """
    chosen = SearchOptions(heuristic, search, **options)
    budget = Budget.starting_now(time_limit, memory_limit)
    with raising_interrupts(), budget.enforced():
        return uninterrupted(
            plan_problem(parse(domain, problem), chosen, budget, keep_irrelevant=keep_irrelevant)
        )


def load_model(path: str | os.PathLike[str], decode: str | None = None) -> TaskHeuristic:
    """A learned heuristic from its file, for any task of its domain. Raises ModelFileError.

    `decode` overrides how outputs become a value: "mean", "clip", "truncated-mean" or "value".
    """
    from hstar.learned import loader as learned

    return learned.load_model(path, decode)

"""hstar learns heuristics for forward search and shows what they are worth.

result = hstar.plan("domain.pddl", "problem.pddl", heuristic="ff", search="gbfs")
"""

from __future__ import annotations

import os
import sys

if sys.argv[:1] == ["-m"] and "hstar" in sys.orig_argv and not sys.flags.safe_path:
    sys.path.pop(0)  # `python -m hstar` imports nothing that lies in the current directory

from typing import Any

from hstar.pddl import PddlError, Problem, UnsupportedPddlError, parse
from hstar.pddl.validate import validate
from hstar.planning.algorithms import SEARCHES
from hstar.planning.heuristics import HEURISTICS, Heuristic, make_heuristic
from hstar.planning.result import SearchResult
from hstar.planning.search import plan_problem, uninterrupted
from hstar.planning.search import search as search_task
from hstar.planning.specification import SearchSpecification
from hstar.planning.task import Task, ground, load_task
from hstar.runtime.resources import Budget, OutOfResources, raising_interrupts
from hstar.slots.loader import load_search

__all__ = [
    "HEURISTICS",
    "SEARCHES",
    "Budget",
    "OutOfResources",
    "PddlError",
    "Problem",
    "SearchResult",
    "SearchSpecification",
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
    heuristic: Any = None,
    search: str | None = None,
    *,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    keep_irrelevant: bool = False,
    **options: Any,
) -> SearchResult:
    """Solve a problem; the plan is validated before it is returned.

    `heuristic` is a name from HEURISTICS, a model file, "pdb:FILE,FILE" (pattern databases),
    "module:attribute", a model from load_model, a function from states int32[B, V] to B numbers, or
    a list of several; `search` is a name from SEARCHES; further options are those of
    SearchSpecification; with `trust` a model file may import code of your own. The defaults are
    those of `hstar plan`. Limits in seconds and bytes; by default there is none of time, and of
    memory half of what is left on the machine. Raises PddlError, ModelFileError, ValueError,
    OutOfResources (limits reached before the search), KeyboardInterrupt.
    """
    memory = Budget.by_default().memory_bytes if memory_limit is None else memory_limit
    budget = Budget.starting_now(time_limit, memory)
    with raising_interrupts(), budget.enforced():
        chosen = load_search(SearchSpecification(heuristic, search, **options))
        chosen.searches()  # raises what is wrong before the problem is read
        return uninterrupted(
            plan_problem(parse(domain, problem), chosen, budget, keep_irrelevant=keep_irrelevant)
        )


def load_model(
    path: str | os.PathLike[str], decode: str | None = None, *, trust: bool = False
) -> Heuristic:
    """A learned heuristic from its file, for any task of its domain. Raises ModelFileError.

    `decode` overrides how outputs become a value: "mean", "clip", "truncated-mean" or "value".
    With `trust` the file may import code of your own, which it names as module:attribute.
    """
    from hstar.slots import loader as learned

    loaded: Heuristic = learned.load_model(path, decode, trust=trust)
    return loaded

"""Search: one function that runs any algorithm, with any heuristics, on any space.

What the counters mean is defined in cpp/search/search.hpp.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hstar import _core
from hstar.pddl.errors import PddlError
from hstar.pddl.model import Problem
from hstar.planning.heuristics import bind_heuristic
from hstar.planning.result import EXIT_CODES, SearchResult
from hstar.planning.space import Space, state_rows
from hstar.planning.specification import DEFAULT, SearchSpecification
from hstar.planning.task import ground
from hstar.runtime.faults import fault_of_user
from hstar.runtime.resources import Budget, OutOfResources

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class InvalidPlanError(Exception):
    """The search returned a plan that does not hold when replayed: a bug in hstar."""


TURN = 0.02  # seconds, where searches take turns
# Why searches end without an answer. Where they end for several reasons, the last one counts.
_ENDS = ("gave up", "out of memory", "out of time", "terminated", "interrupted")
FINDERS = ("learned", DEFAULT)  # of a plan, where searches take turns


def uninterrupted(result: SearchResult) -> SearchResult:
    """The result, unless Ctrl-C ended the search: then raises KeyboardInterrupt."""
    if "interrupted" in (result.status, result.unchecked):
        raise KeyboardInterrupt
    return result


def run(
    space: Space,
    specification: SearchSpecification,
    budget: Budget,
    state: NDArray[np.int32] | None = None,
) -> SearchResult:
    """Search for a plan and replay it.

    Raises InvalidPlanError if it does not hold, PddlError if costs are too large to add up,
    ValueError if heuristic, algorithm and space do not fit.
    """
    start = _core.monotonic_seconds()
    searches = specification.searches()
    if hasattr(searches[0].recommended_by, "check_space"):
        searches[0].recommended_by.check_space(space)
    defaults = [one.is_default_planner for one in searches]
    try:
        with budget.native(resume=False):  # a result, once there, is not lost to a late alarm
            bound = [_bound(one, space, budget) for one in searches]
            start_state = None if state is None else state_rows(state)
            turns = [TURN * max(1, len(bound) - 1 if is_default else 1) for is_default in defaults]
            number, results = _core.search_in_turns(
                space.core, start_state, bound, turns, *budget.limits
            )
    except OverflowError as error:
        if fault_of_user(error):
            raise
        raise PddlError(str(error), space.path) from error
    if number < 0:  # none came to an end; the one that could have gone on longest says why
        number = results.index(max(results, key=lambda one: _ENDS.index(one["status"])))
    found, heuristics, _ = results[number], *bound[number]
    # The core counts every value requested; Fast Downward only those it computes.
    found["requested"] = found["evaluations"]
    found["evaluations"] = found["evaluated"] * (len(heuristics) - len(searches[number].advisers))
    plan, cost = found.pop("plan"), found.pop("plan_cost")
    solved = found["status"] == "solved"
    result = SearchResult(
        solved=solved,
        plan=plan if solved else None,
        plan_cost=space.unscaled(cost) if solved else None,
        plan_length=len(plan) if solved else None,
        total_time=_core.monotonic_seconds() - start,
        peak_memory_kb=_core.peak_resident_bytes() // 1024,
        exit_code=EXIT_CODES[found["status"]],
        seed=searches[number].value("seed"),
        unit_cost=space.unit_cost,
        found_by=FINDERS[defaults[number]] if len(searches) > 1 and solved else None,
        **found,
    )
    return validated(result, space, state, budget) if solved else result


def _bound(
    one: SearchSpecification, space: Space, budget: Budget
) -> tuple[list[_core.Heuristic | Callable[[Any], Any]], _core.SearchOptions]:
    settings = one.for_core(space)
    heuristics = one.heuristics if settings.use_h else ["blind"]
    needed = [*heuristics, *one.advisers]
    return [bind_heuristic(h, space, one.value("cost"), budget) for h in needed], settings


def validated(
    result: SearchResult, space: Space, state: NDArray[np.int32] | None, budget: Budget
) -> SearchResult:
    """The result of a search that found a plan, after replaying the plan within the budget.

    A plan for which limits leave no time is kept, and marked.
    """
    assert result.plan is not None and result.plan_cost is not None
    start = _core.monotonic_seconds()
    unchecked, exit_code = None, result.exit_code
    try:
        with budget.enforced():
            cost = space.replay(result.plan, state)
            if not math.isclose(cost, result.plan_cost, rel_tol=1e-9, abs_tol=1e-9):
                raise ValueError(f"it should cost {result.plan_cost}, but costs {cost}")
    except ValueError as error:
        advice = "this is a bug in hstar, please report it with the PDDL files"
        wrong = f"the search returned an invalid plan ({error})"
        raise InvalidPlanError(f"{wrong}; {advice}") from error
    except OutOfResources as error:
        unchecked = error.status
        if error.exit_code > 128:  # a signal
            exit_code = error.exit_code
    seconds = result.total_time + _core.monotonic_seconds() - start
    return replace(result, unchecked=unchecked, exit_code=exit_code, total_time=seconds)


def plan_problem(
    problem: Problem, specification: SearchSpecification, budget: Budget, **grounding: Any
) -> SearchResult:
    """Ground a problem and search; the total time includes both."""
    start = _core.monotonic_seconds()
    result = run(ground(problem, budget=budget, **grounding), specification, budget)
    return replace(result, total_time=_core.monotonic_seconds() - start)

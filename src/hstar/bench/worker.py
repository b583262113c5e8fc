"""One run of a benchmark, as a worker process carries it out.

A process runs one search after another, because loading a model may take longer than a search. The
memory of a run is measured and limited from where the run begins.
"""

from __future__ import annotations

import functools
import traceback
from typing import Any

from hstar import _core
from hstar.heuristics import HEURISTICS
from hstar.pddl import parse
from hstar.pddl.errors import InputFileError
from hstar.runtime.resources import Budget, OutOfResources
from hstar.runtime.worker import forget_peak_memory
from hstar.search import (
    InvalidPlanError,
    SearchOptions,
    SearchResult,
    plan_problem,
    stopped_before_search,
)

INTERNAL_ERROR = 35


def carry_out(job: dict[str, Any]) -> dict[str, Any]:
    """The outcome of one run: the columns of a row that a run decides. Never raises Exception."""
    start = _core.monotonic_seconds()
    outcome: dict[str, Any] = {"message": ""}
    try:
        name = job["heuristic"]
        heuristic = name if name in HEURISTICS else _model(name)
        start = _core.monotonic_seconds()  # loading the model does not count as solving the problem
        forget_peak_memory()
        result = _search(job, heuristic, start)
    except InputFileError as error:
        status = "unsupported" if error.exit_code == 34 else "bad input"
        outcome |= _failed(status, error.exit_code, str(error))
    except ValueError as error:  # such as a model of another domain
        outcome |= _failed("bad input", 31, str(error))
    except InvalidPlanError as error:
        outcome |= _failed("invalid plan", INTERNAL_ERROR, str(error))
    except Exception as error:
        traceback.print_exc()
        outcome |= _failed("crashed", INTERNAL_ERROR, f"{type(error).__name__}: {error}")
    else:
        outcome |= _columns(result)
    outcome["total_time"] = _core.monotonic_seconds() - start
    outcome["memory"] = _core.peak_resident_bytes() // 1024
    return outcome


def _search(job: dict[str, Any], heuristic: Any, start: float) -> SearchResult:
    budget = Budget.starting_now(job["time_limit"], job["memory_limit"])
    options = SearchOptions(
        heuristic, job["algorithm"], cost=job["cost"], max_evaluations=job["max_evaluations"]
    )
    try:
        with budget.enforced():
            return plan_problem(parse(job["domain_path"], job["problem_path"]), options, budget)
    except OutOfResources as error:
        return stopped_before_search(error, _core.monotonic_seconds() - start)


@functools.cache
def _model(path: str) -> Any:
    from hstar.learned.loader import load_model

    return load_model(path)


def _columns(result: SearchResult) -> dict[str, Any]:
    return {
        "coverage": int(result.solved),
        "error": result.status,
        "cost": result.plan_cost,
        "plan_length": result.plan_length,
        "evaluated": result.evaluated,
        "evaluations": result.evaluations,
        "expanded": result.expanded,
        "generated": result.generated,
        "reopened": result.reopened,
        "dead_ends": result.deadends,
        "initial_h_value": result.initial_h,
        "search_time": result.search_time,
        "exit_code": result.exit_code,
    }


def _failed(status: str, exit_code: int, message: str) -> dict[str, Any]:
    return {"coverage": 0, "error": status, "exit_code": exit_code, "message": message}

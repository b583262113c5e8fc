"""One run of a benchmark in a worker process, which carries out one after another: loading a model
may take longer than a search. Memory counts from where a run begins."""

from __future__ import annotations

import functools
import json
import traceback
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hstar import _core
from hstar.experiments.bench.options import BenchOptions
from hstar.experiments.bench.rows import COLUMNS
from hstar.experiments.bench.suite import Instance
from hstar.pddl import UnsupportedPddlError, parse
from hstar.pddl.errors import InputFileError
from hstar.planning.heuristics import bind_heuristic
from hstar.planning.result import SearchResult, stopped_before_search
from hstar.planning.search import InvalidPlanError, plan_problem, run
from hstar.planning.specification import SearchSpecification
from hstar.planning.task import ground
from hstar.runtime.faults import fault_of_user
from hstar.runtime.resources import Budget, OutOfResources
from hstar.runtime.worker import forget_peak_memory
from hstar.slots.loader import load_search

INTERNAL_ERROR, USAGE_ERROR = 35, 36
RENAMED = {  # columns that SearchResult calls otherwise
    "error": "status",
    "cost": "plan_cost",
    "dead_ends": "deadends",
    "initial_h_value": "initial_h",
}


def carry_out(job: dict[str, Any]) -> dict[str, Any]:
    """The outcome of one run: the columns of a row that a run decides. Never raises Exception."""
    start = _core.monotonic_seconds()
    outcome: dict[str, Any] = {"message": ""}
    try:
        chosen = _loaded(job["search"])
        start = _core.monotonic_seconds()  # loading the model does not count as solving the problem
        forget_peak_memory()
        result = _search(job, chosen, start)
    except Exception as error:
        outcome |= _explained(error)
    else:
        outcome |= _columns(result)
    outcome["total_time"] = _core.monotonic_seconds() - start
    outcome["memory"] = _core.peak_resident_bytes() // 1024
    return outcome


def _explained(error: Exception) -> dict[str, Any]:
    if fault := fault_of_user(error):
        return failed("your code failed", USAGE_ERROR, fault)
    match error:
        case InputFileError():
            status = "unsupported" if error.exit_code == 34 else "bad input"
            return failed(status, error.exit_code, str(error))
        case InvalidPlanError():
            return failed("invalid plan", INTERNAL_ERROR, str(error))
        case ValueError():  # such as a model of another domain
            return failed("bad input", 31, str(error))
    traceback.print_exception(error)
    return failed("crashed", INTERNAL_ERROR, f"{type(error).__name__}: {error}")


def _search(job: dict[str, Any], chosen: SearchSpecification, start: float) -> SearchResult:
    budget = Budget.starting_now(job["time_limit"], job["memory_limit"])
    try:
        with budget.enforced():
            if "puzzle" in job:
                return _solve(job, chosen, budget)
            return plan_problem(parse(job["domain_path"], job["problem_path"]), chosen, budget)
    except OutOfResources as error:
        return stopped_before_search(error, _core.monotonic_seconds() - start)


def _solve(job: dict[str, Any], chosen: SearchSpecification, budget: Budget) -> SearchResult:
    import numpy as np

    from hstar.planning.puzzle import make_puzzle

    state = np.array(job["state"], dtype=np.int32)
    return run(make_puzzle(job["puzzle"]), chosen, budget, state)


@functools.cache
def _loaded(search: str) -> SearchSpecification:
    return load_search(SearchSpecification.from_dict(json.loads(search)))


def check_fit(
    chosen: SearchSpecification,
    is_of_files: bool,
    instances: Sequence[Instance],
    limits: BenchOptions,
) -> None:
    """Raises what says why, if the heuristics fit no domain of the instances. They are tried on the
    smallest problem of each domain if they come from files, and on puzzles. A problem that cannot
    be grounded within the limits says nothing about it."""
    refused: Exception | None = None
    smallest: dict[str, Instance] = {}
    for instance in sorted(instances, key=lambda one: one.size):
        smallest.setdefault(instance.domain_name, instance)
    for instance in smallest.values():
        job = instance.source
        if not is_of_files and "puzzle" not in job:
            return
        budget = Budget.starting_now(limits.time_limit, limits.memory_limit)
        try:
            with budget.enforced():
                if "puzzle" in job:
                    _solve(job, replace(chosen, max_evaluations=1), budget)
                else:
                    task = ground(parse(job["domain_path"], job["problem_path"]), budget=budget)
                    for heuristic in chosen.heuristics:
                        bind_heuristic(heuristic, task, budget=budget)
            return
        except UnsupportedPddlError:
            return
        except OutOfResources as error:
            if error.status in ("interrupted", "terminated"):
                raise
            return
        except (InputFileError, ValueError) as error:
            refused = error
    if refused is not None:
        raise refused


def _columns(result: SearchResult) -> dict[str, Any]:
    """The columns that are fields of a result. The seed of a row is that of its heuristic."""
    names = {column: RENAMED.get(column, column) for column in COLUMNS if column != "seed"}
    found = {c: getattr(result, name) for c, name in names.items() if hasattr(result, name)}
    return {"coverage": int(result.solved), **found}


def failed(status: str, exit_code: int, message: str) -> dict[str, Any]:
    return {"coverage": 0, "error": status, "exit_code": exit_code, "message": message}

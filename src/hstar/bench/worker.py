"""A worker process: runs one search after the other, as told on its standard input.

Each line of input is a job and each line of output its outcome, both JSON. The process is reused,
because loading a model may take longer than a search; what a run costs in memory is measured and
limited from where the run begins. It dies with the process that started it.

Run as ``python -m hstar.bench.worker``.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from hstar import _core
from hstar.heuristics import HEURISTICS
from hstar.pddl import parse
from hstar.pddl.errors import InputFileError
from hstar.runtime.resources import Budget, OutOfResources, end_with_parent
from hstar.search import (
    InvalidPlanError,
    SearchOptions,
    SearchResult,
    plan_problem,
    stopped_before_search,
)

INTERNAL_ERROR = 35


def main() -> None:
    """Work until the input ends."""
    end_with_parent(os.getppid())
    libc = ctypes.CDLL(None)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a model prints must not end up among the answers
    models: dict[str, Any] = {}
    for line in sys.stdin:
        print(json.dumps(carry_out(json.loads(line), models)), file=answers, flush=True)
        gc.collect()
        if hasattr(libc, "malloc_trim"):  # glibc only: give back what the search took
            libc.malloc_trim(0)


def carry_out(job: dict[str, Any], models: dict[str, Any]) -> dict[str, Any]:
    """The outcome of one run: the columns of a row that a run decides. Never raises Exception."""
    start = _core.monotonic_seconds()
    outcome: dict[str, Any] = {"message": ""}
    try:
        heuristic = _heuristic(job["heuristic"], models)
        start = _core.monotonic_seconds()  # reading the model is no part of solving the problem
        _forget_peak_memory()
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
    outcome["memory"] = _peak_memory_kb()
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


def _heuristic(name: str, models: dict[str, Any]) -> Any:
    if name in HEURISTICS:
        return name
    if name not in models:
        from hstar.learned.heuristic import load_model

        models[name] = load_model(name)
    return models[name]


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


def _forget_peak_memory() -> None:
    """Let the kernel count the peak from here on; where it cannot, the peak is the process's."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_memory_kb() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return _core.peak_resident_bytes() // 1024


if __name__ == "__main__":
    main()

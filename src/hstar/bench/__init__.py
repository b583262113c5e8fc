"""Benchmarks: every problem of a suite with every heuristic, one row per run.

    rows = run_bench(BenchOptions(["test"], ["ff", "model.safetensors"], output="runs.parquet"))

Runs happen in worker processes with limits, are kept in a journal beside the output as they finish,
and come out in a fixed order whatever the number of processes. A run that was cut off by the time
limit or by memory depends on the machine; one that ended by itself or by `max_evaluations` does
not.
"""

from __future__ import annotations

from hstar.bench.options import BenchOptions
from hstar.bench.rows import COLUMNS, EXPLAINED, TIMES, Runs, RunsError, read_runs
from hstar.bench.runs import run_bench
from hstar.bench.suite import SuiteError

__all__ = [
    "COLUMNS",
    "EXPLAINED",
    "TIMES",
    "BenchOptions",
    "Runs",
    "RunsError",
    "SuiteError",
    "read_runs",
    "run_bench",
]

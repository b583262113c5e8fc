"""Benchmarks: every problem of a suite with every configuration, one row per run.

    options = BenchOptions(["test"], ["default", "model.safetensors"], output="runs.parquet")
    rows = run_bench(options)

Runs happen in worker processes with limits, are kept in a journal beside the output as they finish,
and come out in a fixed order whatever the number of processes. A run that was cut off by the time
limit or by memory depends on the machine; one that ended by itself or by `max_evaluations` does
not.
"""

from __future__ import annotations

from hstar.bench.options import BenchOptions
from hstar.bench.rows import COLUMNS, EXPLAINED, TIMES, Runs, RunsError, read_runs
from hstar.bench.runs import run_bench, run_default
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
    "run_default",
]

"""Benchmarks: every problem of a suite with every search, one row per run.

    rows = run_bench(BenchOptions(["test"], ["default", "my.safetensors"], output="runs.parquet"))

Worker processes run the searches within limits. A journal beside the output keeps finished runs.
The order of the rows does not depend on the number of processes.
"""

from __future__ import annotations

from hstar.experiments.bench.options import BenchOptions
from hstar.experiments.bench.peers import FAILED, INVALID, check_peer, run_peer
from hstar.experiments.bench.rows import COLUMNS, EXPLAINED, TIMES, Runs, RunsError, read_runs
from hstar.experiments.bench.runs import run_bench, run_default
from hstar.experiments.bench.suite import SuiteError

__all__ = [
    "COLUMNS",
    "EXPLAINED",
    "FAILED",
    "INVALID",
    "TIMES",
    "BenchOptions",
    "Runs",
    "RunsError",
    "SuiteError",
    "check_peer",
    "read_runs",
    "run_bench",
    "run_default",
    "run_peer",
]

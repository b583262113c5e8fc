"""Benchmarks: every problem of a suite with every search, one row per run.

    rows = run_bench(BenchOptions(["test"], ["default", "my.safetensors"], output="runs.parquet"))

Worker processes run the searches within limits. A journal beside the output keeps finished runs.
The order of the rows does not depend on the number of processes.
"""

from hstar.experiments.bench.options import BenchOptions
from hstar.experiments.bench.peers import FAILED, INVALID
from hstar.experiments.bench.rows import EXPLAINED, read_runs
from hstar.experiments.bench.runs import run_bench
from hstar.experiments.bench.suite import SuiteError

__all__ = ["EXPLAINED", "FAILED", "INVALID", "BenchOptions", "SuiteError", "read_runs"]
__all__ += ["run_bench"]

"""Benchmarks: every problem of a suite with every search, one row per run.

    rows = run_bench(BenchOptions(["test"], ["default", "my.safetensors"], output="runs.parquet"))

Worker processes run the searches within limits. A journal beside the output keeps finished runs.
The order of the rows does not depend on the number of processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hstar.runtime.exports import lazy

if TYPE_CHECKING:
    from hstar.experiments.bench.options import BenchOptions as BenchOptions
    from hstar.experiments.bench.peers import FAILED as FAILED
    from hstar.experiments.bench.peers import INVALID as INVALID
    from hstar.experiments.bench.rows import EXPLAINED as EXPLAINED
    from hstar.experiments.bench.rows import read_runs as read_runs
    from hstar.experiments.bench.runs import run_bench as run_bench
    from hstar.experiments.bench.suite import SuiteError as SuiteError

if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, __file__)

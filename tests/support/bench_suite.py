"""A small suite to benchmark on, and what of the rows can be compared."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import small_domains

COUNTS = {"blocks": 11, "ferry": 3}  # problems by domain


def write_suite(top: Path) -> Path:
    """A folder for each domain; problems are p0.pddl, p1.pddl, ..."""
    for name, count in COUNTS.items():
        folder = top / name
        folder.mkdir()
        for i in range(count):
            domain, problem = small_domains.ALL[name](random.Random(i))
            (folder / "domain.pddl").write_text(domain)
            (folder / f"p{i}.pddl").write_text(problem)
    return top


def without_times(rows: pl.DataFrame) -> pl.DataFrame:
    """What two equal benchmarks have in common."""
    return rows.drop("search_time", "total_time", "memory")

"""What to run and within which limits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hstar.heuristics import check_heuristic_name, is_model_file
from hstar.search import SearchOptions


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """A benchmark. Limits are per run, in seconds and bytes; None means no limit.

    `suites` are folders or problem files, `heuristics` names or model files. `output` is the
    Parquet file to write, None to keep the rows in memory only, without a journal. `seed` goes into
    the rows of runs whose heuristic has none of its own. `command` is the line to show in reports.
    Raises ValueError for options no run could have.
    """

    suites: Sequence[str | os.PathLike[str]]
    heuristics: Sequence[str | os.PathLike[str]] = ("ff",)
    algorithm: str = "gbfs"
    cost: str = "normal"
    max_evaluations: int | None = None
    time_limit: float | None = 300.0
    memory_limit: int | None = 4 * 2**30
    jobs: int = 1
    seed: int | None = None
    output: str | os.PathLike[str] | None = None
    command: str = ""

    def __post_init__(self) -> None:
        SearchOptions(
            algorithm=self.algorithm, cost=self.cost, max_evaluations=self.max_evaluations
        )
        for name, few in (("suites", self.suites), ("heuristics", self.heuristics)):
            if isinstance(few, str) or not few:
                raise ValueError(f"{name} must be a list of at least one")
        given = [os.fspath(heuristic) for heuristic in self.heuristics]
        for name in given:
            if not is_model_file(name):
                check_heuristic_name(name)
            if given.count(name) > 1:
                raise ValueError(f"the heuristic '{name}' is given twice")
        if self.jobs < 1:
            raise ValueError(f"there must be at least one job, not {self.jobs}")
        for limit in (self.time_limit, self.memory_limit):
            if limit is not None and not limit > 0:
                raise ValueError(f"limits must be positive, not {limit}")

    @property
    def output_path(self) -> Path | None:
        return None if self.output is None else Path(self.output)

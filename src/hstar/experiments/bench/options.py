"""What to run and within which limits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hstar.planning.heuristics import is_model_file
from hstar.planning.specification import DEFAULT, LIMITS, SearchSpecification


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """A benchmark. Limits are per run, in seconds and bytes; None means no limit.

    Every heuristic (a name, a model file, pdb:FILES) runs with every search, or without any with
    the one that its file recommends; "default" is the planner without flags and runs once. What
    `shared` says holds for all these combinations, its `decode` for model files only, and its
    limits for "default" as well. `specifications` are run besides. Without `output` there is
    neither a file nor a journal. `seed` goes into the rows of runs whose heuristic has none,
    `command` into reports. Raises ValueError for options no run could have.
    """

    suites: Sequence[str | os.PathLike[str]]
    heuristics: Sequence[str | os.PathLike[str]] = ("ff",)
    searches: Sequence[str] = ()
    shared: SearchSpecification = SearchSpecification()
    specifications: Sequence[SearchSpecification] = ()
    time_limit: float | None = 300.0
    memory_limit: int | None = 4 * 2**30
    jobs: int = 1
    seed: int | None = None
    output: str | os.PathLike[str] | None = None
    command: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.suites, str) or not self.suites:
            raise ValueError("suites must be a list of at least one")
        if isinstance(self.searches, str):
            raise ValueError("searches must be a list")
        if isinstance(self.heuristics, str) or not (self.heuristics or self.specifications):
            raise ValueError("heuristics must be a list of at least one")
        chosen = self.all_specifications()
        for one in chosen:
            if chosen.count(one) > 1:
                raise ValueError(f"the search {one.label()} is given twice")
        if self.jobs < 1:
            raise ValueError(f"there must be at least one job, not {self.jobs}")
        for limit in (self.time_limit, self.memory_limit):
            if limit is not None and not limit > 0:
                raise ValueError(f"limits must be positive, not {limit}")

    def all_specifications(self) -> list[SearchSpecification]:
        """Heuristics by searches, then the further ones."""
        limits = {name: getattr(self.shared, name) for name in LIMITS}
        found = []
        for heuristic in [os.fspath(name) for name in self.heuristics]:
            if heuristic == DEFAULT:
                found.append(SearchSpecification(DEFAULT, **limits))
                continue
            decode = self.shared.decode if is_model_file(heuristic) else None
            shared = replace(self.shared, heuristic=heuristic, decode=decode)
            found += [replace(shared, algorithm=search) for search in self.searches or (None,)]
        return [*found, *self.specifications]

"""What to run and within which limits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hstar.planning.heuristics import is_model_file
from hstar.slots.configuration import DEFAULT, Configuration


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """A benchmark. Limits are per run, in seconds and bytes; None means no limit.

    Every heuristic (a name, a model file, pdb:FILES) runs with every search, or without any with
    the one it is meant for; "default" is the planner without flags and runs once. `cost` to
    `max_expansions` apply to the other combinations (`decode` to model files); `configurations` are
    further ones. With `trust` model files may import code of the user's own. Without `output` there
    is neither a file nor a journal. `seed` goes into the rows of runs whose heuristic has none,
    `command` into reports. Raises ValueError for options no run could have.
    """

    suites: Sequence[str | os.PathLike[str]]
    heuristics: Sequence[str | os.PathLike[str]] = ("ff",)
    searches: Sequence[str] = ()
    cost: str | None = None
    weight: float | None = None
    batch: int | None = None
    width: int | None = None
    preferred: bool | None = None
    preferred_by: str | None = None
    follow: bool | None = None
    ranked: bool | None = None
    decode: str | None = None
    max_evaluations: int | None = None
    max_expansions: int | None = None
    configurations: Sequence[Configuration] = ()
    trust: bool = False
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
        if isinstance(self.heuristics, str) or not (self.heuristics or self.configurations):
            raise ValueError("heuristics must be a list of at least one")
        for kind, given in (("heuristic", self.heuristics), ("search", self.searches)):
            names = [os.fspath(name) for name in given]
            for name in names:
                if names.count(name) > 1:
                    raise ValueError(f"the {kind} '{name}' is given twice")
        chosen = self.all_configurations()
        for one in chosen:
            if chosen.count(one) > 1:
                raise ValueError(f"the configuration {one.label()} is given twice")
        if self.jobs < 1:
            raise ValueError(f"there must be at least one job, not {self.jobs}")
        for limit in (self.time_limit, self.memory_limit):
            if limit is not None and not limit > 0:
                raise ValueError(f"limits must be positive, not {limit}")

    def all_configurations(self) -> list[Configuration]:
        """Heuristics by searches, then the further ones."""
        limits: dict[str, Any] = {
            n: getattr(self, n) for n in ("max_evaluations", "max_expansions")
        }
        names = "cost weight batch width preferred preferred_by follow ranked"
        shared = limits | {n: getattr(self, n) for n in names.split()}
        found = []
        for heuristic in [os.fspath(name) for name in self.heuristics]:
            if heuristic == DEFAULT:
                found.append(Configuration(DEFAULT, **limits))
                continue
            decode = self.decode if is_model_file(heuristic) else None
            found += [
                Configuration(heuristic, search, decode=decode, trust=self.trust, **shared)
                for search in self.searches or (None,)
            ]
        return [*found, *self.configurations]

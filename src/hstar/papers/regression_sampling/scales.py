"""How much of the experiment to run: the scales of scales.toml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hstar.papers.experiment import read_published
from hstar.papers.regression_sampling.columns import PLANNERS

GENERATED = "generated"  # the suite that needs no folder


@dataclass(frozen=True, slots=True)
class Study:
    """`suite` is the name of a folder of domains, each a folder of tasks. `tasks`: "ends" or "all".
    p1 of a task is learned from; the problems with the numbers `states` are planned for."""

    name: str
    suite: str
    planners: tuple[str, ...]
    tasks: str
    states: tuple[int, ...]
    learn: float
    limit: float

    @property
    def learners(self) -> list[str]:
        found = (PLANNERS[name].learner for name in self.planners)
        return list(dict.fromkeys(name for name in found if name is not None))


@dataclass(frozen=True, slots=True)
class Scale:
    """Times in seconds, memory in bytes."""

    studies: tuple[Study, ...]
    memory_limit: int
    generated: Mapping[str, Mapping[str, Sequence[int]]] = field(default_factory=dict)


def _study(held: Mapping[str, Any]) -> Study:
    return Study(**{**held, "planners": tuple(held["planners"]), "states": tuple(held["states"])})


def _scale(held: Mapping[str, Any]) -> Scale:
    return Scale(**{**held, "studies": tuple(map(_study, held["studies"]))})


SCALES = {name: _scale(held) for name, held in read_published(__file__, "scales.toml").items()}

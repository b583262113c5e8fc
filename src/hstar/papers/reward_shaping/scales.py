"""How much of the experiment to run: the scales of scales.toml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hstar.papers.experiment import read_published
from hstar.papers.reward_shaping.columns import COLUMNS

PAPER, EQUAL_TIME = "paper", "equal-time"  # names of studies


@dataclass(frozen=True, slots=True)
class Study:
    """Columns that run on the same problems; scales.toml says what the fields mean. Without
    `max_evaluations` only time limits a search."""

    name: str
    columns: tuple[str, ...]
    seeds: tuple[int, ...]
    tests: int
    limit: float
    steps: Mapping[str, int] = field(default_factory=dict)
    learn: float = 0.0
    label_limit: float = 0.0
    fewer_tests: Mapping[str, int] = field(default_factory=dict)
    fewer_seeds: Mapping[str, int] = field(default_factory=dict)
    max_evaluations: int | None = None

    @property
    def learners(self) -> list[str]:
        found = (COLUMNS[name].learner for name in self.columns)
        return list(dict.fromkeys(name for name in found if name is not None))

    def seeds_of(self, column: str) -> tuple[int, ...]:
        """Columns that draw nothing at random, or that the paper ran once, have one seed."""
        return self.seeds if COLUMNS[column].has_seeds else self.seeds[:1]

    def searched_seeds(self, column: str) -> tuple[int, ...]:
        return self.seeds_of(column)[: self.fewer_seeds.get(column)]


@dataclass(frozen=True, slots=True)
class Generated:
    """Problems to generate: how many to train and to test with, and the sizes of both."""

    domain: str
    counts: tuple[int, int]
    train: Mapping[str, Sequence[int]]
    test: Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True)
class Compatibility:
    """Of each domain, the first `problems` are learned from for `steps`, but for `learn` seconds at
    most, and each is searched for `limit` seconds."""

    problems: int
    steps: int
    learn: float
    limit: float


@dataclass(frozen=True, slots=True)
class Scale:
    """Memory in bytes."""

    memory_limit: int
    studies: tuple[Study, ...] = ()
    generated: Mapping[str, Generated] = field(default_factory=dict)
    compatibility: Compatibility | None = None


def _study(held: Mapping[str, Any]) -> Study:
    return Study(**{**held, "columns": tuple(held["columns"]), "seeds": tuple(held["seeds"])})


def _scale(held: Mapping[str, Any]) -> Scale:
    generated = {name: Generated(**one) for name, one in held.get("generated", {}).items()}
    compatibility = held.get("compatibility")
    return Scale(
        held["memory_limit"],
        tuple(map(_study, held["studies"])),
        generated,
        None if compatibility is None else Compatibility(**compatibility),
    )


SCALES = {name: _scale(held) for name, held in read_published(__file__, "scales.toml").items()}

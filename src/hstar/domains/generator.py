"""Generators: a domain, its size parameters, and the usual sizes of its splits.

A new domain is one module with a Generator, its PDDL beside it, and its name in registry.py.
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeAlias

from hstar.domains.generated_problem import GeneratedProblem
from hstar.pddl.errors import check_known

Parameters: TypeAlias = dict[str, int | float]
Sizes: TypeAlias = tuple[Parameters, ...]

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that sets the size of a problem, whole or not. It grows by `growth` when a size has
    no more problems."""

    name: str
    meaning: str
    minimum: float
    maximum: float = 1_000  # nobody plans with more, and a typing error should not fill the memory
    whole: bool = True
    growth: int = 0

    def check(self, value: int | float) -> int | float:
        """The value as an int if `whole`, else as a float. Raises ValueError with the range."""
        if not self.minimum <= value <= self.maximum or (self.whole and value != int(value)):
            kind = "a whole number" if self.whole else "a number"
            limits = f"from {self.minimum:g} to {self.maximum:g}"
            raise ValueError(f"{self.name} must be {kind} {limits}, not {value:g}")
        return int(value) if self.whole else float(value)


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """The sizes of a split, and how many problems (seeds) of each size."""

    sizes: Sizes
    seeds: int

    @property
    def count(self) -> int:
        return len(self.sizes) * self.seeds


@dataclass(frozen=True, slots=True)
class Generator:
    """How random problems of one domain are drawn.

    `sample` draws an instance, which may be solved already. `enlarge`, if any, is used in place of
    the growth of the parameters. `mismatch` says what is wrong with parameters that are valid one
    by one but not together, or "". Problems with at least `large` objects, more than the usual
    training problems have, are mostly reserved for test (see splits.py). Without a text,
    `domain_pddl` is that of the file beside the module of `sample`.
    """

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    splits: Mapping[str, SplitPlan]
    sample: Callable[[Parameters, Random], GeneratedProblem]
    large: int
    enlarge: Callable[[Parameters], Parameters] | None = None
    mismatch: Callable[[Parameters], str] = lambda parameters: ""
    domain_pddl: str = ""

    def __post_init__(self) -> None:
        if not self.domain_pddl:
            beside = Path(inspect.getfile(self.sample)).with_suffix(".pddl")
            object.__setattr__(self, "domain_pddl", beside.read_text(encoding="utf-8"))

    @property
    def domain_name(self) -> str:
        return str(re.findall(r"\(domain ([^\s()]+)", self.domain_pddl)[0])

    def make(self, parameters: Parameters, rng: Random, name: str) -> str:
        """The PDDL of a random problem. Raises ValueError for wrong parameters."""
        return self.sample(self.check(parameters), rng).to_pddl(name, self.domain_name)

    def check(self, parameters: Mapping[str, int | float]) -> Parameters:
        """The parameters in the generator's order and number types. Raises ValueError."""
        known = [parameter.name for parameter in self.parameters]
        if set(parameters) != set(known):
            given = ", ".join(parameters) or "none"
            raise ValueError(f"{self.name} takes the parameters {', '.join(known)}, not {given}")
        checked = {one.name: one.check(parameters[one.name]) for one in self.parameters}
        wrong = self.mismatch(checked)
        if wrong:
            raise ValueError(f"{self.name}: {wrong}")
        return checked

    def next_size(self, size: Parameters) -> Parameters:
        """The size to use when this one has no more instances."""
        grown = {one.name: size[one.name] + one.growth for one in self.parameters}
        return self.check(grown if self.enlarge is None else self.enlarge(size))

    def plan(
        self,
        split: str,
        ranges: Mapping[str, Sequence[int | float]] | None = None,
        count: int | None = None,
    ) -> list[tuple[Parameters, int]]:
        """The sizes of a split and how many problems of each.

        `ranges` replaces the values of some parameters; the sizes are then all combinations with
        the usual values of the others. `count` problems are spread evenly over the sizes. Raises
        ValueError.
        """
        check_known("split", split, self.splits)
        usual = self.splits[split]
        chosen = usual.sizes
        if ranges:
            values = {
                one.name: ranges.get(one.name) or sorted({size[one.name] for size in chosen})
                for one in self.parameters
            }
            foreign = set(ranges) - set(values)
            if foreign:
                known = ", ".join(values)
                raise ValueError(f"{self.name} has no parameter '{min(foreign)}', only {known}")
            chosen = grid(**values)
        checked = [self.check(size) for size in chosen]
        if count is None:
            return [(size, usual.seeds) for size in checked]
        if count < 1:
            raise ValueError(f"the number of problems must be positive, not {count}")
        shares = Counter(number * len(checked) // count for number in range(count))
        return [(checked[place], share) for place, share in sorted(shares.items())]


def plans(
    small: Sizes, large: Sizes, *, train: int, validation: int, test: int
) -> dict[str, SplitPlan]:
    """Small sizes for training and validation, large ones for test; so many problems of each."""
    small_ones = {"train": SplitPlan(small, train), "validation": SplitPlan(small, validation)}
    return {**small_ones, "test": SplitPlan(large, test)}


def numbered(prefix: str, count: int | float, first: int = 0) -> tuple[str, ...]:
    """Names of objects: prefix0, prefix1, ..."""
    return tuple(f"{prefix}{number}" for number in range(first, first + int(count)))


def sizes(names: Sequence[str], values: Iterable[Sequence[int | float]]) -> Sizes:
    return tuple(dict(zip(names, row, strict=True)) for row in values)


def grid(**values: Sequence[int | float]) -> Sizes:
    """All combinations, the last parameter varying fastest."""
    return sizes(list(values), itertools.product(*values.values()))

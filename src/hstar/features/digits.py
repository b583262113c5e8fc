"""Features "digits": the values of some variables of one space, one-hot.

They mean nothing in another space, so a model on digits belongs to one task, puzzle or pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar.features.feature import Feature, Inputs, SpaceStates
from hstar.pdb.database import fingerprint
from hstar.spaces.space import Space
from hstar.spaces.task import Task


class OneHotInputs(Inputs):
    """Rows of a one-hot matrix, kept as digits int64[S, P] that count from the first row."""

    def __init__(self, rows: NDArray[np.int64], width: int) -> None:
        self.rows = rows
        self.width = width
        self.sizes = np.ones(len(rows), dtype=np.int64)

    def select(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        return one_hot_rows(self.rows[rows], self.width)


class DigitFeature(Feature):
    """All variables of a space, or those of a pattern."""

    name = "digits"
    needs = "space"
    reads_tables = True

    def configure(
        self, tasks: Sequence[Space], options: dict[str, Any], cost: str
    ) -> dict[str, Any]:
        sizes = [int(size) for size in tasks[0].domain_sizes]
        return {
            "variables": list(range(len(sizes))),
            "domain_sizes": sizes,
            "width": sum(sizes),
            "fingerprint": name_of(tasks[0]),
        }

    def check_one_space(self, spaces: Sequence[Space]) -> None:
        if len({name_of(space) for space in spaces}) > 1:
            raise ValueError(
                "digits are the variables of one task, but these labels are of several problems; "
                "choose features that tasks of a domain share, such as atoms or relaxed-plans"
            )

    def check(self, config: dict[str, Any], space: Space) -> None:
        if name_of(space) != config["fingerprint"]:
            raise ValueError(
                "the model reads the variables of one task or puzzle, and this is another one"
            )

    def inputs(self, config: dict[str, Any], states: Sequence[SpaceStates]) -> OneHotInputs:
        digits = np.concatenate([group.states for group in states])
        return OneHotInputs(_rows(config, digits), config["width"])

    def encoder(self, config: dict[str, Any], space: Space) -> Callable[[Any], Any]:
        return lambda states: one_hot_rows(_rows(config, states), config["width"])

    def native(self, config: dict[str, Any], space: Space) -> dict[str, Any] | None:
        if space.kind != "task":  # the core evaluates dense networks on tasks only
            return None
        first = np.cumsum([0, *config["domain_sizes"]])[:-1].tolist()
        return {"input": "digits", "digits": list(zip(config["variables"], first, strict=True))}


def name_of(space: Space) -> str:
    """Tells spaces apart whose variables mean different things."""
    return fingerprint(space) if isinstance(space, Task) else space.name


def one_hot_rows(rows: NDArray[np.int64], width: int) -> NDArray[np.float32]:
    ones = np.zeros((len(rows), width), dtype=np.float32)
    np.put_along_axis(ones, rows, 1.0, axis=1)
    return ones


def _rows(config: dict[str, Any], states: NDArray[np.int32]) -> NDArray[np.int64]:
    sizes = np.array(config["domain_sizes"], dtype=np.int64)
    digits = states[:, config["variables"]].astype(np.int64)
    return digits + (np.cumsum(sizes) - sizes)


DIGITS = DigitFeature()

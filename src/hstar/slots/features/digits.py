"""Features "digits": the values of some variables of one space, one-hot.

They mean nothing in another space, so a model on digits belongs to one task, puzzle or pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hstar.pdb.database import fingerprint
from hstar.planning.space import Space
from hstar.planning.task import Task
from hstar.slots.features.feature import Config, Feature, SpaceStates, SparseInputs

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def digit_config(variables: Sequence[int], sizes: Sequence[int], space: str) -> Config:
    """These variables of a space, with the sizes of their domains."""
    return {
        "variables": list(variables),
        "domain_sizes": [int(size) for size in sizes],
        "width": int(sum(sizes)),
        "fingerprint": space,
    }


def first_rows(domain_sizes: Sequence[int]) -> NDArray[np.int64]:
    """int64[P]: where the rows of each digit begin."""
    return np.concatenate([[0], np.cumsum(domain_sizes[:-1], dtype=np.int64)])


def one_hot(rows: Tensor, width: int, dtype: torch.dtype) -> Tensor:
    """[B, width] with ones in the rows int64[B, P]: digits plus `first_rows`."""
    ones = rows.new_zeros(len(rows), width, dtype=dtype)
    return ones.scatter_(1, rows, 1.0)


class DigitFeature(Feature):
    """All variables of a space, or those of a pattern."""

    name = "digits"
    needs = "space"
    reads_tables = True

    def configure(self, tasks: Sequence[Space], options: Config, cost: str) -> Config:
        sizes = tasks[0].domain_sizes
        if len({name_of(space) for space in tasks}) > 1:
            raise ValueError(
                "digits are the variables of one task, but these labels are of several problems; "
                "choose features that tasks of a domain share, such as atoms or relaxed-plans"
            )
        return digit_config(range(len(sizes)), sizes, name_of(tasks[0]))

    def check(self, config: Config, space: Space) -> None:
        if name_of(space) != config["fingerprint"]:
            raise ValueError(
                "the model reads the variables of one task or puzzle, and this is another one"
            )

    def inputs(self, config: Config, states: Sequence[SpaceStates]) -> SparseInputs:
        digits = np.concatenate([group.states[:, config["variables"]] for group in states])
        ones = (digits + first_rows(config["domain_sizes"])).astype(np.int32)
        return SparseInputs(np.arange(len(ones) + 1) * ones.shape[1], ones.ravel(), config["width"])

    def encoder(self, config: Config, space: Space) -> Callable[[Any], Any]:
        return lambda states: self.inputs(config, [SpaceStates(space, states)]).every()

    def native(self, config: Config, space: Space) -> Config | None:
        if space.kind != "task":  # the core evaluates dense networks on tasks only
            return None
        sizes = space.domain_sizes
        rows = np.full(sum(sizes), -1, dtype=np.int32)
        facts, inputs = first_rows(sizes), first_rows(config["domain_sizes"])
        for variable, row in zip(config["variables"], inputs, strict=True):
            first, size = facts[variable], sizes[variable]
            rows[first : first + size] = np.arange(row, row + size)
        return {"input": "facts", "rows": rows, "constant": np.zeros(0, np.int32)}


def name_of(space: Space) -> str:
    """Tells spaces apart whose variables mean different things."""
    return fingerprint(space) if isinstance(space, Task) else space.name


DIGITS = DigitFeature()

"""States of a pattern on the device: unranked and labelled by gathering from tables.

An index of pieces is orientations * permutations + rank of the locations; the locations of all
ranks are one table, the orientations are digits. An index of a task's variables is digits alone.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from hstar import _core
from hstar.pdb import PatternDatabase, build_pdb
from hstar.planning.puzzle import Puzzle
from hstar.planning.space import Space
from hstar.planning.task import Task

UNREACHED = 255  # as a label
MOST_CLASSES = 64
LARGEST_TABLE = 2**31  # bytes of locations
SLICE = 2**20


class PatternStates:
    """All states of a pattern: digits and exact classes. Raises ValueError. `values` are the values
    that occur, ascending; class c means values[c] and is that of `class_sizes[c]` indices. `labels`
    uint8[cells] lies on the device."""

    def __init__(self, database: PatternDatabase, space: Space, device: torch.device) -> None:
        check_learnable(database)
        self.device = device
        self.database = database
        self.cells = database.layout.cells
        counts, _ = database.histogram
        self.values = tuple(value for value, count in enumerate(counts) if count)
        if len(self.values) > MOST_CLASSES:
            raise ValueError(
                f"the database has {len(self.values)} different values; "
                f"networks have at most {MOST_CLASSES} classes"
            )
        pattern = database.layout.pattern
        self.domain_sizes = tuple(space.domain_sizes[variable] for variable in pattern)
        self.labels = _labels(database, self.values).to(device)
        self.class_sizes = torch.bincount(self.labels, minlength=256)[: len(self.values)].tolist()
        index = database.index(space)
        self.locations: Tensor | None = None
        if isinstance(space, Puzzle):
            group = next(g for g in space.groups if g.first <= pattern[0] < g.first + g.count)
            self.orientations = group.orientations
            is_whole = len(pattern) == group.count
            self.num_digits = 0 if self.orientations == 1 else len(pattern) - is_whole
            permutations = self.cells // self.orientations**self.num_digits
            if permutations * len(pattern) > LARGEST_TABLE:
                raise ValueError("the pattern has too many permutations to learn from")
            self.locations = _locations(index, permutations, self.orientations).to(device)

    def digits(self, index: Tensor) -> Tensor:
        """int64[B, P] from indices int64[B], as search sees them."""
        if self.locations is None:
            columns = []
            for radix in self.domain_sizes:
                columns.append(index % radix)
                index = index // radix
            return torch.stack(columns, dim=1)
        permutations = len(self.locations)
        places = self.locations[index % permutations].long()
        if self.orientations == 1:
            return places
        turned = torch.zeros_like(places)
        rest = index // permutations
        for piece in reversed(range(self.num_digits)):
            turned[:, piece] = rest % self.orientations
            rest = rest // self.orientations
        if self.num_digits < places.shape[1]:  # the last is implied: all together sum to zero
            turned[:, -1] = (-turned.sum(dim=1)) % self.orientations
        return places * self.orientations + turned

    def exact(self, index: Tensor) -> Tensor:
        """The exact classes int64[B]; UNREACHED where the goal cannot be reached."""
        return self.labels[index].long()


def states_to_learn(database: PatternDatabase, space: Space, device: torch.device) -> PatternStates:
    """What a network of the database is trained on. Raises ValueError. Of symmetry classes, all
    their states: networks learn more of a whole space than of one state per class
    (docs/pattern_databases.md has the figures)."""
    if database.layout.symmetric and not isinstance(space, Task):
        check_learnable(database)
        layout = database.layout
        database = build_pdb(space, layout.pattern, additive=layout.additive, cost=layout.cost)
    return PatternStates(database, space, device)


def _labels(database: PatternDatabase, values: tuple[int, ...]) -> Tensor:
    """uint8[cells]: the class of each index."""
    layout, table = database.layout, np.asarray(database.table)
    if layout.bits == 4:
        table = np.stack([table & 15, table >> 4], axis=1).reshape(-1)[: layout.cells]
    elif layout.bits == 16:
        table = table.view("<u2")
    elif layout.bits != 8:
        raise ValueError(f"tables of {layout.bits} bits are not learned from")
    classes = np.full(2**layout.bits, UNREACHED, dtype=np.uint8)
    classes[list(values)] = range(len(values))
    return torch.from_numpy(classes[table])


def _locations(index: _core.PatternIndex, permutations: int, orientations: int) -> Tensor:
    """uint8[permutations, pieces]; the first indices are those without any orientation."""
    parts = []
    for first in range(0, permutations, SLICE):
        ranks = np.arange(first, min(first + SLICE, permutations), dtype=np.int64)
        parts.append((index.unrank(ranks) // orientations).astype(np.uint8))
    return torch.from_numpy(np.concatenate(parts))


def check_learnable(database: PatternDatabase) -> None:
    """Raises ValueError for databases that no network is learned from."""
    layout = database.layout
    if layout.grouping != "none" or layout.order != "mr" or layout.levels:
        raise ValueError(
            "learn from the database itself, a difference or symmetry classes, not a compressed one"
        )
    if layout.symmetric and database.base is not None:
        raise ValueError(
            "differences of symmetry classes are not learned; learn the difference itself"
        )

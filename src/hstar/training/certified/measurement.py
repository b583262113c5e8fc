"""What any heuristic is worth on a table: its value for every state, beside the exact one.

Networks in integers are swept in the core, other networks of the table's pattern on the device that
trains, and everything else through search's own interface. That takes whole states: of a puzzle all
of its pieces must be in the pattern; of a task, other variables keep their values in the initial
state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hstar.pdb import PatternDatabase, PdbHeuristic
from hstar.planning.heuristics import AnyHeuristic, make_heuristic
from hstar.planning.space import Space
from hstar.runtime.progress import Progress
from hstar.slots.features.digits import first_rows, one_hot
from hstar.slots.features.pattern_states import UNREACHED, PatternStates
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.pattern_network import LearnedDatabase
from hstar.training.certified.device_sweep import DeviceSweep
from hstar.training.certified.sweep import Sweep, SweepOptions, ValueCounts

BATCH = 2**17  # states at once on a GPU
Values = Callable[[Tensor], Tensor]  # of indices int64[B] -> float[B]


@dataclass(frozen=True, slots=True)
class Measure:
    """`overestimates` lists [exact value, value rounded up, states], `by_value` of each exact value
    [value, states, overestimated states]."""

    states: int
    mean: float
    overestimates: list[list[int]]
    by_value: list[list[int]]

    @classmethod
    def of(cls, counts: ValueCounts, values: tuple[int, ...], exact: list[int]) -> Measure:
        """From what a sweep counted; `exact` says how many states have each value."""
        total = sum(value * int(n) for value, n in zip(values, counts.classes, strict=True))
        found = {
            (values[own], values[guess]): int(counts.overestimates[own, guess])
            for own, guess in np.argwhere(counts.overestimates).tolist()
        }
        return cls.made(total, found, {value: n for value, n in enumerate(exact) if n})

    @classmethod
    def made(
        cls, total: float, found: dict[tuple[int, int], int], exact: dict[int, int]
    ) -> Measure:
        states = sum(exact.values())
        of = {value: sum(n for (own, _), n in found.items() if own == value) for value in exact}
        pairs = [[own, guess, n] for (own, guess), n in sorted(found.items())]
        by_value = [[value, n, of[value]] for value, n in exact.items()]
        return cls(states, total / max(states, 1), pairs, by_value)

    @property
    def rate(self) -> float:
        """The share of overestimated states."""
        return sum(pair[2] for pair in self.overestimates) / max(self.states, 1)

    def to_dict(self) -> dict[str, Any]:
        return {
            "mean": self.mean,
            "rate": self.rate,
            "states": self.states,
            "overestimates": self.overestimates,
            "by_value": self.by_value,
        }


def measure(
    heuristic: AnyHeuristic,
    database: PatternDatabase,
    space: Space,
    device: torch.device,
    options: SweepOptions | None = None,
) -> Measure:
    """Raises ValueError for what does not fit the table."""
    options = options or SweepOptions()
    states = PatternStates(database, space, device)
    network = _network_of(heuristic, database)
    if network is not None:
        sweep = DeviceSweep(states, BATCH, options.progress) if device.type == "cuda" else None
        counts = (sweep or Sweep(database, space, options)).count_values(network)
        return Measure.of(counts, network.values, database.histogram[0])
    if isinstance(heuristic, LearnedHeuristic) and _fits(heuristic, database):
        values = _on_device(heuristic, states)
    elif database.base is not None or _is_partial(database, space):
        raise ValueError(
            "with a table of some pieces, or with a difference, only networks that were learned "
            "from such a one are compared; compare others with a table of the whole puzzle"
        )
    else:
        values = _in_search(heuristic, database, space)
    return _count(values, states, options)


def _network_of(heuristic: AnyHeuristic, database: PatternDatabase) -> LearnedDatabase | None:
    """The network in integers that a heuristic consists of, if it is one of the table's pattern."""
    if not isinstance(heuristic, PdbHeuristic) or len(heuristic.sums) != 1:
        return None
    (network, *others) = heuristic.sums[0]
    if others or not isinstance(network, LearnedDatabase) or network.layout != database.layout:
        return None
    return network if (network.base is None) == (database.base is None) else None


def _fits(heuristic: LearnedHeuristic, database: PatternDatabase) -> bool:
    """Whether it was learned from such a table: of this pattern, and a difference if it is one."""
    is_difference = heuristic.difference is not None
    of_same = heuristic.reads_pattern(database.layout)
    return of_same and is_difference == (database.base is not None)


def _is_partial(database: PatternDatabase, space: Space) -> bool:
    return space.kind == "puzzle" and len(database.layout.pattern) < len(space.domain_sizes)


def _on_device(heuristic: LearnedHeuristic, states: PatternStates) -> Values:
    device = states.device
    network = heuristic.network().to(device)
    rows, width = torch.from_numpy(first_rows(states.domain_sizes)), sum(states.domain_sizes)
    rows = rows.to(device)

    def values(index: Tensor) -> Tensor:
        outputs = network(one_hot(states.digits(index) + rows, width, torch.float32)).float()
        nothing = torch.zeros(len(index), device=device)
        return heuristic.decode.value(outputs, nothing, nothing - torch.inf, heuristic.constants)

    return values


def _in_search(heuristic: AnyHeuristic, database: PatternDatabase, space: Space) -> Values:
    made, index_of = make_heuristic(space, heuristic), database.index(space)
    pattern, start = list(database.layout.pattern), np.array(space.initial_state, dtype=np.int32)

    def values(index: Tensor) -> Tensor:
        rows = np.repeat(start[None], len(index), axis=0)
        rows[:, pattern] = index_of.unrank(index.cpu().numpy())
        return torch.from_numpy(made.evaluate(rows)).to(index.device)

    return values


def _count(values: Values, states: PatternStates, options: SweepOptions) -> Measure:
    """Over all indices whose state can reach the goal."""
    exact_of = torch.tensor([*states.values, 0], dtype=torch.float64, device=states.device)
    standing = torch.tensor(states.database.multiplicities, device=states.device)
    total, found = 0.0, dict[tuple[int, int], int]()
    exact = dict.fromkeys(states.values, 0)
    with torch.inference_mode():
        for index in _batches(states, options):
            own = states.exact(index)
            index, own = index[own != UNREACHED], own[own != UNREACHED]
            h, times = values(index).double(), standing[index % len(standing)]
            total += float((h * times).sum())
            over = h > exact_of[own]
            sizes = torch.bincount(own, times.double(), minlength=len(states.values))
            for value, count in zip(states.values, sizes.long().tolist(), strict=True):
                exact[value] += count
            pairs = torch.stack([own[over], h[over].ceil().clamp(max=2**40).long()], dim=1)
            kinds, place = torch.unique(pairs, dim=0, return_inverse=True)
            counts = torch.bincount(place, times[over].double(), minlength=len(kinds)).long()
            for (place_of, guess), count in zip(kinds.tolist(), counts.tolist(), strict=True):
                pair = states.values[place_of], guess
                found[pair] = found.get(pair, 0) + count
    return Measure.made(total, found, exact)


def _batches(states: PatternStates, options: SweepOptions) -> Iterator[Tensor]:
    batch = BATCH if states.device.type == "cuda" else options.batch
    make = options.progress
    shown: Progress | None = None if make is None else make("sweep", states.cells)
    for first in range(0, states.cells, batch):
        end = min(first + batch, states.cells)
        yield torch.arange(first, end, device=states.device)
        if shown is not None:
            shown.update(end)
    if shown is not None:
        shown.close()

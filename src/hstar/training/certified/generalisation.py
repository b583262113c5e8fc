"""Figure 2: how far the mean inadmissibility of training instances is from that of all instances.

The inadmissibility of an instance (Theorem 4) is the largest h(v) - h*(v), at least 0, over the
states v of an optimal path from it. For whole spaces it is known for every state: one optimal path
leads from each, always to the first successor that is nearer to the goal, so

    Psi(s) = max(h(s) - h*(s), Psi(next(s))),  Psi(goal) = max(h(goal), 0).

All paths end near the goal, and a network that overestimates there gives nearly all instances the
same Psi. So the excess max(h(s) - h*(s), 0) of the state itself is measured, too.
"""

from __future__ import annotations

import copy
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hstar.pdb import PatternDatabase, read_pdb
from hstar.planning.puzzle import Puzzle, make_puzzle
from hstar.slots.features.pattern_states import UNREACHED, PatternStates
from hstar.training.certified.certificate import predict
from hstar.training.certified.learning import integer_network
from hstar.training.options import TrainOptions
from hstar.training.source import TableData
from hstar.training.train import prepare_table

SLICE = 2**17
Distances = NDArray[np.int64]
Indices = NDArray[np.int64]


def next_on_path(database: PatternDatabase, puzzle: Puzzle, distance: Distances) -> Indices:
    """int64[cells]: the next index on an optimal path; the goal's is its own. `distance`
    int64[cells] is negative where no state is. Raises ValueError unless the pattern is the whole
    puzzle."""
    if list(database.layout.pattern) != list(range(puzzle.num_variables)):
        raise ValueError("paths are followed in whole puzzles only")
    index = database.index(puzzle)
    following = np.arange(len(distance), dtype=np.int64)
    away = np.flatnonzero(distance > 0)
    for first in range(0, len(away), SLICE):
        here = away[first : first + SLICE]
        rows, _, states = puzzle.expand(index.unrank(here))
        there = index.rank(states)
        nearer = distance[there] == distance[here[rows]] - 1
        # Of several the first counts: the last write to a place wins, so they go backwards.
        following[here[rows[nearer][::-1]]] = there[nearer][::-1]
    return following


def inadmissibility(h: Distances, distance: Distances, following: Indices) -> Distances:
    """Psi of each index, 0 where no state is."""
    psi = np.where(distance >= 0, np.maximum(h - distance, 0), 0)
    for depth in range(1, int(distance.max()) + 1):
        layer = np.flatnonzero(distance == depth)
        psi[layer] = np.maximum(psi[layer], psi[following[layer]])
    return psi


def measure_generalisation(
    table: Path, options: TrainOptions, size: int, seed: int
) -> dict[str, Any]:
    """Train on `size` states drawn once, and compare them with the whole space."""
    started = time.monotonic()
    torch.set_num_threads(1)
    database = read_pdb(table)
    puzzle = make_puzzle(database.layout.space)
    states = PatternStates(database, puzzle, torch.device("cpu"))
    values = np.array(states.values)
    labels = states.labels.numpy()
    distance = np.full(states.cells, -1, dtype=np.int64)
    reached = np.flatnonzero(labels < len(values))
    distance[reached] = values[labels[reached]]
    sample = np.random.default_rng(seed).choice(reached, min(size, len(reached)), replace=False)
    data = TableData(database, puzzle, restricted(states, sample))
    loop = prepare_table(data, replace(options, seed=seed, device="cpu"))
    loop.run()
    network = integer_network(loop)
    h = np.zeros(states.cells, dtype=np.int64)
    h[reached] = values[predict(network, states, reached)]
    psi = inadmissibility(h, distance, next_on_path(database, puzzle, distance))
    excess = np.maximum(h - distance, 0)
    row = {"samples": len(sample), "seed": seed, "states": len(reached), "range": int(values[-1])}
    means = {
        f"{kind}_{where}": float(measured[chosen].mean())
        for kind, measured in (("path", psi), ("state", excess))
        for where, chosen in (("sample", sample), ("whole", reached))
    }
    means["overestimated"] = float((excess[reached] > 0).mean())
    return {**row, **means, "seconds": round(time.monotonic() - started, 1)}


def restricted(states: PatternStates, kept: Indices) -> PatternStates:
    """The same space with labels for some states only, so that no others are drawn."""
    known = copy.copy(states)
    places = torch.from_numpy(kept)
    known.labels = torch.full_like(states.labels, UNREACHED)
    known.labels[places] = states.labels[places]
    counts = torch.bincount(known.labels[places].long(), minlength=len(states.values))
    known.class_sizes = counts.tolist()
    return known

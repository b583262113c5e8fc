"""Figure 2: how far the mean inadmissibility of training instances is from that of all instances.

The inadmissibility of an instance (Theorem 4) is the largest excess h - h*, at least 0, on an
optimal path from it (hstar.pdb.theory). All paths end near the goal, and a network that
overestimates there gives nearly all instances the same one. So the excess of the state itself is
measured, too. Large spaces are represented by states drawn at random.
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

from hstar.pdb import read_pdb
from hstar.pdb.theory import PatternPaths
from hstar.planning.puzzle import make_puzzle
from hstar.slots.features.pattern_states import UNREACHED, PatternStates
from hstar.training.certified.certificate import predict
from hstar.training.certified.learning import integer_network
from hstar.training.options import TrainOptions
from hstar.training.source import TableData
from hstar.training.train import prepare_table

INSTANCES = 100_000  # of a space or of a training set; all if there are no more
Indices = NDArray[np.int64]


def measure_generalisation(
    table: Path, options: TrainOptions, size: int, seed: int
) -> dict[str, Any]:
    """Train on `size` states drawn once, and compare them with the whole space."""
    started = time.monotonic()
    torch.set_num_threads(1)
    database = read_pdb(table)
    puzzle = make_puzzle(database.layout.space)
    states = PatternStates(database, puzzle, torch.device("cpu"))
    values, labels = np.array([*states.values, -1]), states.labels.numpy()
    reached = np.flatnonzero(labels != UNREACHED)

    def distance_of(index: Indices) -> Indices:
        found: Indices = values[np.minimum(labels[index], len(states.values))]
        return found

    rng = np.random.default_rng(seed)
    sample = rng.choice(reached, min(size, len(reached)), replace=False, shuffle=False)
    data = TableData(database, puzzle, restricted(states, sample))
    loop = prepare_table(data, replace(options, seed=seed, device="cpu"))
    loop.run()
    network = integer_network(loop)

    def value_of(index: Indices) -> Indices:
        found: Indices = values[predict(network, states, index)]
        return found

    paths = PatternPaths(database, puzzle, distance_of)
    row = {"samples": len(sample), "seed": seed, "states": len(reached), "range": int(values[-2])}
    means = {}
    for where, every in (("sample", sample), ("whole", reached)):
        count = min(INSTANCES, len(every))
        chosen = every if count == len(every) else rng.choice(every, count, shuffle=False)
        excess = np.maximum(value_of(chosen) - distance_of(chosen), 0)
        means[f"path_{where}"] = float(paths.inadmissibility(chosen, value_of).mean())
        means[f"state_{where}"] = float(excess.mean())
        means["overestimated"] = float((excess > 0).mean())  # of the whole, which is last
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

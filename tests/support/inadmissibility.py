"""How far off the best path a heuristic that overestimates can lead search.

Theorem 3 of "Learning admissible heuristics for A*": A* with reopening finds a solution of a cost

    C <= C* + max over the states v of an optimal path of h(v) - h*(v)

for every optimal path, so the smallest of these maxima is the tightest such bound. IDA* obeys it
too: a bound below the largest f on the path leaves a state of the path over it, so the bounds never
pass that f before a solution is found. (The paper's proof has < where ties allow <=.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hstar.planning.puzzle import Puzzle

CHUNK = 200_000  # states whose successors are held at once


def tightest_bounds(
    puzzle: Puzzle, distances: NDArray[np.int64], values: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Of every state by rank: the least over its optimal paths of the largest h - h*, int64[N].
    `distances` are exact and `values` those of the heuristic, both by rank, int64[N]. A state that
    cannot reach the goal has distance -1, and bound -1. Raises ValueError."""
    if {len(distances), len(values)} != {puzzle.num_states}:
        raise ValueError("expected a distance and a value for every state of the puzzle")
    excess = values - distances
    bounds = np.full(len(distances), -1, dtype=np.int64)
    for distance in range(int(distances.max()) + 1):
        layer = np.flatnonzero(distances == distance)
        if distance == 0:
            bounds[layer] = excess[layer]
            continue
        for first in range(0, len(layer), CHUNK):
            ranks = layer[first : first + CHUNK]
            parents, _, children = puzzle.expand(puzzle.unrank(ranks))
            child_ranks = puzzle.rank(children)
            closer = distances[child_ranks] == distance - 1
            least = np.full(len(ranks), np.iinfo(np.int64).max)
            np.minimum.at(least, parents[closer], bounds[child_ranks[closer]])
            bounds[ranks] = np.maximum(excess[ranks], least)
    return bounds

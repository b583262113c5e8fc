"""What "Learning admissible heuristics for A*: theory and practice" proves about heuristics that
overestimate, as functions of whole spaces.

The excess of a state is h - h*. Theorem 3: A* with reopening finds a solution of a cost

    C <= C* + the largest excess on an optimal path

for every optimal path. IDA* obeys it too: a bound below the largest f on the path leaves a state of
the path over it, so the bounds never pass that f before a solution is found. (The paper's proof has
< where ties allow <=.) Theorem 4 is about the mean of that excess, at least 0, over instances: its
inadmissibility. A mean of N instances is that near to the mean of all.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hstar.pdb.database import PatternDatabase
from hstar.planning.puzzle import Puzzle

CHUNK = 200_000  # states whose successors are held at once
SEEN = 300  # states from which the moves of single pieces are read off

Numbers = NDArray[np.int64]


def tightest_bounds(puzzle: Puzzle, distances: Numbers, values: Numbers) -> Numbers:
    """Theorem 3 for each state of a puzzle, by rank: the least over its optimal paths of the
    largest excess. `distances` are exact and `values` those of the heuristic, both by rank. A state
    that cannot reach the goal has distance -1, and bound -1. Raises ValueError."""
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


class PatternPaths:
    """Optimal paths in the space of a pattern: always to the first successor that is nearer to the
    goal. `distance_of` gives the exact values of indices int64[B]. Raises ValueError for part of
    the pieces of a puzzle in which moves do not act on each piece alone."""

    def __init__(
        self, database: PatternDatabase, puzzle: Puzzle, distance_of: Callable[[Numbers], Numbers]
    ) -> None:
        self.puzzle, self.distance_of = puzzle, distance_of
        self.index = database.index(puzzle)
        self.pattern = list(database.layout.pattern)
        is_whole = self.pattern == list(range(puzzle.num_variables))
        self.moves = None if is_whole else moves_of_pieces(puzzle)[:, self.pattern]

    def inadmissibility(self, starts: Numbers, value_of: Callable[[Numbers], Numbers]) -> Numbers:
        """Of each instance the largest excess, at least 0, on its path. `value_of` is the
        heuristic."""
        found = np.zeros(len(starts), dtype=np.int64)
        at, rows = starts.copy(), np.arange(len(starts))
        while len(rows):
            distance = self.distance_of(at)
            found[rows] = np.maximum(found[rows], value_of(at) - distance)
            rows, at = rows[distance > 0], at[distance > 0]
            at = self.following(at)
        return found

    def following(self, indices: Numbers) -> Numbers:
        """The next index on the path of each; none of them is the goal's."""
        parts = [indices[:0]]
        for first in range(0, len(indices), CHUNK):
            parts.append(self._following(indices[first : first + CHUNK]))
        return np.concatenate(parts)

    def _following(self, here: Numbers) -> Numbers:
        states = self.index.unrank(here)
        if self.moves is None:
            rows, _, children = self.puzzle.expand(states)
        else:
            rows = np.repeat(np.arange(len(here)), len(self.moves))
            each = [table[np.arange(len(self.pattern)), states] for table in self.moves]
            children = np.repeat(self.puzzle.goal[None], len(rows), axis=0)  # only pieces are read
            children[:, self.pattern] = np.stack(each, axis=1).reshape(len(rows), -1)
        there = self.index.rank(children)
        nearer = self.distance_of(there) == self.distance_of(here)[rows] - 1
        after = np.full(len(here), -1, dtype=np.int64)
        # Of several the first counts: the last write to a place wins, so they go backwards.
        after[rows[nearer][::-1]] = there[nearer][::-1]
        return after


def moves_of_pieces(puzzle: Puzzle) -> NDArray[np.int32]:
    """int32[moves, pieces, places]: where a move takes a piece. Raises ValueError if that depends
    on other pieces, as with sliding tiles."""
    tables = np.full(
        (len(puzzle.move_names), puzzle.num_variables, max(puzzle.domain_sizes)), -1, np.int32
    )
    states = np.stack([puzzle.scramble(30, seed) for seed in range(SEEN)])
    rows, moves, children = puzzle.expand(states)
    for piece in range(puzzle.num_variables):
        tables[moves, piece, states[rows, piece]] = children[:, piece]
    same = tables[moves[:, None], np.arange(puzzle.num_variables), states[rows]] == children
    if not same.all() or len(children) < len(states) * len(tables):
        raise ValueError(
            "paths of some pieces alone are followed only where moves act on each piece alone; "
            "take a pattern of the whole puzzle"
        )
    return tables


def inadmissibility_bound(states: int, samples: int, range_: float, delta: float) -> float:
    """Theorem 4: with probability 1 - delta the expected inadmissibility exceeds the mean over N
    instances by at most O~(H sqrt((n + log(1 / delta)) / N)), here with constant 1 and no
    logarithmic factors. By Theorem 3 the same bounds the expected suboptimality of A* with
    reopening."""
    return range_ * math.sqrt((states + math.log(1 / delta)) / samples)

"""Which model to use, and in which ways of searching: they take turns, so they should complement
each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from hstar.learning.instance import Way, way_text
from hstar.learning.trials import Score, Trial
from hstar.search import DEFAULT

MOST_WAYS = 2  # that take turns


@dataclass(frozen=True, slots=True)
class Schedule:
    """A model, and the ways of searching with it that take turns."""

    name: str
    ways: tuple[Way, ...]

    @property
    def label(self) -> str:
        return f"{self.name}, {' + '.join(map(way_text, self.ways))}"

    def search(self) -> Way:
        """As a model file names it, in turns with the default planner."""
        first, *others = ({"cost": "one", **way} for way in self.ways)
        return {**first, "beside": [*others, {"algorithm": DEFAULT}]}


def choose_schedule(
    scores: Mapping[str, Mapping[int, Score]], ways: Sequence[Way], limit: float
) -> Schedule | None:
    """The model and the ways that solve most in turns with each other. `scores` are those of
    models, by the number of the way. None without any."""
    climbs = [score for by_way in scores.values() for score in by_way.values()]
    length = max((len(score.trials) for score in climbs), default=0)
    best: tuple[Score, Schedule] | None = None
    for name, by_way in scores.items():
        for count in range(1, MOST_WAYS + 1):
            for numbers in combinations(sorted(by_way), count):
                score = in_turns([by_way[i] for i in numbers], length, limit)
                if best is None or score.beats(best[0]):
                    best = score, Schedule(name, tuple(ways[i] for i in numbers))
    return None if best is None else best[1]


def padded(score: Score, length: int, limit: float) -> Score:
    """On so many trials; what a lower climb did not try counts as failed."""
    return Score((*score.trials, *[Trial(False, limit)] * (length - len(score.trials))))


def in_turns(
    scores: Sequence[Score], length: int, limit: float, default: Score | None = None
) -> Score:
    """What searches would score that take turns on `length` problems, within the limit of each one
    alone. The default planner, if it takes part, has half the time."""
    share = 2 if default is not None else 1
    slower = [(share * len(scores), padded(one, length, limit)) for one in scores]
    if default is not None:
        slower.append((share, padded(default, length, limit)))
    trials = []
    for number in range(length):
        tried = [(factor, one.trials[number]) for factor, one in slower]
        least = min((factor * one.seconds for factor, one in tried if one.solved), default=math.inf)
        trials.append(Trial(least <= limit, min(least, limit)))
    return Score(tuple(trials))

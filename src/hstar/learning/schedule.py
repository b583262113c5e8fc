"""Which searches to use: they take turns, so they should complement each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from hstar.learning.candidates import Candidate
from hstar.learning.instance import Way
from hstar.learning.trials import Score, Trial
from hstar.planning.specification import DEFAULT

MOST_CANDIDATES = 2  # that take turns


@dataclass(frozen=True, slots=True)
class Schedule:
    """Searches that take turns. All that have a model have the same."""

    candidates: tuple[Candidate, ...]

    @property
    def model(self) -> str | None:
        return next((one.model for one in self.candidates if one.model is not None), None)

    @property
    def label(self) -> str:
        return " + ".join(one.label for one in self.candidates)

    def search(self) -> Way:
        """As a model file names it, in turns with the default planner."""
        first, *others = ({"cost": "one", **one.way} for one in self.candidates)
        return {**first, "alternating": [*others, {"algorithm": DEFAULT}]}


def choose_schedule(scores: Mapping[Candidate, Score], limit: float) -> Schedule | None:
    """Those that solve most in turns with each other. None without any."""
    best: tuple[Score, Schedule] | None = None
    length = max((len(score.trials) for score in scores.values()), default=0)
    for count in range(1, MOST_CANDIDATES + 1):
        for chosen in combinations(scores, count):
            if len({one.model for one in chosen if one.model is not None}) > 1:
                continue
            score = in_turns([scores[one] for one in chosen], length, limit)
            if best is None or score.beats(best[0]):
                best = score, Schedule(chosen)
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
        found = ((factor * one.seconds, one.cost) for factor, one in tried if one.solved)
        least, cost = min(found, key=lambda one: one[0], default=(math.inf, None))
        is_solved = least <= limit
        trials.append(Trial(is_solved, min(least, limit), cost if is_solved else None))
    return Score(tuple(trials))

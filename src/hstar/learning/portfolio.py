"""Which searches to use: they take turns, so they should complement each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from hstar.learning.trials import Score, Trial, cheapest
from hstar.planning.specification import DEFAULT_PLANNER, SearchSpecification

MOST_CANDIDATES = 2  # that take turns


@dataclass(frozen=True, slots=True)
class Candidate:
    """The name of a model, None for a search that needs none, and how to search with it."""

    model: str | None
    search: SearchSpecification

    @property
    def label(self) -> str:
        """Such as "linear model (rounds 2), gbfs, preferred by ff"."""
        own = self.model or f"no model, {self.search.names}"
        return ", ".join([own, str(self.search.algorithm), *self.search.phrases()])


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

    def search(self) -> SearchSpecification:
        """As a model file recommends it, in turns with the default planner."""
        first, *others = (one.search for one in self.candidates)
        return replace(first, alternating=(*others, DEFAULT_PLANNER))


def choose_schedule(scores: Mapping[Candidate, Score], limit: float) -> Schedule | None:
    """Those that solve most in turns with each other. None without any."""
    length = max((len(score.trials) for score in scores.values()), default=0)
    found: dict[Schedule, Score] = {}
    for count in range(1, MOST_CANDIDATES + 1):
        for chosen in combinations(scores, count):
            if len({one.model for one in chosen if one.model is not None}) <= 1:
                score = estimate_in_turns([scores[one] for one in chosen], length, limit)
                found[Schedule(chosen)] = score
    best: Schedule | None = cheapest(found) if found else None
    return best


def estimate_in_turns(
    scores: Sequence[Score], length: int, limit: float, default: Score | None = None
) -> Score:
    """What searches would score that take turns on `length` problems, within the limit of each one
    alone. Problems that a score has no trial of count as failed. The default planner, if it takes
    part, has half the time."""
    share = 2 if default is not None else 1
    slower = [(share * len(scores), one.trials) for one in scores]
    if default is not None:
        slower.append((share, default.trials))
    trials = []
    for number in range(length):
        tried = [(factor, one[number]) for factor, one in slower if number < len(one)]
        found = ((factor * one.spent, one.cost) for factor, one in tried if one.solved)
        least, cost = min(found, key=lambda one: one[0], default=(math.inf, None))
        is_solved = least <= limit
        trials.append(Trial(is_solved, min(least, limit), cost if is_solved else None))
    return Score(tuple(trials))

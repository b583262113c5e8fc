"""Which searches to use: they take turns, so they should complement each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from hstar.learning.trials import DEFAULT_SEARCHER, Score, Trial, cheapest

MOST_CANDIDATES = 2  # that take turns


@dataclass(frozen=True, slots=True)
class Candidate:
    """The name of a model, None for a search that needs none, and the options of the search."""

    model: str | None
    search: tuple[tuple[str, Any], ...]

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.search)

    @property
    def label(self) -> str:
        return f"{self.model or 'no model'}, {search_text(self.options)}"


def search_text(search: Mapping[str, Any]) -> str:
    """Such as "gbfs, preferred by ff"."""
    said = {
        "heuristic": " with {}",
        "preferred_by": ", preferred by {}",
        "follow": ", following",
        "ranked": ", ranked",
    }
    known = (text.format(search[name]) for name, text in said.items() if search.get(name))
    return "".join([str(search["algorithm"]), *known])


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

    def search(self) -> dict[str, Any]:
        """As a model file names it, in turns with the default planner."""
        first, *others = ({"cost": "one", **one.options} for one in self.candidates)
        return {**first, "beside": [*others, dict(DEFAULT_SEARCHER.search)]}


def choose_schedule(scores: Mapping[Candidate, Score], limit: float) -> Schedule | None:
    """Those that solve most in turns with each other. None without any."""
    length = max((len(score.trials) for score in scores.values()), default=0)
    found: dict[Schedule, Score] = {}
    for count in range(1, MOST_CANDIDATES + 1):
        for chosen in combinations(scores, count):
            if len({one.model for one in chosen if one.model is not None}) <= 1:
                score = in_turns([scores[one] for one in chosen], length, limit)
                found[Schedule(chosen)] = score
    best: Schedule | None = cheapest(found) if found else None
    return best


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
        found = ((factor * one.spent, one.cost) for factor, one in tried if one.solved)
        least, cost = min(found, key=lambda one: one[0], default=(math.inf, None))
        is_solved = least <= limit
        trials.append(Trial(is_solved, min(least, limit), cost if is_solved else None))
    return Score(tuple(trials))


def padded(score: Score, length: int, limit: float) -> Score:
    """On so many trials; what a lower climb did not try counts as failed."""
    return Score((*score.trials, *[Trial(False, limit)] * (length - len(score.trials))))

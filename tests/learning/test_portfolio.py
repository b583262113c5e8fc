"""Which searches take turns, and what they score together."""

from __future__ import annotations

from typing import Any

from hstar.learning.portfolio import Candidate, choose_schedule, estimate_in_turns
from hstar.learning.trials import Score, Trial
from hstar.planning.specification import DEFAULT_PLANNER, SearchSpecification


def candidate(model: str | None, **search: Any) -> Candidate:
    return Candidate(model, SearchSpecification(cost="one", **search))


PLAIN = candidate(None, algorithm="lazy", heuristic="ff")


def score(*seconds: float | None) -> Score:
    return Score(tuple(Trial(s is not None, 10.0 if s is None else s) for s in seconds))


def test_searches_in_turns() -> None:
    quick, robust = score(1, None, None, 4), score(3, 3, None)
    both = estimate_in_turns([quick, robust], 5, 10.0)
    assert [(t.solved, t.spent) for t in both.trials] == [
        (True, 2), (True, 6), (False, 10), (True, 8), (False, 10),
    ]  # fmt: skip
    beside = estimate_in_turns([quick], 4, 10.0, score(9, 1))
    assert [(t.solved, t.spent) for t in beside.trials] == [
        (True, 2), (True, 2), (False, 10), (True, 8),
    ]  # fmt: skip
    dear, cheap = (Score((Trial(True, s, cost),)) for s, cost in ((1.0, 7.0), (4.0, 5.0)))
    assert estimate_in_turns([dear], 1, 10.0, cheap).trials == (Trial(True, 2.0, 7.0),)
    assert estimate_in_turns([cheap], 1, 10.0, dear).trials == (Trial(True, 2.0, 7.0),)
    assert estimate_in_turns([cheap], 1, 1.0).trials == (Trial(False, 1.0),)
    late = estimate_in_turns([score(9.9, None)], 2, 10.0, score(None, 9.9))
    assert [(t.solved, t.spent) for t in late.trials] == [(False, 10), (False, 10)]


def test_the_schedule_that_solves_most_is_chosen() -> None:
    gbfs, beam, lazy = (candidate("one", algorithm=name) for name in ("gbfs", "beam", "lazy"))
    two = candidate("two", algorithm="gbfs")
    scores = {
        gbfs: score(1, 1, None, None),
        beam: score(1, 1, None, None),
        lazy: score(None, None, 5),
        two: score(4, 4, None, None),
    }
    chosen = choose_schedule(scores, 10.0)
    assert chosen is not None and chosen.candidates == (gbfs, lazy) and chosen.model == "one"
    search = chosen.search()
    assert search.algorithm == "gbfs" and search.alternating[0].algorithm == "lazy"
    assert search.alternating[-1] == DEFAULT_PLANNER
    alone = choose_schedule({two: scores[two]}, 10.0)
    assert alone is not None and alone.candidates == (two,)
    assert choose_schedule({}, 10.0) is None


def test_models_do_not_mix_in_a_schedule() -> None:
    one, two, none = candidate("one", algorithm="gbfs"), candidate("two", algorithm="gbfs"), PLAIN
    scores = {one: score(1, None, None), two: score(None, 1, None), none: score(None, None, 5)}
    chosen = choose_schedule(scores, 10.0)
    assert chosen is not None and chosen.candidates == (one, none) and chosen.model == "one"
    chosen = choose_schedule({none: scores[none]}, 10.0)
    assert chosen is not None and chosen.model is None
    assert chosen.search().heuristic == "ff"

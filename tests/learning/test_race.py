"""The race of candidates, and trials on a rung that the time cuts short."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from label_folders import write_folder

from hstar.learning.race import (
    FIRST_RUNG,
    KEPT,
    Ladder,
    Rung,
    RungTrials,
    problem_starts,
    race,
)
from hstar.learning.trials import DEFAULT_SEARCHER, Effort, Searcher, Trial, Workers, is_spent
from hstar.pddl import Problem, parse
from hstar.planning.specification import SearchSpecification
from hstar.runtime.pool import Pool

LIMIT = 10.0
CANDIDATES = [f"model {number}" for number in range(20)]


def problems_in(folder: Path) -> list[Problem]:
    write_folder(folder, "blocks", 10)
    return [parse(folder / "domain.pddl", path) for path in sorted(folder.glob("p*.pddl"))]


def ladder_of(problems: list[Problem]) -> Ladder:
    return Ladder("race", problem_starts("race", problems), 0)


class Rungs:
    """str i takes i + 1 seconds and solves the first `reach[i]` rungs. Counts who was tried;
    from rung `end` on there is no time."""

    def __init__(self, reach: Sequence[int], end: int = 1000, tried_last: int = 0) -> None:
        self.reach, self.end, self.tried_last = reach, end, tried_last
        self.tried: list[list[str]] = []

    def __call__(self, rung: Rung, alive: Sequence[str]) -> dict[str, list[Trial]]:
        number = len(self.tried)
        if number >= self.end:
            return {one: self.trials(one, number)[:1] for one in alive[: self.tried_last]}
        self.tried.append(list(alive))
        return {one: self.trials(one, number) * len(rung.starts) for one in alive}

    def trials(self, one: str, number: int) -> list[Trial]:
        place = CANDIDATES.index(one)
        is_solved = number < self.reach[place]
        return [Trial(is_solved, place + 1.0 if is_solved else LIMIT)]


def test_the_best_go_on(tmp_path: Path) -> None:
    ladder = ladder_of(problems_in(tmp_path / "p"))
    rungs = Rungs([2] * 18 + [0, 5])
    scores = race(CANDIDATES, ladder, rungs, LIMIT)
    assert rungs.tried[0] == CANDIDATES
    assert rungs.tried[1] == CANDIDATES[: KEPT[0]]  # the quickest of those that solve something
    assert rungs.tried[2] == CANDIDATES[: KEPT[1]] and len(rungs.tried) == 3
    assert len({len(score.trials) for score in scores.values()}) == 1
    assert scores[CANDIDATES[0]].solved > scores[CANDIDATES[KEPT[0]]].solved == FIRST_RUNG
    assert scores[CANDIDATES[18]].solved == 0
    assert all(not t.solved and t.spent == LIMIT for t in scores[CANDIDATES[18]].trials)


def test_a_rung_for_which_time_was_too_short_counts_for_nobody(tmp_path: Path) -> None:
    ladder = ladder_of(problems_in(tmp_path / "p"))
    scores = race(CANDIDATES, ladder, Rungs([5] * 20, end=1, tried_last=3), LIMIT)
    assert {len(score.trials) for score in scores.values()} == {FIRST_RUNG}
    # With nothing else, those that were tried are compared.
    scores = race(CANDIDATES, ladder, Rungs([5] * 20, end=0, tried_last=3), LIMIT)
    assert [one for one in scores if scores[one].solved] == CANDIDATES[:3]
    assert race(CANDIDATES, ladder, Rungs([5] * 20, end=0), LIMIT) == {}


def test_a_rung_of_one_problem_that_some_have_not_tried(tmp_path: Path) -> None:
    ladder = ladder_of(problems_in(tmp_path / "p")[:1])
    scores = race(CANDIDATES, ladder, Rungs([5] * 20, end=0, tried_last=3), LIMIT)
    assert [one for one in scores if scores[one].solved] == CANDIDATES[:3]
    assert {len(score.trials) for score in scores.values()} == {1}


def test_trials_cover_the_first_problems_of_a_rung(tmp_path: Path) -> None:
    rung = ladder_of(problems_in(tmp_path / "p")).rung(0)
    assert rung is not None
    following = SearchSpecification("ff", "lazy", look_ahead=True)
    ways = {"one": DEFAULT_SEARCHER, "two": Searcher(following)}
    kept: dict[str, bytes] = {}
    shown: list[str] = []

    def found(most: int) -> dict[str, list[Trial]]:
        left = iter(range(most))
        with Pool(1, is_spent) as pool:
            watch: Any = SimpleNamespace(read=kept.get, keep=kept.__setitem__, show=shown.append)
            trials = RungTrials(Workers(pool, shown.append), watch, LIMIT)
            effort = Effort(60.0, None, 2**30)
            return trials.on_rung(rung, ways, effort, lambda: next(left, None) is not None)

    assert found(0) == {} and not shown
    first = found(1)
    assert list(first) == ["one"] and len(first["one"]) == 1 and first["one"][0].solved
    some = found(4)  # with the one from the journal, two problems and a half
    assert {name: len(made) for name, made in some.items()} == {"one": 2, "two": 2}
    assert some["one"][0] == first["one"][0]
    everything = found(1000)
    assert all(len(made) == len(rung.starts) for made in everything.values())
    assert all(trial.solved for made in everything.values() for trial in made)
    assert len(shown) == 2 * len(rung.starts) == len(kept)

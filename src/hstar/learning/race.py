"""A race of candidates on a ladder of growing problems.

All candidates start on the first rung, with little time for each search. Candidates that solve
nothing on a rung are dropped, and of the others the best go on to the next. So most of the time
goes to the largest problems that anyone solves, which tell most about even larger ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from numpy.random import default_rng  # its import swallows signals, so not during a run

from hstar.learning.options import Watch
from hstar.learning.trials import (
    Effort,
    MayStart,
    Score,
    Searcher,
    Start,
    Trial,
    Workers,
    try_search,
)
from hstar.pddl import Problem
from hstar.pddl.union import union

FIRST_RUNG, OTHER_RUNGS = 6, 3  # problems on a rung
STATES = 8  # of one problem, on both rungs of a draw
MOST_DRAWS = 4  # of problems of one size
MOST_RUNGS = 8
MOST_OBJECTS = 2000
KEPT = (14, 9, 6)  # candidates that go on after the first rungs; the last number holds for the rest


@dataclass(frozen=True, slots=True)
class Rung:
    """Starts of about one size; the name is its own."""

    name: str
    starts: tuple[Start, ...]


@dataclass(frozen=True, slots=True)
class Ladder:
    """Problems of growing size. The first rung has problems as they are. The next ones have unions
    of two, four, eight and more of them (hstar.pddl.union): a folder seldom has problems as large
    as those that a user wants to solve. Where unions can be joined at the atoms of the predicates
    `single`, so that what is single stays so, some are and some are not: joined ones are more like
    a problem of the domain, but may have no plan.

    `starts` are in ascending order of size. States of one problem have no unions; half of them are
    on the first rung, half on the second. `last` is on a rung of its own above all others."""

    name: str
    starts: Sequence[Start]
    seed: int
    single: Sequence[str] = ()
    last: Start | None = None

    def rung(self, number: int, draw: int = 0) -> Rung | None:
        """None above the last one. Further draws have other problems of the same size."""
        of_states = any(start.state is not None for start in self.starts)
        above = 2 if of_states else MOST_RUNGS
        starts: Sequence[Start] = ()
        if of_states and number < above:
            first = draw * STATES + number * (STATES // 2)
            starts = self.starts[first : first + STATES // 2]
        elif number == 0:
            end = max(0, len(self.starts) - draw * FIRST_RUNG)
            starts = self.starts[max(0, end - FIRST_RUNG) : end]
        elif number < above:
            starts = self._unions(number, draw)
        elif number == above and self.last is not None:
            return Rung(f"{self.name} itself", (self.last,))
        again = f" draw {draw}" if draw else ""
        return Rung(f"{self.name} {number}{again}", tuple(starts)) if starts else None

    def _unions(self, number: int, draw: int) -> list[Start]:
        """A problem may be part of a union more than once if there are too few."""
        parts = 2**number
        rng = default_rng([self.seed, parts, draw] if draw else [self.seed, parts])
        problems = [start.problem for start in self.starts]
        found: list[Start] = []
        for place in range(OTHER_RUNGS):
            few = parts > len(problems)
            drawn = sorted(rng.choice(len(problems), parts, replace=few).tolist())
            chosen = [problems[i] for i in drawn]
            if sum(len(problem.objects) for problem in chosen) <= MOST_OBJECTS:
                joined = union(chosen, self.single if place % 2 == 0 else ())
                name = (self.name, number, draw, len(found))
                found.append(Start(name, joined, is_union=True))
        return found


def problem_starts(name: str, problems: Sequence[Problem]) -> list[Start]:
    return [Start((name, number), problem) for number, problem in enumerate(problems)]


@dataclass
class RungTrials:
    """Trials on rungs by worker processes, kept in a journal. `limit` is what a failed trial counts
    for. `made` has all trials so far, by rung, searcher and number of the start."""

    workers: Workers
    watch: Watch
    limit: float
    made: dict[tuple[str, str, int], Trial] = field(default_factory=dict)

    def on_rung(
        self, rung: Rung, searchers: Mapping[str, Searcher], effort: Effort, may_start: MayStart
    ) -> dict[str, list[Trial]]:
        """Trials of all searchers on the first starts of a rung, as many as there was time for. If
        that is none, of the searchers that were tried on the first start."""
        made: dict[tuple[str, int], Trial] = {}
        jobs = []
        for i, start in enumerate(rung.starts):
            for name, searcher in searchers.items():
                kept = self.watch.read(f"{rung.name} {i} {name}")
                if kept is not None:
                    made[name, i] = self.made[rung.name, name, i] = Trial(*json.loads(kept))
                else:
                    jobs.append(((name, i), start, searcher))
        count = len(made) + len(jobs)
        for (name, i), answer in self.workers.answers(try_search, jobs, effort, may_start):
            trial = answer if answer.solved else Trial(False, self.limit)
            made[name, i] = self.made[rung.name, name, i] = trial
            held = json.dumps([trial.solved, trial.spent, trial.cost])
            self.watch.keep(f"{rung.name} {i} {name}", held.encode())
            solved = sum(one.solved for one in made.values())
            self.watch.show(f"{rung.name}, {name}: {solved} solved, {len(made)} of {count} tried")
        lost = [key for key, *_ in jobs if key not in made] if may_start() else []
        for key in lost:  # whose workers died again and again
            made[key] = Trial(False, self.limit)
        tried = 0
        while tried < len(rung.starts) and all((name, tried) in made for name in searchers):
            tried += 1
        if not tried:
            return {name: [made[name, 0]] for name in searchers if (name, 0) in made}
        return {name: [made[name, i] for i in range(tried)] for name in searchers}

    def scores_so_far(self, names: Sequence[str], ladder: str) -> dict[str, Score]:
        """Of those that were tried on a ladder, whatever was tried; the rest counts as failed."""
        places = {(r, i) for r, name, i in self.made if name in names and r.startswith(ladder)}
        failed = Trial(False, self.limit)
        return {
            name: Score(tuple(self.made.get((r, name, i), failed) for r, i in sorted(places)))
            for name in names
            if any(found == name and r.startswith(ladder) for r, found, _ in self.made)
        }


def race(
    candidates: Sequence[str],
    ladder: Ladder,
    try_rung: Callable[[Rung, Sequence[str]], dict[str, list[Trial]]],
    limit: float,
) -> dict[str, Score]:
    """Scores on all rungs that were tried; whoever is dropped fails. `try_rung` makes the trials,
    of fewer problems or candidates if the time is over; a failed trial counts for `limit`."""
    trials: dict[str, list[Trial]] = {one: [] for one in candidates}
    alive = list(candidates)
    number = 0
    while alive and (rung := ladder.rung(number)) is not None:
        found = try_rung(rung, alive)
        tried = max(map(len, found.values()), default=0)
        if not tried or (number and len(found) < len(alive)):
            break
        failed = [Trial(False, limit)] * tried
        for one in trials:
            trials[one] += found.get(one, failed)
        if tried < len(rung.starts) or len(found) < len(alive):
            break
        scores = {one: Score(tuple(trials[one])) for one in alive}
        alive = [one for one in alive if any(trial.solved for trial in found[one])]
        alive.sort(key=lambda one: scores[one].rank)
        alive = alive[: KEPT[min(number, len(KEPT) - 1)]]
        number += 1
    return {one: Score(tuple(made)) for one, made in trials.items() if made}

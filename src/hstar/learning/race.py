"""A race of candidates on a ladder of growing problems.

All candidates start on the first rung, with little time for each search. Those that solve nothing
on a rung are out, and of the others the best go on to the next. So most of the time goes to the
largest problems that anyone solves, which tell most about problems that are larger still.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hstar.learning.candidates import Candidate
from hstar.learning.ladder import Ladder, Rung
from hstar.learning.trials import Score, Trial

KEPT = (14, 9, 6)  # candidates that go on after the first rungs; the last number holds for the rest

TryRung = Callable[[Rung, Sequence[Candidate]], dict[Candidate, list[Trial]]]


def race(
    candidates: Sequence[Candidate], ladder: Ladder, try_rung: TryRung, limit: float
) -> dict[Candidate, Score]:
    """Scores on all rungs that were tried; who is out fails. `try_rung` makes the trials, of fewer
    problems or candidates if the time is over; a failed trial counts for `limit`."""
    trials: dict[Candidate, list[Trial]] = {one: [] for one in candidates}
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
        if tried < len(rung.problems) or len(found) < len(alive):
            break
        scores = {one: Score(tuple(trials[one])) for one in alive}
        alive = [one for one in alive if any(trial.solved for trial in found[one])]
        alive.sort(key=lambda one: (-scores[one].solved, scores[one].seconds))
        alive = alive[: KEPT[min(number, len(KEPT) - 1)]]
        number += 1
    return {one: Score(tuple(made)) for one, made in trials.items() if made}

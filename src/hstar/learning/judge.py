"""The verdict: whether a learned search beats the default planner, on problems that chose nothing.

    solved   problems that only one of the two solves
    effort   time, or work, on problems that both solve
    cost     of plans, on problems that both solve

Each difference is weighed by a sign test, so that the verdict says how sure it is. Unions of small
problems only stand for large ones, so they weigh half as much as real problems. The default planner
is kept unless the learned search is better at something and worse at nothing that counts as much.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from hstar.learning.portfolio import estimate_in_turns
from hstar.learning.race import MOST_DRAWS, Ladder, Rung
from hstar.learning.trials import DEFAULT_SEARCHER, Score, Searcher, Start, Trial, mean_ratio
from hstar.planning.result import NOTICEABLE
from hstar.planning.specification import DEFAULT

UNION_WEIGHT = 0.5
SURE, LIKELY = 0.05, 0.25  # chances that a difference means nothing
EXPENSIVE = 1.2  # times the default's plan cost: a gain that is paid for
LEAST_DIFFERENCE = 0.02  # seconds; reading a model takes as long
MORE, FASTER, CHEAPER = "solves more", "is faster", "finds cheaper plans, as fast"
AS_MANY = "solves as many, faster"
GAINS = {  # and what they are good for
    **{MORE: "solving more", CHEAPER: "the cost of plans"},
    **{FASTER: "time", AS_MANY: "time"},
}

# What searches make of a rung, with so many times the usual limit.
OnRung = Callable[[Rung, Mapping[str, Searcher], int], dict[str, list[Trial]]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """`use` is "learned", "default", "trade" (better at one thing, worse at another; the search is
    the learned one) or "unknown" (not compared). `chance` is that of a difference as large without
    any real one. Efforts are means in `unit`; the ratios, learned / default, may be unknown."""

    use: str
    sentence: str
    problems: int = 0
    learned_solved: int = 0
    default_solved: int = 0
    learned_effort: float | None = None
    default_effort: float | None = None
    effort_ratio: float | None = None
    cost_ratio: float | None = None
    chance: float | None = None
    unions: int = 0
    unit: str = "s"


class Difference:
    """Of signs, one a problem: 1 where learning is better, 0 where nothing counts; and weights.

    `chance` is that of random signs that add up to as much: normal approximation with a continuity
    correction, close to the exact binomial for equal weights. `favours` is 1 if learning is likely
    better, -1 if the default planner is, 0 if neither.
    """

    def __init__(self, signs: Sequence[int], weights: Sequence[float]) -> None:
        counted = [(s, w) for s, w in zip(signs, weights, strict=True) if s]
        self.signs = len(counted)  # that count
        self.sum = sum(s * w for s, w in counted)
        self.chance = 0.5
        if counted:
            spread = math.sqrt(sum(w * w for _, w in counted))
            beyond = max(0.0, abs(self.sum) - max(w for _, w in counted))
            self.chance *= math.erfc(beyond / spread / math.sqrt(2))
        self.favours = (self.sum > 0) - (self.sum < 0) if self.chance <= LIKELY else 0


@dataclass(frozen=True, slots=True)
class Weighing:
    """Of trials of the same problems. The ratios, learned / default, are of what both solve."""

    solved: Difference
    effort: Difference
    cost: Difference
    effort_ratio: float | None
    cost_ratio: float | None

    def result(self) -> tuple[str, float]:
        """What learning is better at, one of GAINS, or else how it fails; and the chance that this
        is nothing."""
        if self.solved.favours:
            return (MORE if self.solved.favours > 0 else "solves fewer"), self.solved.chance
        time, cost = self.effort_ratio, self.cost_ratio
        if time is None:
            return "is not noticeably better", self.solved.chance
        if self.effort.favours > 0 and time * NOTICEABLE <= 1:
            return (FASTER if self.solved.signs else AS_MANY), self.effort.chance
        if self.effort.favours < 0 and time >= NOTICEABLE:
            return f"takes {time:.2g} times as long where both solve", self.effort.chance
        if self.cost.favours > 0 and cost is not None and cost * NOTICEABLE <= 1:
            return CHEAPER, self.cost.chance
        return "is not noticeably better", max(self.solved.chance, self.effort.chance)

    def prices(self, gain: str) -> Iterator[str]:
        """What a gain is paid with. In turns with the default planner, time at most doubles."""
        cost = self.cost_ratio
        if self.solved.sum < 0:
            yield "solved fewer"
        if gain != CHEAPER and cost is not None and cost >= EXPENSIVE:
            yield f"plans cost {cost:.2g} times as much"


def weigh(learned: Score, default: Score, unions: Sequence[bool], unit: str) -> Verdict:
    """The verdict on trials of the same problems."""
    weights = [UNION_WEIGHT if is_union else 1.0 for is_union in unions]
    pairs = list(zip(learned.trials, default.trials, strict=True))
    found = Weighing(
        Difference([a.solved - b.solved for a, b in pairs], weights),
        Difference([_faster(a, b, unit) for a, b in pairs], weights),
        Difference([_less(a.cost, b.cost) for a, b in pairs], weights),
        mean_ratio([(a.spent, b.spent) for a, b in pairs if a.solved and b.solved]),
        learned.cost_ratio(default),
    )
    result, chance = found.result()
    use, advice = DEFAULT, f"learning {result}: keep the default"
    if result in GAINS:
        prices = list(found.prices(result))
        use = "trade" if prices else "learned"
        where = f" where {GAINS[result]} matters" if prices else ""
        advice = f"it {', but '.join([result, *prices])}: use it{where}"
    says = f"learned {learned.text(unit)}; default planner {default.text(unit)}"
    if found.cost_ratio is not None:
        says += f"; plans cost {found.cost_ratio:.2f} times the default's"
    says += f": {advice}{_sureness(chance, unions)}"
    counts = len(pairs), learned.solved, default.solved
    efforts = learned.spent, default.spent, found.effort_ratio, found.cost_ratio
    return Verdict(use, says, *counts, *efforts, chance, sum(unions), unit)


def _sureness(chance: float, unions: Sequence[bool]) -> str:
    word = "clear" if chance <= SURE else "likely" if chance <= LIKELY else "may be chance"
    if unions and all(unions):
        word += ", seen on unions of small problems only"
    return f" ({word})"


def _less(a: float | None, b: float | None) -> int:
    """1 if a is noticeably less than b, -1 if b is than a."""
    if a is None or b is None:
        return 0
    return (a * NOTICEABLE <= b) - (b * NOTICEABLE <= a)


def _faster(a: Trial, b: Trial, unit: str) -> int:
    """1 if both solve the problem and a takes noticeably less, -1 if b does."""
    if not (a.solved and b.solved):
        return 0
    if unit == "s" and abs(a.spent - b.spent) < LEAST_DIFFERENCE:
        return 0
    return _less(a.spent, b.spent)


class Contest:
    """What each search, and DEFAULT for the default planner, made of one start within a limit. The
    learned trial is that of all in turns."""

    def __init__(self, start: Start, limit: float, trials: Mapping[str, Trial]) -> None:
        self.start, self.default = start, trials[DEFAULT]
        own = [Score((trial,)) for name, trial in trials.items() if name != DEFAULT]
        self.learned = estimate_in_turns(own, 1, limit, Score((self.default,))).trials[0]


@dataclass
class Judge:
    """Compares searches in turns with the default planner alone, on problems of a ladder.

    Whoever solves nothing on a rung fails on all above it. Where nobody solves half of the
    problems, those that nobody solves are tried again, `longer` times as long. Further problems of
    the same sizes are tried until the verdict is sure, or until the time is over: then `on_rung`
    has no more trials."""

    searchers: Mapping[str, Searcher]
    ladder: Ladder
    on_rung: OnRung
    limit: float
    unit: str
    longer: Sequence[int] = ()

    def __post_init__(self) -> None:
        self.ways = {DEFAULT: DEFAULT_SEARCHER, **self.searchers}
        self.contests: list[Contest] = []
        self.top = 0  # the highest rung of the first climb

    def verdicts(self) -> Iterator[Verdict]:
        """One after each draw of problems, on all problems so far; none without any trial."""
        for draw in range(MOST_DRAWS):
            is_over = self._climb(draw) or self._try_longer(draw)
            found = self._weigh() if self.contests else None
            if found is not None:
                yield found
            if is_over or (found is not None and (found.chance or 0.0) <= SURE):
                break

    def _climb(self, draw: int) -> bool:
        """Whether the time is over."""
        alive = list(self.ways)
        for number in range(self.top + 1) if draw else count():
            rung = self.ladder.rung(number, draw)
            if not alive or (rung is None and not draw):
                break
            if rung is None:  # no more problems of this size, but other unions
                continue
            found = self.on_rung(rung, {name: self.ways[name] for name in alive}, 1)
            tried = max(map(len, found.values())) if len(found) == len(alive) else 0
            failed = dict.fromkeys(self.ways, Trial(False, self.limit))
            for i, start in enumerate(rung.starts[:tried]):
                trials = failed | {name: made[i] for name, made in found.items()}
                self.contests.append(Contest(start, self.limit, trials))
            if tried < len(rung.starts):
                return True
            alive = [name for name in alive if any(one.solved for one in found[name])]
            self.top = max(self.top, number)
        return False

    def _try_longer(self, draw: int) -> bool:
        """Whether the time is over."""
        for times in self.longer:
            unsolved = [
                i
                for i, one in enumerate(self.contests)
                if not (one.default.solved or one.learned.solved)
            ]
            if 2 * len(unsolved) < len(self.contests):
                break
            again = f" draw {draw}" if draw else ""
            starts = tuple(self.contests[i].start for i in unsolved)
            rung = Rung(f"{self.ladder.name} unsolved{again}", starts)
            found = self.on_rung(rung, self.ways, times)
            if len(found) < len(self.ways):
                return True
            for i, *trials in zip(unsolved, *found.values(), strict=False):
                made = dict(zip(found, trials, strict=True))
                self.contests[i] = Contest(self.contests[i].start, times * self.limit, made)
            if len(found[DEFAULT]) < len(unsolved):
                return True
        return False

    def _weigh(self) -> Verdict:
        learned = Score(tuple(one.learned for one in self.contests))
        default = Score(tuple(one.default for one in self.contests))
        unions = [one.start.is_union for one in self.contests]
        return weigh(learned, default, unions, self.unit)

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from hstar.learning.portfolio import in_turns
from hstar.learning.race import MOST_DRAWS, Ladder, Rung
from hstar.learning.trials import DEFAULT_SEARCHER, Score, Searcher, Start, Trial
from hstar.planning.result import NOTICEABLE

UNION_WEIGHT = 0.5
SURE, LIKELY = 0.05, 0.25  # chances that a difference means nothing
EXPENSIVE = 1.2  # times the default's plan cost: a gain that is paid for
LEAST_DIFFERENCE = 0.02  # seconds; reading a model takes as long
DEFAULT = "default"

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
        self.sum = sum(s * w for s, w in counted)
        self.chance = 0.5
        if counted:
            spread = math.sqrt(sum(w * w for _, w in counted))
            beyond = max(0.0, abs(self.sum) - max(w for _, w in counted))
            self.chance *= math.erfc(beyond / spread / math.sqrt(2))
        self.favours = (self.sum > 0) - (self.sum < 0) if self.chance <= LIKELY else 0


def weigh(learned: Score, default: Score, unions: Sequence[bool], unit: str) -> Verdict:
    """The verdict on trials of the same problems."""
    weights = [UNION_WEIGHT if is_union else 1.0 for is_union in unions]
    pairs = list(zip(learned.trials, default.trials, strict=True))
    solved = Difference([a.solved - b.solved for a, b in pairs], weights)
    effort = Difference([_faster(a, b, unit) for a, b in pairs], weights)
    both = [(a, b) for a, b in pairs if a.solved and b.solved]
    ratio = mean_ratio([(a.spent, b.spent) for a, b in both])
    cost_ratio = learned.cost_ratio(default)
    gain, loss, chance = _balance(solved, effort, ratio, cost_ratio)
    is_expensive = cost_ratio is not None and cost_ratio >= EXPENSIVE
    use = DEFAULT
    if gain and not loss:
        use = "trade" if is_expensive and "plans" not in gain else "learned"
    says = f"learned {learned.text(unit)}; default planner {default.text(unit)}"
    if cost_ratio is not None:
        says += f"; plans cost {cost_ratio:.2f} times the default's"
    says += f": {_advice(use, gain, loss, cost_ratio)}{_sureness(chance, unions)}"
    counts = len(pairs), learned.solved, default.solved
    efforts = learned.spent, default.spent, ratio, cost_ratio
    return Verdict(use, says, *counts, *efforts, chance, sum(unions), unit)


def _balance(
    solved: Difference, effort: Difference, ratio: float | None, cost_ratio: float | None
) -> tuple[str, str, float]:
    """What learning gains and what it loses, if anything, and the chance that this is nothing."""
    if solved.favours > 0:
        return "solves more", "", solved.chance
    if solved.favours < 0:
        return "", "solves fewer", solved.chance
    if ratio is None:
        return "", "is not noticeably better", solved.chance
    if effort.favours > 0 and ratio * NOTICEABLE <= 1:
        return "solves as many, faster", "", effort.chance
    if effort.favours < 0 and ratio >= NOTICEABLE:
        return "", f"takes {ratio:.2g} times as long", effort.chance
    if cost_ratio is not None and cost_ratio * NOTICEABLE <= 1:
        return "finds cheaper plans, as fast", "", effort.chance
    return "", "is not noticeably better", max(solved.chance, effort.chance)


def _advice(use: str, gain: str, loss: str, cost_ratio: float | None) -> str:
    if use == "learned":
        return f"it {gain}: use it"
    if use == "trade":
        what = "solving more" if gain == "solves more" else "time"
        return (
            f"it {gain}, but plans cost {cost_ratio:.2g} times as much: use it where {what} matters"
        )
    return f"learning {loss}: keep the default"


def _sureness(chance: float, unions: Sequence[bool]) -> str:
    word = "clear" if chance <= SURE else "likely" if chance <= LIKELY else "may be chance"
    if unions and all(unions):
        word += ", seen on unions of small problems only"
    return f" ({word})"


def _faster(a: Trial, b: Trial, unit: str) -> int:
    """1 if both solve the problem and a takes noticeably less, -1 if b does."""
    if not (a.solved and b.solved):
        return 0
    if unit == "s" and abs(a.spent - b.spent) < LEAST_DIFFERENCE:
        return 0
    if max(a.spent, b.spent) < NOTICEABLE * min(a.spent, b.spent):
        return 0
    return 1 if a.spent < b.spent else -1


def mean_ratio(pairs: Sequence[tuple[float, float]], least: float = 1e-3) -> float | None:
    """The geometric mean of a / b; numbers below the least, which say nothing, count as that."""
    if not pairs:
        return None
    return math.exp(sum(math.log(max(a, least) / max(b, least)) for a, b in pairs) / len(pairs))


class Contest:
    """What each search, and DEFAULT for the default planner, made of one start within a limit. The
    learned trial is that of all in turns."""

    def __init__(self, start: Start, limit: float, trials: Mapping[str, Trial]) -> None:
        self.start, self.default = start, trials[DEFAULT]
        own = [Score((trial,)) for name, trial in trials.items() if name != DEFAULT]
        self.learned = in_turns(own, 1, limit, Score((self.default,))).trials[0]


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

    def verdict(self) -> Verdict | None:
        """None without any trial."""
        found = None
        for draw in range(MOST_DRAWS):
            is_over = self._climb(draw) or self._try_longer(draw)
            found = self._weigh() if self.contests else None
            if is_over or (found is not None and (found.chance or 0.0) <= SURE):
                break
        return found

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

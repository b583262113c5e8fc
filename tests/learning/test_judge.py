"""The verdict: what it weighs, how sure it is, and what it says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from label_folders import write_folder

from hstar.learning.judge import DEFAULT, Difference, Judge, OnRung, Verdict, weigh
from hstar.learning.race import Ladder, Rung, problem_starts
from hstar.learning.recipe import RECIPES
from hstar.learning.trials import Score, Searcher, Trial
from hstar.pddl import Problem, parse

GREEDY = RECIPES["domain"].searches[0]
LIMIT = 10.0
Solved = tuple[float, float]  # seconds, plan cost


def score(*trials: Solved | None) -> Score:
    return Score(tuple(Trial(t is not None, *(t or (LIMIT, None))) for t in trials))


def verdict(learned: Score, default: Score, unions: int = 0) -> Verdict:
    """The last problems are unions."""
    count = len(learned.trials)
    return weigh(learned, default, [i >= count - unions for i in range(count)], "s")


QUICK, SLOW = (0.1, 10.0), (1.0, 10.0)


def test_more_solved_is_worth_it() -> None:
    found = verdict(score(*[SLOW] * 8), score(*[SLOW] * 3, *[None] * 5))
    assert found.use == "learned" and found.sentence.endswith("it solves more: use it (clear)")
    assert (found.problems, found.learned_solved, found.default_solved) == (8, 8, 3)
    assert verdict(score(*[None] * 5, SLOW), score(*[SLOW] * 6)).use == "default"


def test_as_many_solved_but_faster_is_worth_it() -> None:
    found = verdict(score(*[QUICK] * 6), score(*[SLOW] * 6))
    assert found.use == "learned" and "solves as many, faster: use it" in found.sentence
    assert found.effort_ratio == pytest.approx(0.1)
    slower = verdict(score(*[SLOW] * 6), score(*[QUICK] * 6))
    assert (
        slower.use == "default"
        and "takes 10 times as long where both solve: keep" in slower.sentence
    )
    for seconds in (0.95, 1.03):
        same = verdict(score(*[(seconds, 10.0)] * 6), score(*[SLOW] * 6))
        assert same.use == "default" and "is not noticeably better" in same.sentence


@pytest.mark.parametrize("more_solved", [False, True])
def test_a_gain_that_is_paid_with_expensive_plans_is_a_trade(more_solved: bool) -> None:
    default = [SLOW] * (3 if more_solved else 8) + [None] * (5 if more_solved else 0)
    found = verdict(score(*[(0.1, 14.0)] * 8), score(*default))
    assert found.use == "trade" and found.cost_ratio == pytest.approx(1.4)
    gain = "solves more" if more_solved else "solves as many, faster"
    where = "solving more" if more_solved else "time"
    said = f"it {gain}, but plans cost 1.4 times as much: use it where {where} matters"
    assert said in found.sentence
    slightly = verdict(score(*[(0.1, 11.0)] * 8), score(*[SLOW] * 8))
    assert slightly.use == "learned" and "plans cost 1.10 times the default's" in slightly.sentence


def test_a_gain_in_time_that_may_lose_problems_is_a_trade() -> None:
    """One lost problem may be chance, and yet it is not "as many"."""
    for count in (8, 12):
        found = verdict(score(*[QUICK] * (count - 1), None), score(*[SLOW] * count))
        assert found.use == "trade"
        says = "it is faster, but solved fewer: use it where time matters (clear)"
        assert found.sentence.endswith(says)
    more = verdict(score(*[QUICK] * 8), score(*[SLOW] * 7, None))
    assert more.use == "learned" and "it is faster: use it (clear)" in more.sentence


def test_slower_and_dearer_is_never_worth_it() -> None:
    for seconds, cost, solved in product((1.0, 1.5, 9.0), (10.0, 12.0, 30.0), (5, 8)):
        learned = score(*[(seconds, cost)] * solved, *[None] * (8 - solved))
        assert verdict(learned, score(*[SLOW] * 8)).use == "default"


def test_cheaper_plans_in_the_same_time_are_worth_it() -> None:
    found = verdict(score(*[(1.0, 7.0)] * 8), score(*[SLOW] * 8))
    assert found.use == "learned"
    assert found.sentence.endswith("it finds cheaper plans, as fast: use it (clear)")
    one = verdict(score((1.0, 2.0), *[SLOW] * 7), score(*[SLOW] * 8))  # one plan may be chance
    assert one.cost_ratio is not None and one.cost_ratio < 0.9 and one.use == "default"


def test_one_more_of_twelve_may_be_chance() -> None:
    one = verdict(score(*[SLOW] * 9, *[None] * 3), score(*[SLOW] * 8, *[None] * 4))
    assert one.use == "default" and one.sentence.endswith("keep the default (may be chance)")
    assert verdict(score(*[SLOW] * 8, None), score(*[SLOW] * 8, None)).use == "default"


def test_unions_weigh_half() -> None:
    """A real problem that only the default planner solves outweighs a union, and equals two."""
    for unions, favoured in ((1, -1), (2, 0), (3, 1)):
        learned, default = [None, *[SLOW] * unions], [SLOW, *[None] * unions]
        found = Difference([-1] + [1] * unions, [1.0] + [0.5] * unions)
        assert (found.sum > 0) - (found.sum < 0) == favoured
        assert verdict(score(*learned), score(*default), unions).use == "default"
    only = verdict(score(*[QUICK] * 6), score(*[SLOW] * 6), unions=6)
    assert only.sentence.endswith("(clear, seen on unions of small problems only)")
    assert only.unions == 6


def binomial(count: int, least: int) -> float:
    """The chance that so many fair coins have a sum of signs of at least `least`."""
    heads = math.ceil((count + least) / 2)
    return sum(math.comb(count, k) for k in range(heads, count + 1)) / 2**count


@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_the_chance_is_nearly_that_of_the_binomial(weight: float) -> None:
    for count in range(1, 40):
        for better in range(count // 2 + 1, count + 1):
            signs = [1] * better + [-1] * (count - better)
            found = Difference([*signs, 0, 0], [weight] * count + [1.0, 0.5]).chance
            assert found == pytest.approx(binomial(count, sum(signs)), abs=0.025)
            assert Difference([-one for one in signs], [weight] * count).chance == found
    assert Difference([], []).chance == Difference([0, 0], [1, 1]).chance == 0.5


def test_what_plans_cost_is_compared_where_both_have_one() -> None:
    learned = score((1, 40.0), (1, 10.0), (1, 7.0), (1, 5.0))
    default = score((1, 10.0), (1, 10.0), None, None)
    assert learned.cost_ratio(default) == pytest.approx(2)
    assert score(None, (1, 3.0)).cost_ratio(score((1, 3.0), None)) is None
    empty = score((1, 0.0), (1, 4.0))  # nothing to compare where plans are empty
    assert empty.cost_ratio(empty) == 1
    assert "plans cost" not in verdict(score((1, 5.0)), score(None)).sentence


# -- on a ladder


def problems_in(folder: Path, count: int) -> list[Problem]:
    write_folder(folder, "blocks", count)
    return [parse(folder / "domain.pddl", path) for path in sorted(folder.glob("p*.pddl"))]


class Rungs:
    """Both solve the rungs below `reach`, the learned search `factor` times as quickly. There is
    time for `most` rungs."""

    def __init__(self, reach: int, factor: float, most: int = 1000) -> None:
        self.reach, self.factor, self.most = reach, factor, most
        self.tried: list[str] = []

    def __call__(
        self, rung: Rung, ways: Mapping[str, Searcher], times: int
    ) -> dict[str, list[Trial]]:
        if len(self.tried) >= self.most:
            return {}
        self.tried.append(rung.name)
        solved = int(rung.name.split()[1]) < self.reach
        count = len(rung.starts)
        return {
            name: [Trial(solved, 1.0 if name == DEFAULT else self.factor, 5.0)] * count
            for name in ways
        }


def judged(
    folder: Path, on_rung: OnRung, count: int = 3, longer: Sequence[int] = ()
) -> Verdict | None:
    """The last verdict."""
    ladder = Ladder("verdict", problem_starts("verdict", problems_in(folder, count)), 0)
    judge = Judge({"own": Searcher(GREEDY)}, ladder, on_rung, LIMIT, "s", longer)
    return next(reversed(list(judge.verdicts())), None)


def test_a_clear_difference_needs_no_further_problems(tmp_path: Path) -> None:
    rungs = Rungs(3, 0.01)
    found = judged(tmp_path / "p", rungs)
    assert found is not None and found.use == "learned" and "(clear" in found.sentence
    assert rungs.tried == [f"verdict {number}" for number in range(4)]  # the last one ends all
    assert found.problems == 3 + 3 * 3 and found.unions == 9


def test_an_unclear_one_needs_more_of_the_same_sizes(tmp_path: Path) -> None:
    """With no further problems there are further unions."""
    rungs = Rungs(2, 0.5)  # in turns, as quick as the default planner
    found = judged(tmp_path / "p", rungs)
    assert found is not None and found.use == "default" and "may be chance" in found.sentence
    assert rungs.tried[:5] == [
        "verdict 0", "verdict 1", "verdict 2", "verdict 1 draw 1", "verdict 2 draw 1",
    ]  # fmt: skip
    assert len(rungs.tried) == 3 + 3 * 2
    many = Rungs(1, 0.5)
    judged(tmp_path / "q", many, count=8)
    assert "verdict 0 draw 1" in many.tried


def test_the_time_ends_the_verdict(tmp_path: Path) -> None:
    found = judged(tmp_path / "p", Rungs(3, 0.01, most=2))
    assert found is not None and found.problems == 3 + 3
    assert judged(tmp_path / "q", Rungs(3, 0.01, most=0)) is None


def test_what_was_judged_stays_when_a_later_draw_is_interrupted(tmp_path: Path) -> None:
    rungs = Rungs(2, 0.5)

    def interrupted(*asked: Any) -> dict[str, list[Trial]]:
        if "draw" in asked[0].name:
            raise KeyboardInterrupt
        return rungs(*asked)

    ladder = Ladder("verdict", problem_starts("verdict", problems_in(tmp_path / "p", 3)), 0)
    verdicts = Judge({"own": Searcher(GREEDY)}, ladder, interrupted, LIMIT, "s").verdicts()
    assert next(verdicts).problems == 9
    with pytest.raises(KeyboardInterrupt):
        next(verdicts)


class OnlyLonger:
    """Both solve the first rung. Of the others the learned search solves what it may try `needed`
    times as long, the default planner nothing."""

    def __init__(self, needed: int) -> None:
        self.needed = needed
        self.tried: list[tuple[str, int, int]] = []

    def __call__(
        self, rung: Rung, ways: Mapping[str, Searcher], times: int
    ) -> dict[str, list[Trial]]:
        self.tried.append((rung.name, len(rung.starts), times))
        failed, solved = Trial(False, times * LIMIT), Trial(True, 0.4 * times * LIMIT, 5.0)
        own = solved if times >= self.needed else failed
        if rung.name == "verdict 0":
            own = failed = solved
        return {name: [failed if name == DEFAULT else own] * len(rung.starts) for name in ways}


@pytest.mark.parametrize(("needed", "use"), [(4, "learned"), (16, "learned"), (17, "default")])
def test_what_nobody_solves_is_tried_longer(tmp_path: Path, needed: int, use: str) -> None:
    trials = OnlyLonger(needed)
    found = judged(tmp_path / "p", trials, longer=(4, 16))
    assert found is not None and found.use == use
    first_draw = [one for one in trials.tried if "draw" not in one[0]]
    longer = [("verdict unsolved", 3, 4), ("verdict unsolved", 3, 16)]
    assert first_draw == [
        ("verdict 0", 3, 1),
        ("verdict 1", 3, 1),
        *longer[: 1 if needed == 4 else 2],
    ]

"""Tables, marks, tests and claims of the reward-shaping recipe, from made-up numbers."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from hstar.experiments.report import Cell, Table, least_p, rank_sum_p, shift_interval
from hstar.experiments.report.ranksum import doubled_ranks
from hstar.experiments.study import (
    HOLDS,
    Entry,
    Searches,
    Spread,
    Subject,
    TrialResults,
    TrialStudy,
)
from hstar.experiments.study.claims import FAILS, UNKNOWN
from hstar.papers.reward_shaping.learners import EQUAL_TIME, HELD, PAPER
from hstar.papers.reward_shaping.study import goal_curve, rates
from hstar.papers.reward_shaping.tables import (
    BETTER,
    COVERAGE,
    GOALS,
    WORSE,
    best_columns,
    claims,
    coverage_table,
    effort_table,
    equal_time_table,
    goals_table,
    large_share,
    mark,
    problems_table,
    searches_of,
    seeds_table,
)

COLUMNS = ("h^blind", "h^add", "h^FF", "H^blind", "H^add", "H^FF")
STUDY = TrialStudy(PAPER, COLUMNS, 60.0, (0, 1), steps={"paper": 100}, max_evaluations=1000)
TIMED = TrialStudy(EQUAL_TIME, ("rollouts", "label + train", "plan"), 60.0, learn=600.0)


def run(column: str, problem: str, solved: bool, **more: Any) -> dict[str, Any]:
    given = {
        "domain": "blocks",
        "subject": "blocks",
        "seed": 0,
        "objects": 10,
        "requested": 100,
        "seconds": 2.0,
    }
    return {**given, "column": column, "problem": problem, "solved": solved, **more}


def training(learner: str, seed: int, goals: int) -> dict[str, Any]:
    about = {"domain": "blocks", "learner": learner, "seed": seed, "error": "", "seconds": 1.0}
    return {**about, "goals": goals, "steps": 100, "goal_steps": list(range(goals))}


def made_up(*runs: dict[str, Any], timed: tuple[dict[str, Any], ...] = ()) -> TrialResults:
    goals = {"H^blind": (10, 12), "H^add": (20, 22), "H^FF": (15, 30)}
    trainings = [training(name, i, n) for name, both in goals.items() for i, n in enumerate(both)]
    entries = Entry("a.pddl", 10), Entry("b.pddl", 20)
    problems = {"blocks": Subject("blocks", "blocks", entries[:1], entries, ("c.pddl",))}
    searches = {PAPER: list(runs), EQUAL_TIME: list(timed)}
    return TrialResults((STUDY, TIMED), {PAPER: trainings, EQUAL_TIME: []}, searches, problems)


RUNS = (
    run("h^FF", "a", True, requested=100),
    run("h^FF", "b", False, requested=1000, objects=20),
    run("H^FF", "a", True, requested=10),
    run("H^FF", "b", True, requested=100, objects=20),
    run("H^FF", "a", True, requested=1000, seed=1),
    run("H^FF", "b", False, requested=1000, objects=20, seed=1),
)


def cells(table: Table, line: int = 0) -> dict[str, Cell]:
    named = zip(table.headers, table.rows[line], strict=True)
    return {name: cell if isinstance(cell, Cell) else Cell(cell) for name, cell in named}


def by_permutations(first: list[float], second: list[float]) -> float:
    """Every way to choose the first sample, one by one."""
    every = first + second

    def rank(number: float) -> float:
        below, equal = (sum(f(o, number) for o in every) for f in (float.__lt__, float.__eq__))
        return below + (equal + 1) / 2

    ranks = [rank(number) for number in every]
    w = sum(ranks[: len(first)])
    sums = [sum(chosen) for chosen in itertools.combinations(ranks, len(first))]
    tails = [sum(s <= w for s in sums), sum(s >= w for s in sums)]
    return min(1.0, 2 * min(tails) / len(sums))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]),
        ([1.0, 5.0, 5.0, 7.0], [5.0, 6.0, 8.0, 9.0, 9.0]),
        ([3.0, 3.0], [3.0, 3.0, 3.0]),
        ([2.0], [1.0]),
        ([0.5, 9.0, 2.0, 2.0, 8.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    ],
)
def test_the_rank_sum_test_is_exact(first: list[float], second: list[float]) -> None:
    assert rank_sum_p(first, second) == pytest.approx(by_permutations(first, second))
    assert rank_sum_p(first, second) == pytest.approx(rank_sum_p(second, first))


def test_the_rank_sum_test_agrees_with_published_values() -> None:
    """By scipy, mannwhitneyu(method="exact")."""
    first, second = [1.1, 2.2, 3.3, 7.5], [2.5, 4.4, 5.5, 6.6, 8.8]
    assert rank_sum_p(first, second) == pytest.approx(0.2857142857142857)
    low = list(range(8))
    assert rank_sum_p(low, [n + 100 for n in low]) == pytest.approx(2 / math.comb(16, 8))
    assert least_p(7, 7) > 0.0005 > least_p(8, 8)
    assert least_p(1, 1) == 1.0
    with pytest.raises(ValueError, match="both samples"):
        rank_sum_p([], [1.0])


def test_ranks_are_shared_by_equal_numbers() -> None:
    assert doubled_ranks([5.0, 1.0, 5.0, 9.0]) == [5, 2, 5, 8]


def test_printed_numbers_are_read() -> None:
    assert len(COVERAGE) == len(GOALS) == 8
    assert COVERAGE["blocks"]["H^add"] == Spread(181.3, 8.6, 198.0)
    assert COVERAGE["logistics"]["GBFS-HGN"] is None
    assert GOALS["visitall"]["H^add"] == Spread(1360.0, 75.0)
    for row in COVERAGE.values():
        total = row["total"]
        assert total is not None and all(v is None or v.mean <= total.mean for v in row.values())


def test_marks_are_those_that_the_paper_prints() -> None:
    """Bold in Table 1, and the two cells in which H^FF is marked as worse than h^FF."""
    marks: dict[str, set[tuple[str, str]]] = {BETTER: set(), WORSE: set(), "": set()}
    for domain, row in COVERAGE.items():
        for column in ("H^blind", "H^add", "H^FF"):
            value, base = row[column], row[column.lower().replace("ff", "FF")]
            assert value is not None and base is not None
            marks[mark(value, base)].add((domain, column))
    assert marks[BETTER] == {
        *(("blocks", column) for column in ("H^blind", "H^add", "H^FF")),
        *(("ferry", column) for column in ("H^blind", "H^add")),
        *((domain, "H^blind") for domain in ("gripper", "parking", "satellite")),
    }
    assert {("parking", "H^FF"), ("satellite", "H^FF"), ("logistics", "H^FF")} <= marks[WORSE]


def test_table_1_has_means_of_seeds_and_marks() -> None:
    line = cells(coverage_table(made_up(*RUNS), STUDY))
    assert str(line["tests"]) == "2" and line["tests"].below == "250"
    assert str(line["h^FF"]) == "1" and line["h^FF"].below == "87"
    assert str(line["H^FF"]) == "1.5 ± 0.5 (2)" and not line["H^FF"].bold  # 1 is within 1.5 - 0.5
    assert line["H^FF"].below == "117.1 ± 6.1 (129) ▲" and line["H^FF"].bold_below
    both = [{**row, "solved": True} if row["column"] == "H^FF" else row for row in RUNS]
    assert str(cells(coverage_table(made_up(*both), STUDY))["H^FF"]) == "2 ± 0 (2) ▲"
    none = [{**row, "solved": False} if row["column"] == "H^FF" else row for row in RUNS]
    marked = cells(coverage_table(made_up(*none), STUDY))["H^FF"]
    assert str(marked) == "0 ± 0 (0) ▼" and not marked.bold


def test_table_1_says_where_fewer_problems_were_tried() -> None:
    line = cells(coverage_table(made_up(*RUNS, run("GBFS-H", "a", True)), STUDY))
    assert str(line["GBFS-H"]) == "1 / 1"


def test_effort_counts_unsolved_problems_as_the_limit() -> None:
    found = searches_of(made_up(*RUNS))
    # Ratios: 10/100, 100/1000, 1000/100 (solved with as many), 1000/1000.
    ratio = (0.1 * 0.1 * 10 * 1) ** 0.25
    assert found.effort("blocks", "H^FF", "h^FF") == pytest.approx(ratio)
    late = run("h^FF", "b", False, requested=3)  # ended by time, not by evaluations
    assert Searches([late], 1000).cost(late) == 1000
    table = effort_table(made_up(*RUNS))
    assert str(table.rows[0][1]) == f"{ratio:.3f}" == str(table.rows[-1][1])


def test_the_worst_seed_is_shown() -> None:
    assert str(cells(seeds_table(made_up(*RUNS)))["H^FF"]) == "0.750 ± 0.250, 0.500"


def test_table_2_marks_the_best_and_says_what_seeds_can_tell() -> None:
    table = goals_table(made_up(*RUNS), STUDY)
    line = cells(table)
    assert str(line["H^add"]) == "21 ± 1" and not line["H^add"].bold
    assert str(line["H^FF"]) == "22.5 ± 7.5" and line["H^FF"].bold
    assert line["H^FF"].below == "5089 ± 71" and line["H^FF"].bold_below
    assert not line["H^add"].bold_below
    assert "0.333: no difference can be significant" in table.shown


def test_ties_are_what_the_test_cannot_tell_apart() -> None:
    limit = HELD["least_p"]
    high, close, low = ([float(base + i) for i in range(20)] for base in (100, 98, 10))
    values = {"a": Spread.of(high), "b": Spread.of(close), "c": Spread.of(low)}
    assert best_columns(values, limit) == {"a", "b"}
    assert best_columns({"a": Spread.of([3.0]), "b": Spread.of([2.0])}, limit) == {"a"}
    assert best_columns({"a": None, "b": Spread.of([2.0])}, limit) == {"b"}
    assert best_columns({"a": None}, limit) == set()


def test_table_3_counts_objects_and_what_was_left_out() -> None:
    table = problems_table(made_up())
    assert list(table.rows[0])[2:] == ["1", "207", "10-10", "2-6", ""]
    assert list(table.rows[1])[2:] == ["2", "250", "10-20", "10-50", "1"]


def test_equal_time_counts_unsolved_problems_as_the_limit() -> None:
    timed = (
        run("rollouts", "a", True, seconds=6.0),
        run("rollouts", "b", False, seconds=1.0),
        run("plan", "a", True, seconds=6.0),
        run("plan", "b", True, seconds=6.0),
    )
    results = made_up(timed=timed)
    (line, total) = equal_time_table(results, TIMED).rows
    assert [str(cell) for cell in line] == ["blocks", "2", "1", "19", "2", "6"]
    assert str(total[0]) == "all"
    verdicts = {claim.text: claim.verdict for claim in claims(results)}
    assert verdicts["equal time: rollouts solve no fewer than the default planner"] == FAILS
    assert verdicts["equal time: rollouts solve no fewer than label + train"] == UNKNOWN


def test_claims_compare_ours_and_the_papers() -> None:
    blind = (run("h^blind", "a", False), run("H^blind", "a", True))
    found = {claim.text[:60]: claim for claim in claims(made_up(*RUNS, *blind))}
    first = next(claim for claim in found.values() if claim.text.startswith("Q1"))
    assert first.verdict == HOLDS and "blocks H^blind 1 against h^blind 0" in first.numbers
    assert first.paper_verdict == HOLDS and first.paper_numbers.startswith("5 of 6")
    covered = [claim for claim in found.values() if claim.text.startswith("Q2")]
    assert [claim.verdict for claim in covered] == [HOLDS, UNKNOWN, UNKNOWN]
    assert all(claim.paper_verdict == HOLDS for claim in covered)
    goals = next(claim for claim in found.values() if claim.text.startswith("Q4"))
    assert goals.verdict == HOLDS and "blocks H^FF 22.5 against H^blind 11" in goals.numbers
    assert (
        goals.paper_numbers.startswith("15 of 16") and "NOT visitall H^add" in goals.paper_numbers
    )
    third = next(claim for claim in found.values() if claim.text.startswith("Q3"))
    assert third.verdict == FAILS and third.paper_verdict == HOLDS  # H^FF 0.75, H^blind 1
    fifth = next(claim for claim in found.values() if claim.text.startswith("Q5"))
    assert fifth.verdict == HOLDS and "H^FF 0.500 against h^FF 0.000" in fifth.numbers


def test_the_larger_half_is_that_of_sizes() -> None:
    found = searches_of(made_up(*RUNS))
    assert large_share(found, "blocks", "H^FF", 1000) == 0.5
    assert large_share(found, "blocks", "H^FF", 99) == 0.0
    assert large_share(found, "blocks", "H^add", 99) is None


def test_rates_count_what_was_solved_within_the_threshold() -> None:
    found = searches_of(made_up(*RUNS))
    assert rates(found, "blocks", "H^FF", 1000) == [(10, 1.0), (20, 0.5)]
    assert rates(found, "blocks", "H^FF", 99) == [(10, 0.5), (20, 0.0)]


def test_goals_add_up_over_steps() -> None:
    curve = dict(goal_curve([[10, 20, 100], [20]], 100))
    assert (curve[9], curve[10], curve[20], curve[100]) == (0.0, 0.5, 1.5, 2.0)


def test_the_interval_of_a_shift_has_the_shifts_that_the_test_accepts() -> None:
    rng = np.random.default_rng(0)
    for n, m in ((4, 5), (5, 5), (6, 9)):
        first, second = rng.normal(2, 1, n).tolist(), rng.normal(0, 1, m).tolist()
        found = shift_interval(first, second)
        assert found is not None
        for shift, is_accepted in (
            (found[0] - 1e-6, False),
            (found[0] + 1e-6, True),
            (found[1] - 1e-6, True),
            (found[1] + 1e-6, False),
        ):
            p = rank_sum_p([value - shift for value in first], second)
            assert (p > 0.05) == is_accepted, (n, m, shift)
    assert shift_interval([1, 2, 3], [4, 5, 6]) is None

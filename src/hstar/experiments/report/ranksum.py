"""Wilcoxon's rank-sum test: could two samples be from the same distribution?

W is the sum of the ranks of the first sample among all numbers, equal numbers sharing their mean
rank. If the distributions are the same, every choice of n of all ranks is as likely as the first
sample's, so p = 2 min(P(W <= w), P(W >= w)), at most 1. Choices are counted by their size and sum,
number by number, so the test is exact also for ties.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np


def rank_sum_p(first: Sequence[float], second: Sequence[float]) -> float:
    """The two-sided p-value. Raises ValueError for an empty sample."""
    if not first or not second:
        raise ValueError("both samples need numbers")
    n = len(first)
    ranks = doubled_ranks([*first, *second])
    w = sum(ranks[:n])
    # ways[k, s]: choices of k of the ranks so far with the sum s. Floats hold what integers of the
    # machine cannot, and relative errors stay tiny since nothing is subtracted.
    ways = np.zeros((n + 1, sum(ranks) + 1))
    ways[0, 0] = 1.0
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, :-rank].copy()
    sums = ways[n] / math.comb(len(ranks), n)
    return float(min(1.0, 2 * min(sums[: w + 1].sum(), sums[w:].sum())))


def shift_interval(
    first: Sequence[float], second: Sequence[float], level: float = 0.95
) -> tuple[float, float] | None:
    """By how much the first distribution may lie above the second, if they differ by a shift: the
    differences of pairs without as many at both ends as the rank-sum test allows (Hodges and
    Lehmann 1963). None where the samples are too small for the level."""
    n, m = len(first), len(second)
    # ways[k, u]: choices of k of the numbers so far that exceed u pairs in sum, without ties.
    ways = np.zeros((n + 1, n * m + 1))
    ways[0, 0] = 1.0
    for place in range(n + m):
        for k in range(min(n, place + 1), 0, -1):
            below = place - (k - 1)  # of the second sample, if this is the k-th of the first
            if below <= m:
                ways[k, below:] += ways[k - 1, : n * m + 1 - below].copy()
    tail = ways[n].cumsum() / math.comb(n + m, n)
    left_out = int(np.searchsorted(tail, (1 - level) / 2, side="right"))
    if left_out == 0:
        return None
    differences = sorted(a - b for a in first for b in second)
    return differences[left_out - 1], differences[-left_out]


def doubled_ranks(numbers: Sequence[float]) -> list[int]:
    """Twice the ranks: whole numbers also where two share one."""
    ordered = sorted(numbers)
    return [bisect_left(ordered, one) + bisect_right(ordered, one) + 1 for one in numbers]


def least_p(n: int, m: int) -> float:
    """The smallest p-value that samples of these sizes can have."""
    return min(1.0, 2 / math.comb(n + m, n))

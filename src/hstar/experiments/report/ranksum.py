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


def doubled_ranks(numbers: Sequence[float]) -> list[int]:
    """Twice the ranks: whole numbers also where two share one."""
    ordered = sorted(numbers)
    return [bisect_left(ordered, one) + bisect_right(ordered, one) + 1 for one in numbers]


def least_p(n: int, m: int) -> float:
    """The smallest p-value that samples of these sizes can have."""
    return min(1.0, 2 / math.comb(n + m, n))

"""From logits to classes: the core against exact rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from hstar import _core
from hstar.slots.pattern_network import ONE, Decoding, ratio_of


def weights(ratio: int) -> list[int]:
    table, e = [], 1 << 62
    while e >> 32:
        table.append(e >> 32)
        e = e * ratio >> 32
    return table


def decode(logits: list[int], ratio: int, thresholds: list[int]) -> int:
    table = weights(ratio)
    mass = [table[d] if (d := max(logits) - logit) < len(table) else 0 for logit in logits]
    level = 0
    for k in range(1, len(logits)):
        if Fraction(sum(mass[:k]), sum(mass)) > Fraction(thresholds[k - 1], ONE):
            break
        level = k
    return level


@pytest.mark.parametrize("seed", range(4))
def test_decoding_is_exact(seed: int) -> None:
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 14))
    logits = rng.integers(-900, 900, (100, classes)).astype(np.int32)
    ratio = ratio_of(float(rng.uniform(0.2, 3)))
    thresholds = [int(2 ** rng.uniform(0, 32)) for _ in range(classes - 1)]
    thresholds[0] = int(rng.choice([0, ONE, thresholds[0]]))
    found = _core.decode_levels(logits, ratio, thresholds)
    assert found.tolist() == [decode(row, ratio, thresholds) for row in logits.tolist()]


def test_weights_are_those_of_the_temperature() -> None:
    for temperature in (0.5, 1.0, 2.0):
        table = weights(ratio_of(temperature))
        for i in (0, 1, 64, 640):
            expected = math.exp(-i / 64 / temperature)
            assert table[i] / 2**30 == pytest.approx(expected, rel=1e-6, abs=2e-9)


def test_quantile_is_the_largest_level_that_is_likely_enough() -> None:
    probabilities = [0.001, 0.009, 0.09, 0.4, 0.5]
    logits = np.array([[round(64 * math.log(p)) for p in probabilities]], dtype=np.int32)
    for tau, expected in ((0.999999, 0), (0.995, 1), (0.95, 2), (0.7, 3), (0.3, 4), (0.0, 4)):
        decoding = Decoding.quantile(tau, 5)
        assert decoding.thresholds is not None
        found = _core.decode_levels(logits, decoding.ratio, list(decoding.thresholds))
        assert found.tolist() == [expected]


def test_extreme_logits() -> None:
    logits = np.array([[-(2**31), 2**31 - 1, 0], [7, 7, 7]], dtype=np.int32)
    half = ONE // 2
    assert _core.decode_levels(logits, ratio_of(1.0), [half, half]).tolist() == [1, 1]
    with pytest.raises(ValueError):
        _core.decode_levels(logits, ratio_of(1.0), [ONE + 1, 0])

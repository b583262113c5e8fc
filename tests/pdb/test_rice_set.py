"""Coded sets of indices: round trips, sizes, and damage."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hstar import _core
from hstar.slots.pattern_network import ExceptionSet


def load(coded: ExceptionSet, universe: int) -> _core.RiceSet:
    code = np.frombuffer(coded.code, dtype=np.uint8)
    return _core.RiceSet(universe, coded.count, coded.parameter, code)


@pytest.mark.parametrize(
    ("universe", "count"), [(1, 0), (1, 1), (50, 50), (1000, 33), (10**6, 5000), (2**40, 700)]
)
def test_round_trip(universe: int, count: int) -> None:
    rng = np.random.default_rng(count)
    if universe < 10**7:
        members = np.sort(rng.choice(universe, count, replace=False))
    else:
        members = np.unique(rng.integers(0, universe, count))
    coded = ExceptionSet.encode(members)
    held = load(coded, universe)
    assert held.members() == members.tolist() and len(held) == len(members)
    known = set(members.tolist())
    assert all(member in held for member in known)
    others = rng.integers(0, universe, 2000).tolist() + [m + 1 for m in known] + [0, universe - 1]
    assert all((other in held) == (other in known) for other in others)
    if 0 < count < universe / 10:
        assert len(coded.code) * 8 / len(members) < math.log2(universe / len(members)) + 2


def test_damage_is_noticed_or_harmless() -> None:
    rng = np.random.default_rng(0)
    members = np.sort(rng.choice(5000, 300, replace=False))
    coded = ExceptionSet.encode(members)
    refused = 0
    for _ in range(2000):
        code = bytearray(coded.code)
        for _ in range(rng.integers(1, 4)):
            code[rng.integers(len(code))] ^= 1 << int(rng.integers(8))
        code = code[: len(code) - int(rng.integers(0, 3))] + bytes(int(rng.integers(0, 2)))
        count = coded.count + int(rng.integers(-1, 2))
        parameter = int(rng.choice([coded.parameter, -1, 0, 40, 41, 1000]))
        try:
            held = load(ExceptionSet(count, parameter, bytes(code)), 5000)
        except ValueError:
            refused += 1
            continue
        found = held.members()
        assert found == sorted(set(found)) and len(found) == count
        assert all(0 <= member < 5000 for member in found)
        assert [member in held for member in found] == [True] * len(found)
    assert refused > 1000


def test_members_must_ascend() -> None:
    with pytest.raises(ValueError, match="ascending"):
        _core.encode_set([3, 3])

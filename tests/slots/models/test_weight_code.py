"""Weights coded with adaptive probabilities: round trips, sizes, and damage."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from numpy.typing import NDArray

from hstar import _core
from hstar.slots.models.packing import ADAPTIVE, read, write

Weights = NDArray[np.int8]


def encoded(weights: Weights, bits: int) -> NDArray[np.uint8]:
    """The adaptive form, also where another one is shorter."""
    return np.frombuffer(_core.encode_weights(np.ascontiguousarray(weights), bits), np.uint8)


def entropy_bytes(weights: Weights) -> float:
    """Of the weights as independent draws."""
    shares = np.unique(weights, return_counts=True)[1] / weights.size
    return -float((shares * np.log2(shares)).sum()) * weights.size / 8


def rounded(values: NDArray[np.float64], bits: int) -> Weights:
    largest = 2 ** (bits - 1) - 1
    return np.clip(values.round(), -largest, largest).astype(np.int8)


def scaled_rows_and_columns(bits: int = 6) -> Weights:
    rng = np.random.default_rng(1)
    scales = np.exp(rng.normal(0, 0.8, (150, 1)) + rng.normal(0, 0.8, (1, 200)))
    return rounded(rng.normal(0, 5, (150, 200)) * scales, bits)


def similar_rows() -> Weights:
    rng = np.random.default_rng(2)
    mixed = rng.normal(0, 1, (100, 6)) @ rng.normal(0, 1, (6, 400))
    return rounded(3 * mixed + rng.normal(0, 1, mixed.shape), 6)


@pytest.mark.parametrize("bits", range(2, 9))
@pytest.mark.parametrize("shape", [(40, 30), (1, 500), (500, 1), (1, 1), (0, 5), (5, 0), (1500, 3)])
def test_round_trip(bits: int, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(bits)
    largest = 2 ** (bits - 1) - 1
    for weights in (
        rounded(rng.normal(0, largest / 3, shape), bits),
        rounded(rng.laplace(0, largest / 5, shape), bits),
        rng.integers(-largest, largest + 1, shape).astype(np.int8),
        rng.choice([-largest, largest], shape).astype(np.int8),
        np.full(shape, largest, dtype=np.int8),
        np.full(shape, -largest, dtype=np.int8),
        np.zeros(shape, dtype=np.int8),
    ):
        code = encoded(weights, bits)
        again = read(ADAPTIVE, code, bits, shape)
        assert again.dtype == np.int8 and np.array_equal(again, weights)
        assert code.tobytes() == encoded(weights, bits).tobytes()


def test_structure_makes_codes_shorter_than_the_entropy() -> None:
    for weights, share in ((scaled_rows_and_columns(), 0.9), (similar_rows(), 0.75)):
        form, held = write(weights, 6)
        assert form == ADAPTIVE and len(held) < share * entropy_bytes(weights)


def test_without_structure_a_code_is_near_the_entropy() -> None:
    weights = rounded(np.random.default_rng(3).normal(0, 8, (200, 300)), 6)
    assert len(encoded(weights, 6)) < 1.02 * entropy_bytes(weights)
    assert len(encoded(np.zeros((300, 300), dtype=np.int8), 6)) < 200


def test_a_code_means_the_same_weights_everywhere() -> None:
    """Files hold such codes: a change of these bytes would make them unreadable."""
    place = np.arange(60 * 80).reshape(60, 80)
    weights = ((place * place // 7 + place // 80 * 5) % 23 % (place % 80 // 8 + 3) - 4).astype(
        np.int8
    )
    code = _core.encode_weights(weights, 5)
    assert hashlib.sha256(code).hexdigest()[:16] == "c5999f44a3eb193e"


def test_damage_is_noticed_or_harmless() -> None:
    rng = np.random.default_rng(0)
    weights = scaled_rows_and_columns()[:40, :50]
    code = encoded(weights, 6)
    refused = 0
    for _ in range(400):
        damaged = bytearray(code.tobytes())
        for _ in range(rng.integers(1, 4)):
            damaged[rng.integers(len(damaged))] ^= 1 << int(rng.integers(8))
        damaged = damaged[: len(damaged) - int(rng.integers(0, 3))]
        try:
            found = read(ADAPTIVE, np.frombuffer(bytes(damaged), dtype=np.uint8), 6, (40, 50))
        except ValueError:
            refused += 1
            continue
        assert found.shape == (40, 50)
        assert encoded(found, 6).tobytes() == bytes(damaged)
    assert refused > 300


def test_what_is_no_code_is_refused() -> None:
    weights = scaled_rows_and_columns()[:40, :50]
    code = encoded(weights, 6)
    for wrong in (code[: len(code) // 2], code[:0], np.append(code, np.uint8(0))):
        with pytest.raises(ValueError, match="damaged"):
            read(ADAPTIVE, wrong, 6, (40, 50))
    for shape in ((41, 50), (40, 51), (39, 50), (2**13, 2**13), (2**40, 2**40)):
        with pytest.raises(ValueError):
            read(ADAPTIVE, code, 6, shape)
    for bits in (1, 9):
        with pytest.raises(ValueError, match="bits"):
            _core.encode_weights(weights, bits)
        with pytest.raises(ValueError, match="bits"):
            _core.decode_weights(code, 40, 50, bits)
    for weight in (16, -16, -128):
        with pytest.raises(ValueError, match="fit"):
            _core.encode_weights(np.full((2, 2), weight, dtype=np.int8), 5)

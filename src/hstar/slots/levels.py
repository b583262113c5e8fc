"""How a class is read off the logits; the arithmetic is that of cpp/learned/learned_pdb.hpp."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hstar.slots.models.integer_network import LOGIT_UNITS

ONE = 2**32  # thresholds are in units of 2^-32


def ratio_of(temperature: float) -> int:
    """The ratio of the weights of two logits that are one unit apart, times 2^32."""
    if not 0.01 <= temperature <= 100:
        raise ValueError("the temperature is within 0.01 and 100")
    return round(ONE * math.exp(-1 / (LOGIT_UNITS * temperature)))


@dataclass(frozen=True, slots=True)
class Decoding:
    """Level k is accepted if P(class < k) <= thresholds[k - 1] / 2^32; None means argmax."""

    thresholds: tuple[int, ...] | None
    ratio: int

    @classmethod
    def argmax(cls) -> Decoding:
        return cls(None, ratio_of(1.0))

    @classmethod
    def quantile(cls, tau: float, classes: int, temperature: float = 1.0) -> Decoding:
        """The largest k with P(class >= k) >= tau."""
        if not 0 <= tau <= 1:
            raise ValueError("tau is a probability")
        return cls((math.floor((1 - tau) * ONE),) * (classes - 1), ratio_of(temperature))

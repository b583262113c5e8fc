"""Where two JSON values begin to differ, in words."""

from __future__ import annotations

import math
from typing import Any

# Means over steps may be summed in another order or precision; nothing depends on them.
AVERAGES = {("train_loss",)}


def first_difference(expected: Any, found: Any, place: tuple[str, ...] = ()) -> str | None:
    """Where two JSON values begin to differ, and how; None if they are equal."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in [*expected, *(key for key in found if key not in expected)]:
            if key not in expected or key not in found:
                side = "is new" if key not in expected else "is missing"
                return f"{' / '.join((*place, key))} {side}"
            difference = first_difference(expected[key], found[key], (*place, key))
            if difference:
                return difference
        return None
    if isinstance(expected, list) and isinstance(found, list):
        for i, (one, other) in enumerate(zip(expected, found, strict=False)):
            difference = first_difference(one, other, (*place, f"[{i}]"))
            if difference:
                return difference
        if len(expected) != len(found):
            return f"{' / '.join(place)} has {len(found)} entries, not {len(expected)}"
        return None
    if type(expected) is type(found) and expected == found:
        return None
    if place[-1:] in AVERAGES and math.isclose(float(expected), float(found), rel_tol=1e-6):
        return None
    return f"{' / '.join(place)} was {expected!r} and is {found!r}"

"""A cap on the heuristic that a network corrects: min(base(s), cap lower(s)).

h^FF can exceed h* in proportion to a problem's size, and a correction learned on small problems is
too small on large ones. The cap, a multiple of an admissible heuristic, is fitted to the training
labels; there is none where they do not ask for one (docs/learning.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float32]
GRID = np.arange(100, 501) / 100
LEAST_GAIN = 0.1  # the share of the squared error that a cap must take away


def capped_base(base: Column, lower: Column, cap: float | None) -> Column:
    """float32[S]: what the network corrects. The product is rounded to float32, as in the core. An
    infinite base proves that there is no plan, which no cap may hide."""
    if cap is None:
        return base
    capped = np.minimum(base, np.float32(cap) * lower)
    return np.where(np.isinf(base), base, capped)


def fitted_cap(base: Column, lower: Column, h_star: Column) -> float | None:
    """The cap of least squared error against finite labels float32[S]; None where the best takes
    away less than a tenth of the error. Of equally good caps the largest changes least."""
    touched = base > lower  # no cap of at least 1 changes the others
    b, l, h = (column[touched].astype(np.float64) for column in (base, lower, h_star))  # noqa: E741
    others = np.sum((base[~touched].astype(np.float64) - h_star[~touched]) ** 2)
    uncapped = others + np.sum((b - h) ** 2)
    errors = np.array([others + np.sum((np.minimum(b, cap * l) - h) ** 2) for cap in GRID])
    best = len(GRID) - 1 - int(np.argmin(errors[::-1]))
    gain = uncapped - errors[best]
    return float(GRID[best]) if gain > 0 and gain >= LEAST_GAIN * uncapped else None

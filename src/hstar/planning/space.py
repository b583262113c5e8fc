"""What searches work on: a planning task (task.py) or a puzzle (puzzle.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hstar.planning.puzzle import Puzzle
    from hstar.planning.task import Task

    States = NDArray[np.int32]

# States are int32[V]; variable i has the values 0 .. domain_sizes[i] - 1. `kind` is "task" or
# "puzzle": entries of registries list the kinds that they fit. Costs of the core are multiples of a
# unit; `unscaled` turns them into those of the problem.
Space: TypeAlias = "Task | Puzzle"


def state_rows(states: States) -> States:
    """States as the core takes them, int32[B, V]; a single state becomes a batch of one.

    Raises ValueError unless they are an array of whole numbers: numpy would truncate decimals.
    """
    import numpy as np

    rows = np.atleast_2d(states)
    if rows.ndim != 2 or rows.dtype.kind not in "iu":
        raise ValueError(
            f"states must be whole numbers of shape [B, V], not {rows.dtype} {list(rows.shape)}"
        )
    narrow = np.ascontiguousarray(rows, dtype=np.int32)
    if rows.dtype != np.int32 and not np.array_equal(narrow, rows):
        raise ValueError("states hold numbers outside the range of int32")
    return narrow

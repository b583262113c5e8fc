"""What search needs to know of a space: a planning task (task.py) or a puzzle (puzzle.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hstar import _core

    States = NDArray[np.int32]


class Space(Protocol):
    """States are int32[V]; variable i has the values 0 .. domain_sizes[i] - 1."""

    kind: str  # "task" or "puzzle"; entries of registries list the kinds they fit
    name: str
    path: str  # where it was read from; a name if it was not read from a file
    domain_sizes: list[int]
    num_variables: int
    unit_cost: bool  # whether the cost of a plan is its length

    @property
    def core(self) -> _core.Space: ...

    @property
    def initial_state(self) -> States:
        """int32[V]. Searches of puzzles start elsewhere: this is their goal."""

    def successors(self, state: States) -> tuple[NDArray[np.int32], States]:
        """The applicable operators int32[n] and the states they lead to int32[n, V]."""

    def is_goal(self, state: States) -> bool: ...

    def unscaled(self, cost: int) -> int | float:
        """A cost of the core in the problem's own unit."""

    def replay(self, plan: Sequence[str], state: States | None = None) -> int | float:
        """The cost of a plan, executed from a state. Raises ValueError if it fails.

        A task starts from its own initial state; a puzzle needs a state.
        """


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

"""What a feature kind is: how states of one space, or of all tasks of a domain, become inputs.

The configuration of a kind is plain JSON. It goes into the model file, so that search sees what
training saw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Config = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SpaceStates:
    """States int32[S, V] of one space."""

    space: Any
    states: NDArray[np.int32]


def gathered(
    starts: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Range r has the places starts[r] : starts[r + 1]. Of these ranges, one after the other: where
    each begins, int64[R + 1], and the places of all that is in them."""
    import numpy as np

    counts = starts[rows + 1] - starts[rows]
    begins = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    return begins, np.arange(begins[-1]) + np.repeat(starts[rows] - begins[:-1], counts)


class Inputs:
    """The inputs of many states. `sizes` int[S] says what each costs to compute, so that every
    batch can have the same sizes."""

    sizes: NDArray[Any]

    def select(self, rows: NDArray[np.int64]) -> Any:
        """What the model takes, for these states."""
        raise NotImplementedError


class SparseInputs(Inputs):
    """Vectors float32[S, width], mostly 0. That of state s has `values`, or 1 where none are given,
    in columns[starts[s] : starts[s + 1]]."""

    def __init__(
        self,
        starts: NDArray[np.int64],
        columns: NDArray[np.int32],
        width: int,
        values: NDArray[Any] | None = None,
    ) -> None:
        import numpy as np

        self.starts, self.columns, self.width = starts, columns, width
        self.values = values
        self.sizes = np.ones(len(starts) - 1, dtype=np.int64)

    def select(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        import numpy as np

        starts, places = gathered(self.starts, rows)
        dense = np.zeros((len(rows), self.width), dtype=np.float32)
        owners = np.repeat(np.arange(len(rows)), np.diff(starts))
        dense[owners, self.columns[places]] = 1.0 if self.values is None else self.values[places]
        return dense


class Feature:
    """One kind of features. `needs` is what all states must share: a "domain", or one "space"."""

    name: str
    needs: str = "domain"
    reads_tables: bool = False  # whether it can read states of a pattern
    reads_open: bool = False  # whether it can read sets of atoms that leave variables open (-1)
    needs_states: bool = False  # whether `fit` looks at the training states
    options: Config = {}  # noqa: RUF012  with their defaults

    def configure(self, tasks: Sequence[Any], options: Config, cost: str) -> Config:
        """The configuration for training on these spaces. `cost` says what labels count: "one" an
        action, "normal" its cost. Raises ValueError."""
        return {}

    def fit(self, config: Config, states: Sequence[SpaceStates]) -> Config:
        """If `needs_states`: the configuration with what it takes from the training states."""
        return config

    def warnings(self, config: Config) -> list[str]:
        """What a user should know about this configuration."""
        return []

    def check(self, config: Config, space: Any) -> None:
        """Raises ValueError if the configuration does not fit a space."""

    def inputs(self, config: Config, states: Sequence[SpaceStates]) -> Inputs:
        """The inputs of all states, group after group."""
        raise NotImplementedError

    def encoder(self, config: Config, space: Any) -> Callable[[Any], Any]:
        """For search: a function from states int32[B, V] to what the model takes."""
        raise NotImplementedError

    def rows_at_once(self, space: Any) -> int:
        """How many states search should encode and evaluate at once in torch."""
        return 4096

    def native(self, config: Config, space: Any) -> Config | None:
        """What the core needs to compute these features; None if it cannot."""
        return None

    def native_operators(self, described: Config, weights: Any, space: Any) -> Config:
        """What the core needs to rank operators beside the states: what a model file says of them,
        and a buffer of their weights. Raises ValueError if there are no features of operators."""
        raise ValueError(f"the features '{self.name}' rank no operators")

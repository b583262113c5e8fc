"""What a feature kind is: how states of one space, or of all tasks of a domain, become inputs.

The configuration of a kind is plain JSON. It goes into the model file, so that search sees what
training saw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

Config = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SpaceStates:
    """States int32[S, V] of one space."""

    space: Any
    states: NDArray[np.int32]


def starts_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[n + 1]: where each of n consecutive ranges begins, and the end of the last."""
    import numpy as np

    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def gathered(
    starts: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Range r has the places starts[r] : starts[r + 1]. Of these ranges, one after the other: where
    each begins, int64[R + 1], and the places of all that is in them."""
    import numpy as np

    counts = starts[rows + 1] - starts[rows]
    begins = starts_of(counts)
    return begins, np.arange(begins[-1]) + np.repeat(starts[rows] - begins[:-1], counts)


def check_options(
    given: Config, defaults: Config, *, zero: Sequence[str] = (), **names: Sequence[str]
) -> None:
    """Raises ValueError for options that are not of the kind of their defaults. Numbers are at
    least 1, those of `zero` at least 0; texts are among the `names`."""
    for name, default in defaults.items():
        value = given[name]
        if isinstance(default, bool) and not isinstance(value, bool):
            raise ValueError(f"'{name}' must be true or false, not {value!r}")
        if isinstance(default, str) and value not in names[name]:
            raise ValueError(f"unknown {name} {value!r}; choose {', '.join(names[name])}")
        if type(default) is int:
            whole_number(given, name, least=int(name not in zero))


def whole_number(options: Config, *names: str, least: int = 1) -> None:
    """Raises ValueError unless these options are whole numbers."""
    for name in names:
        value = options[name]
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"'{name}' must be a whole number of at least {least}, not {value!r}")


def moved(held: Any, device: torch.device) -> Any:
    """A dataclass with all its tensors on a device."""
    import torch

    if isinstance(held, torch.Tensor):
        return held.to(device)
    if not is_dataclass(held):
        return held
    kind: Any = type(held)
    return kind(*(moved(getattr(held, one.name), device) for one in fields(held)))


class Inputs:
    """The inputs of many states. `sizes` int[S] says what each costs to compute, so that every
    batch can have the same sizes."""

    sizes: NDArray[Any]

    def select(self, rows: NDArray[np.int64]) -> Any:
        """What the model takes, for these states."""
        raise NotImplementedError


class VectorInputs(Inputs):
    """float32[S, F]"""

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        import numpy as np

        self.vectors = vectors
        self.sizes = np.ones(len(vectors), dtype=np.int64)

    def select(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        return self.vectors[rows]


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

    def every(self) -> NDArray[np.float32]:
        """All of them."""
        import numpy as np

        return self.select(np.arange(len(self.sizes)))


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
        """The inputs of all states, group after group; here vectors, as the encoder makes them."""
        import numpy as np

        parts = [self.encoder(config, group.space)(group.states) for group in states]
        return VectorInputs(np.concatenate(parts))

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

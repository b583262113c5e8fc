"""What is known of an option of searches: how it is given, checked, said, passed to the core."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

KINDS = {
    bool: (bool, "true or false"),
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    str: (str, "a text"),
}


@dataclass(frozen=True, slots=True)
class SearchOption:
    """`flag` is the usage on the command line; one without a value sets the opposite of `default`,
    which holds where nothing is said. `said` is what labels say ({} is the value), `core` the field
    of _core.SearchOptions; empty: nothing. `names` are values to suggest."""

    kind: type
    flag: str
    help: str
    said: str = ""
    default: Any = None
    core: str = ""
    least: float = -math.inf
    most: float = math.inf
    names: tuple[str, ...] = ()

    def check(self, name: str, value: Any) -> None:
        """Raises ValueError for a value that no search can have."""
        kind: Any
        kind, called = KINDS[self.kind]
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            raise ValueError(f"'{name}' must be {called}, not {value!r}")
        if isinstance(value, str) or (self.least <= value <= self.most and value != math.inf):
            return
        span = f"between {self.least} and {self.most}"
        wanted = f"finite and at least {self.least}" if self.most == math.inf else span
        raise ValueError(f"the {name.replace('_', ' ')} must be {wanted}, not {value}")

    def phrase(self, value: Any) -> str:
        """What labels say of a value; empty for what they leave out."""
        no = "no " if value is False and self.said else ""
        return no + self.said.format(value)


def check_queues(queues: Any, heuristics: int) -> None:
    """Raises ValueError unless these are pairs of the number of a heuristic and a bool."""
    are_pairs = isinstance(queues, (list, tuple)) and all(
        isinstance(one, (list, tuple)) and [type(value) for value in one] == [int, bool]
        for one in queues
    )
    if not are_pairs:
        raise ValueError(f"queues must be a list of pairs (number, bool), not {queues!r}")
    if not all(0 <= number < heuristics for number, _ in queues):
        raise ValueError("a queue is ordered by an evaluator that does not exist")


def option(kind: type, flag: str, help: str, said: str = "", **known: Any) -> Any:
    """A field of a specification. It is None where nothing is said."""
    return field(default=None, metadata={"option": SearchOption(kind, flag, help, said, **known)})

"""Pattern databases as a heuristic for search: the maximum of databases and of sums of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.pdb.database import PatternHeuristic
from hstar.pdb.file import PdbFileError
from hstar.planning.heuristics import make_heuristic
from hstar.planning.space import Space


class PdbHeuristic:
    """The maximum over several sums; a single database is a sum of one. Raises ValueError.

    Only additive databases of disjoint patterns may be added. Fits `hstar.plan`.
    """

    def __init__(
        self, sums: Sequence[PatternHeuristic | Sequence[PatternHeuristic]], label: str = "pdb"
    ) -> None:
        self.sums = [list(one) if isinstance(one, Sequence) else [one] for one in sums]
        self.label = label
        if not self.sums or not all(self.sums):
            raise ValueError("a heuristic has at least one pattern database")
        self._bound: dict[str, _core.Heuristic] = {}  # by puzzle
        for one in self.sums:
            pieces = [piece for database in one for piece in database.layout.pattern]
            if len(one) > 1 and not all(database.layout.additive for database in one):
                message = "only additive pattern databases may be added; use ',' for the maximum"
                raise ValueError(message)
            if len(set(pieces)) < len(pieces):
                raise ValueError("the patterns of a sum must not share pieces")

    def __repr__(self) -> str:
        sums = ", ".join(
            " + ".join(f"{d.layout.space}:{','.join(map(str, d.layout.pattern))}" for d in one)
            for one in self.sums
        )
        return f"<PdbHeuristic {sums}>"

    def bind(self, space: Space) -> _core.Heuristic:
        """The heuristic for a space's states. Raises PdbFileError if one is of another space."""
        if space.kind == "puzzle" and space.name in self._bound:
            return self._bound[space.name]  # the core keeps its move tables with it
        try:
            databases = [[database.bind(space) for database in one] for one in self.sums]
        except ValueError as error:
            if space.kind == "puzzle":
                raise
            raise PdbFileError(f"{error}; build one for this problem", self.label) from error
        bound = _core.Heuristic.pdb(space.core, databases)
        if space.kind == "puzzle":
            self._bound[space.name] = bound
        return bound

    def evaluate(self, space: Space, states: NDArray[np.int32]) -> NDArray[np.float32]:
        """float32[B] from int32[B, V]; one state is a batch of one."""
        return make_heuristic(space, self).evaluate(states)

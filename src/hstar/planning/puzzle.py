"""A puzzle: names and checks. Its states, moves and numbering are in the core."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.planning import notation
from hstar.planning.space import state_rows

States = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Group:
    """Pieces of one sort: variables first .. first + count - 1."""

    name: str
    first: int
    count: int
    locations: int
    orientations: int


class Puzzle:
    """A puzzle by name: cube3, cube2, tiles-RxC, pancake-N, topspin-N-K. Raises ValueError.

    cube3 is the 3x3x3 cube in face turns, move 3 * face + {quarter, inverse, half} with faces in
    the order UDFBLR; cube2 the 2x2x2 cube with the corner DLB held; tiles have the blank as piece 0
    and in the first place of the goal; a pancake move flips the first k; a TopSpin move
    reverses K neighbouring tokens of a ring of N; the ring itself does not turn.
    """

    kind = "puzzle"
    unit_cost = True

    def __init__(self, name: str) -> None:
        self.core = _core.Puzzle(name)
        self.name = self.path = self.core.name
        self.domain_sizes: list[int] = self.core.domain_sizes
        self.num_variables = len(self.domain_sizes)
        self.move_names: list[str] = self.core.move_names
        self.inverse_moves: list[int] = self.core.inverse_moves
        self.groups = [Group(*group) for group in self.core.groups]
        # How many ranks there are; None if they exceed 56 bits. All ranks are states, but some
        # TopSpin puzzles cannot reach all of them.
        self.num_states: int | None = self.core.num_states

    def __repr__(self) -> str:
        return f"Puzzle({self.name!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return Puzzle, (self.name,)

    @property
    def goal(self) -> States:
        """int32[V]"""
        return np.array(self.core.goal, dtype=np.int32)

    @property
    def initial_state(self) -> States:
        """int32[V]: the goal. Where a search starts is an option of the search."""
        return self.goal

    def is_goal(self, state: States) -> bool:
        return bool(np.array_equal(state, self.goal))

    def unscaled(self, cost: int) -> int:
        return cost

    def replay(self, plan: Sequence[str], state: States | None = None) -> int:
        """How many moves lead from a state to the goal. Raises ValueError if they do not."""
        if not self.is_goal(self.after(self.parse_moves(" ".join(plan)), state)):
            raise ValueError("the moves miss the goal")
        return len(plan)

    def check(self, states: States) -> None:
        """Raises ValueError that explains what is wrong, unless all rows can be solved."""
        self.core.check(state_rows(states))

    def successors(self, state: States) -> tuple[NDArray[np.int32], States]:
        """The possible moves int32[n] and the states they lead to int32[n, V]."""
        return self.core.expand(state_rows(state))[1:]

    def expand(self, states: States) -> tuple[NDArray[np.int32], NDArray[np.int32], States]:
        """Of a batch [B, V]: the row each comes from int32[n], the move int32[n], states [n, V]."""
        return self.core.expand(state_rows(states))

    def apply(self, states: States, moves: int | Sequence[int] | NDArray[np.int32]) -> States:
        """The states after one move each, or one move for all. Raises ValueError if illegal."""
        rows, made, children = self.expand(states)
        each = np.broadcast_to(np.asarray(moves, dtype=np.int32), (len(state_rows(states)),))
        is_chosen = made == each[rows]
        for row in np.setdiff1d(np.arange(len(each)), rows[is_chosen]):
            raise ValueError(f"move {each[row]} cannot be made in state {row}")
        after: States = children[is_chosen]
        return after

    def rank(self, states: States) -> NDArray[np.int64]:
        """int64[B] from int32[B, V], Myrvold-Ruskey order. Raises ValueError."""
        return self.core.rank(state_rows(states))

    def unrank(self, ranks: int | Sequence[int] | NDArray[np.int64]) -> States:
        """int32[B, V] from int64[B]. Raises ValueError."""
        return self.core.unrank(np.atleast_1d(np.asarray(ranks, dtype=np.int64)))

    def after(self, moves: Iterable[int], state: States | None = None) -> States:
        """The state int32[V] after some moves, starting from a state (default: the goal)."""
        rows = state_rows(self.goal if state is None else state)
        for move in moves:
            rows = self.apply(rows, move)
        end: States = rows[0]
        return end

    def scramble(self, length: int, seed: int) -> States:
        """A random walk from the goal that never undoes a move. Raises ValueError."""
        if length < 0 or not 0 <= seed < 2**64:
            raise ValueError("length and seed of a scramble must not be negative")
        return self.after(self.core.random_moves(length, seed))

    def start(
        self, state: str | None, moves: str | None, scramble: int | None, seed: int = 0
    ) -> States:
        """The state int32[V] that one of these says: pieces, moves from the goal, or how many
        random moves. Raises ValueError."""
        if sum(one is not None for one in (state, moves, scramble)) != 1:
            raise ValueError("say where to start by a state, by moves or by a scramble")
        if state is not None:
            return self.parse_state(state)
        if moves is not None:
            return self.after(self.parse_moves(moves))
        return self.scramble(scramble or 0, seed)

    def parse_moves(self, text: str) -> list[int]:
        """Moves by name, such as "R U2 F'". Raises ValueError."""
        names = self.move_names
        for name in text.split():
            if name not in names:
                shown = names if len(names) <= 20 else [names[0], "...", names[-1]]
                raise ValueError(f"{self.name} has no move '{name}'; it has {' '.join(shown)}")
        return [names.index(name) for name in text.split()]

    def parse_state(self, text: str) -> States:
        """A state as `format_state` writes it. Raises ValueError that explains what is wrong."""
        state = notation.parse(self.name, self.num_variables, text)
        try:
            self.check(state)
        except ValueError as error:
            raise ValueError(f"this state has no solution: {error}") from None
        return state

    def format_state(self, state: States) -> str:
        """What is in each place: pieces by number, or for cubes by the faces of their stickers."""
        return notation.format(self.name, [int(value) for value in state])


make_puzzle = Puzzle  # by name

"""Sliding tiles on a board of any shape (the 15-puzzle); start uniform among the solvable ones.

The goal has the tiles in order and the gap in the last corner. A permutation of tiles and gap can
be brought there if and only if its parity is that of the gap's distance from the last corner
(Wilson 1974: true of all boards with at least two rows and columns). Half of all permutations are
solvable, and swapping two tiles makes any of the others solvable.
"""

from __future__ import annotations

from random import Random

from hstar.domains.generated_problem import Atom, GeneratedProblem
from hstar.domains.generator import Generator, Parameter, Parameters, numbered, plans, sizes


def sample(parameters: Parameters, rng: Random) -> GeneratedProblem:
    rows, columns = int(parameters["rows"]), int(parameters["columns"])
    cells = {(r, c): f"p_{r + 1}_{c + 1}" for r in range(rows) for c in range(columns)}
    positions = tuple(cells.values())
    tiles = numbered("t_", rows * columns - 1, first=1)
    board = random_board(rows, columns, rng)
    gap = rows * columns - 1
    init: list[Atom] = [
        ("empty", place) if tile == gap else ("at", tiles[tile], place)
        for place, tile in zip(positions, board, strict=True)
    ]
    for (r, c), cell in cells.items():
        beside = [(r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)]
        init += [("neighbor", cell, cells[other]) for other in beside if other in cells]
    goal = [("at", tile, place) for tile, place in zip(tiles, positions, strict=False)]
    return GeneratedProblem({"position": positions, "tile": tiles}, init, goal)


def random_board(rows: int, columns: int, rng: Random) -> list[int]:
    """What lies on each position, row by row: tiles from 0, the gap as the largest number."""
    board = list(range(rows * columns))
    rng.shuffle(board)
    gap = board.index(rows * columns - 1)
    distance = (rows - 1 - gap // columns) + (columns - 1 - gap % columns)
    if (_swaps(board) - distance) % 2:
        first, second = [place for place in range(len(board)) if place != gap][:2]
        board[first], board[second] = board[second], board[first]
    return board


def _swaps(permutation: list[int]) -> int:
    """How many swaps sort a permutation: its length less the number of its cycles."""
    seen: set[int] = set()
    cycles = 0
    for start in permutation:
        cycles += start not in seen
        while start not in seen:
            seen.add(start)
            start = permutation[start]
    return len(permutation) - cycles


SMALL = sizes(("rows", "columns"), [(2, 3), (2, 4), (3, 3)])
LARGE = sizes(("rows", "columns"), [(3, 4), (4, 4), (4, 5), (5, 5)])
SUMMARY = "sort the tiles of a board with one gap"
PARAMETERS = (
    Parameter("rows", "rows of the board", 2, 100),
    Parameter("columns", "columns of the board", 2, 100, growth=1),
)
PLANS = plans(SMALL, LARGE, train=120, validation=30, test=25)
GENERATOR = Generator("sliding-tiles", SUMMARY, PARAMETERS, PLANS, sample, large=23)

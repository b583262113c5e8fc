"""The 3x3x3 cube as maps that a convolution can read, from one-hot places of pieces.

Corners: six 3x3 maps of each face, one for each colour, with 1 where a sticker has it; all else is
solved. Edges: three 4x3 maps of each piece, with 1 at its place, at its place if it is not turned,
and at its place in the goal ("Learning admissible heuristics for A*", Appendix G.1). Each place of
a piece adds its own ones, so maps are sums over the pieces plus what never changes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hstar import _core

FACES = "UFRDBL"
CORNERS = 8  # variables of cube3 before those of edges
EDGE_MAP = (4, 3)

Maps = NDArray[np.float32]


def cube_maps(variables: Sequence[int]) -> tuple[Maps, Maps]:
    """float32[inputs, C, H, W], what each value of each piece adds, and float32[C, H, W], what is
    always there. Raises ValueError for pieces of both sorts."""
    if all(0 <= piece < CORNERS for piece in variables):
        return _corner_maps(variables)
    if all(piece >= CORNERS for piece in variables):
        return _edge_maps([piece - CORNERS for piece in variables])
    raise ValueError("a convolution reads corners or edges of cube3, not both at once")


def _corner_maps(pieces: Sequence[int]) -> tuple[Maps, Maps]:
    names, _ = _core.cube_place_names()
    fixed = np.zeros((len(FACES), len(FACES), 3, 3), dtype=np.float32)
    for number in range(len(FACES)):
        fixed[number, number] = 1  # the solved face, without the corners that move
    for place in (names[piece] for piece in pieces):
        for face in place:
            fixed[(FACES.index(face),) * 2][_corner_of(face, place)] = 0
    added = np.zeros((len(pieces), 3 * len(names), *fixed.shape), dtype=np.float32)
    for row, piece in enumerate(pieces):
        for value in range(3 * len(names)):
            place, turn = names[value // 3], value % 3
            for sticker, colour in enumerate(names[piece]):
                face = place[(sticker + turn) % 3]
                seen = FACES.index(face), FACES.index(colour), *_corner_of(face, place)
                added[(row, value, *seen)] = 1
    return added.reshape(-1, len(FACES) ** 2, 3, 3), fixed.reshape(-1, 3, 3)


def _corner_of(face: str, place: str) -> tuple[int, int]:
    """Row and column on a face: its other two axes, each with one end at 0."""
    first, second = (axis for axis in ("UD", "FB", "RL") if face not in axis)
    return 2 * (first[1] in place), 2 * (second[1] in place)


def _edge_maps(pieces: Sequence[int]) -> tuple[Maps, Maps]:
    _, names = _core.cube_place_names()
    count = len(names)
    fixed = np.zeros((len(pieces), 3, count), dtype=np.float32)
    added = np.zeros((len(pieces), 2 * count, len(pieces), 3, count), dtype=np.float32)
    for row, piece in enumerate(pieces):
        fixed[row, 2, piece] = 1
        for value in range(2 * count):
            place, turn = divmod(value, 2)
            added[row, value, row, 0, place] = 1
            added[row, value, row, 1, place] = turn == 0
    return added.reshape(-1, 3 * len(pieces), *EDGE_MAP), fixed.reshape(-1, *EDGE_MAP)

"""States as text.

Tiles, pancakes and TopSpin: the number of the piece in each place, separated by spaces or commas.
Cubes: for each place, in the order of SOLVED, the faces whose stickers are there ("UF" in the first
word: the edge with stickers U and F is in the place up-front, U sticker up). This is the notation
known as Reid's in most cube programs.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hstar import _core

EDGE_PLACES = ["UF", "UR", "UB", "UL", "DF", "DR", "DB", "DL", "FR", "FL", "BR", "BL"]
CORNER_PLACES = ["UFR", "URB", "UBL", "ULF", "DRF", "DFL", "DLB", "DBR"]
SOLVED = {"cube3": EDGE_PLACES + CORNER_PLACES, "cube2": CORNER_PLACES}
HELD = 21  # the value of the last corner of cube2, which is no variable


def parse(puzzle: str, num_variables: int, text: str) -> NDArray[np.int32]:
    """int32[V], each piece in a place of its own. Raises ValueError."""
    words = [word for word in re.split(r"[\s,]+", text.strip()) if word]
    if puzzle in SOLVED:
        return _parse_cube(puzzle, words)
    if len(words) != num_variables:
        raise ValueError(f"expected {num_variables} numbers, one for each place, not {len(words)}")
    state = np.full(num_variables, -1, dtype=np.int32)
    for place, word in enumerate(words):
        if not word.isdecimal() or int(word) >= num_variables:
            raise ValueError(
                f"'{word}' is not a piece; pieces are numbered 0 to {num_variables - 1}"
            )
        if state[int(word)] >= 0:
            raise ValueError(f"piece {word} is in two places")
        state[int(word)] = place
    return state


def format(puzzle: str, state: list[int]) -> str:
    """The text of a state."""
    if puzzle in SOLVED:
        return _format_cube(puzzle, state)
    return " ".join(map(str, np.argsort(state)))


@cache
def _turned() -> dict[str, tuple[int, int]]:
    """Each way to name a corner or edge, from any of its faces on: its number among those of its
    sort, and where this name begins in that of the core."""
    return {
        name[first:] + name[:first]: (number, first)
        for names in _core.cube_place_names()
        for number, name in enumerate(names)
        for first in range(len(name))
    }


def _parse_cube(puzzle: str, words: list[str]) -> NDArray[np.int32]:
    places, turned = SOLVED[puzzle], _turned()
    if len(words) != len(places):
        raise ValueError(f"expected {len(places)} words such as {places[0]}, not {len(words)}")
    state = np.full(20 if puzzle == "cube3" else 8, -1, dtype=np.int32)
    for place, word in zip(places, words, strict=True):
        kind = len(place)
        if len(word) != kind or word not in turned:
            sort = "a corner" if kind == 3 else "an edge"
            raise ValueError(f"'{word}' in the place of {place} is not {sort}")
        (piece, first), (location, begin) = turned[word], turned[place]
        variable = piece if kind == 3 else 8 + piece
        if state[variable] >= 0:
            raise ValueError(f"the piece {word} is in two places")
        # On which face of the location the first sticker of the piece lies.
        state[variable] = location * kind + (begin - first) % kind
    if puzzle == "cube2":
        if state[7] != HELD:
            raise ValueError("hold the cube so that the corner DLB is solved")
        return state[:7]
    return state


def _format_cube(puzzle: str, state: list[int]) -> str:
    values = state if puzzle == "cube3" else [*state, HELD]
    corners, edges = _core.cube_place_names()
    at = {(3, value // 3): (corners[i], value % 3) for i, value in enumerate(values[:8])}
    at |= {(2, value // 2): (edges[i], value % 2) for i, value in enumerate(values[8:])}
    words = []
    for place in SOLVED[puzzle]:
        location, begin = _turned()[place]
        name, face = at[len(place), location]
        first = (begin - face) % len(place)
        words.append(name[first:] + name[:first])
    return " ".join(words)

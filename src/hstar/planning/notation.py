"""States as text.

Tiles, pancakes and TopSpin: the number of the piece in each place, separated by spaces or commas.
Cubes: for each place, in the order of SOLVED, the faces whose stickers are there ("UF" in the first
word: the edge with stickers U and F is in the place up-front, U sticker up). This is the notation
known as Reid's in most cube programs.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from hstar import _core

EDGE_PLACES = ["UF", "UR", "UB", "UL", "DF", "DR", "DB", "DL", "FR", "FL", "BR", "BL"]
CORNER_PLACES = ["UFR", "URB", "UBL", "ULF", "DRF", "DFL", "DLB", "DBR"]
SOLVED = {"cube3": EDGE_PLACES + CORNER_PLACES, "cube2": CORNER_PLACES}


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
    pieces = [0] * len(state)
    for piece, place in enumerate(state):
        pieces[place] = piece
    return " ".join(map(str, pieces))


def _names(kind: int) -> list[str]:
    """The core's names of corners (3) or edges (2): the faces of a place, in its own order."""
    return _core.cube_place_names()[0 if kind == 3 else 1]


def _number(name: str) -> int:
    """The place or piece with these faces, -1 if there is none."""
    names = ["".join(sorted(known)) for known in _names(len(name))]
    faces = "".join(sorted(name))
    return names.index(faces) if faces in names else -1


def _parse_cube(puzzle: str, words: list[str]) -> NDArray[np.int32]:
    places = SOLVED[puzzle]
    if len(words) != len(places):
        raise ValueError(f"expected {len(places)} words such as {places[0]}, not {len(words)}")
    state = np.full(20 if puzzle == "cube3" else 8, -1, dtype=np.int32)
    for place, word in zip(places, words, strict=True):
        kind = len(place)
        piece = _number(word)
        known = _names(kind)[piece] if len(word) == kind and piece >= 0 else ""
        turned = [known[i:] + known[:i] for i in range(len(known))]
        if word not in turned:
            sort = "a corner" if kind == 3 else "an edge"
            raise ValueError(f"'{word}' in the place of {place} is not {sort}")
        variable = piece if kind == 3 else 8 + piece
        if state[variable] >= 0:
            raise ValueError(f"the piece {word} is in two places")
        # The face of the place on which the reference sticker lies.
        face = place[word.index(known[0])]
        location = _number(place)
        state[variable] = location * kind + _names(kind)[location].index(face)
    if puzzle == "cube2":
        if state[7] != 21:
            raise ValueError("hold the cube so that the corner DLB is solved")
        return state[:7]
    return state


def _format_cube(puzzle: str, state: list[int]) -> str:
    words: dict[str, str] = {}
    values = state if puzzle == "cube3" else [*state, 21]
    for variable, value in enumerate(values):
        kind, piece = (3, variable) if variable < 8 else (2, variable - 8)
        known, location = _names(kind)[piece], _names(kind)[value // kind]
        # Sticker i of the piece lies on face value % kind + i of its location.
        faces = {location[(value % kind + i) % kind]: known[i] for i in range(kind)}
        place = next(p for p in SOLVED[puzzle] if sorted(p) == sorted(location))
        words[place] = "".join(faces[face] for face in place)
    return " ".join(words[place] for place in SOLVED[puzzle])

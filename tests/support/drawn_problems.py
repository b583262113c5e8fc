"""What the generators of problems draw, read with no help of the generators."""

from __future__ import annotations

import re

Atoms = frozenset[str]


def read(text: str) -> tuple[Atoms, Atoms]:
    """Initial and goal atoms of a problem file, read with no help of the generators."""
    init, goal = text.split("(:init")[1].split("(:goal (and")
    return frozenset(re.findall(r"\([^()]*\)", init)), frozenset(re.findall(r"\([^()]*\)", goal))

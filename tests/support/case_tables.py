"""Cases of parametrised tests, written as tables of text."""

from __future__ import annotations

import re


def table(text: str) -> list[tuple[str, ...]]:
    """A tuple for each line, whose cells are separated by `|`.

    An indented line continues the one before. Lines that start with `#` are comments.
    """
    lines = re.sub(r"\n +", " ", text).splitlines()
    rows = [line for line in lines if line and not line.startswith("#")]
    return [tuple(cell.strip() for cell in row.split("|")) for row in rows]

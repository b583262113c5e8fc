"""Cases of parametrised tests, written as tables of text."""

from __future__ import annotations


def table(text: str) -> list[tuple[str, ...]]:
    """A tuple for each line, whose cells are separated by `|`; lines with `#` are comments."""
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return [tuple(cell.strip() for cell in line.split("|")) for line in lines]

"""Patterns as text: which pieces of a puzzle, or which variables of a task, are kept."""

from __future__ import annotations

from hstar.pdb.selection import choose_pattern
from hstar.planning.puzzle import Puzzle
from hstar.planning.space import Space
from hstar.planning.task import Task


def parse_pattern(space: Space, text: str) -> list[int]:
    """The variables of a pattern. Raises ValueError.

    A puzzle: "corners", "edges:0-5", "tiles:1,2,5" or, where there is one sort of piece, "1,2,5";
    the sort alone means all of them. A task: "0,3,7-9", "goal" for the goal's variables, or
    "auto:100000" for goals and what they depend on, with at most so many abstract states.
    """
    if isinstance(space, Task):
        if text.startswith("auto:"):
            if not text[5:].isdecimal():
                raise ValueError(f"'{text}' is not a pattern; write for example auto:100000")
            return choose_pattern(space, int(text[5:]))
        if text == "goal":
            return sorted(variable for variable, _ in space.goal)
        return _numbers(text, space.num_variables, "variables")
    assert isinstance(space, Puzzle)
    name, _, numbers = text.rpartition(":")
    groups = {group.name: group for group in space.groups}
    if not name and numbers in groups:
        group = groups[numbers]
        return list(range(group.first, group.first + group.count))
    if not name and len(groups) > 1:
        raise ValueError(f"say which pieces: {', '.join(f'{sort}:0-3' for sort in groups)}")
    name = name or next(iter(groups))
    if name not in groups:
        known = ", ".join(groups)
        raise ValueError(f"{space.name} has no pieces called '{name}'; it has {known}")
    group = groups[name]
    return [group.first + number for number in _numbers(numbers, group.count, group.name)]


def _numbers(text: str, count: int, what: str) -> list[int]:
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ValueError(f"'{text}' is not a pattern; write for example 0,3,5 or 0-5")
        chosen = range(int(first), int(last if dash else first) + 1)
        if not chosen or chosen[-1] >= count:
            raise ValueError(f"'{part}' is out of range; {what} are numbered 0 to {count - 1}")
        numbers += chosen
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"'{text}' names something twice")
    return numbers

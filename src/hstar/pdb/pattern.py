"""Patterns as text: which pieces of a puzzle, or which variables of a task, are kept."""

from __future__ import annotations

from collections import Counter, deque

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


def choose_pattern(task: Task, most_states: int) -> list[int]:
    """Variables with at most `most_states` abstract states. Raises ValueError if none fit.

    A projection ignores the variables it leaves out, so a goal is most useful together with the
    variables that its operators need. Goals are added in turn, each followed by the variables in
    conditions of operators that change it, nearest first, as long as the abstract states fit.
    """
    needed = _dependencies(task)
    chosen: list[int] = []
    size = 1
    for goal, _ in task.goal:
        queue, seen = deque([goal]), {goal}
        while queue:
            variable = queue.popleft()
            if variable not in chosen:
                if size * task.domain_sizes[variable] > most_states:
                    continue  # variables that are reached only through this one are left out, too
                chosen.append(variable)
                size *= task.domain_sizes[variable]
            new = [other for other in needed[variable] if other not in seen]
            seen.update(new)
            queue.extend(new)
    if not chosen:
        raise ValueError(
            f"no variable of the goal fits into {most_states} abstract states; allow more"
        )
    return sorted(chosen)


def _dependencies(task: Task) -> list[list[int]]:
    """For each variable: those in conditions of operators that change it, most frequent first."""
    counts: list[Counter[int]] = [Counter() for _ in range(task.num_variables)]
    for number in range(task.num_operators):
        operator = task.operator(number)
        for conditions, variable, _ in operator.effects:
            read = [other for other, _ in (*operator.preconditions, *conditions)]
            counts[variable].update(other for other in read if other != variable)
    return [sorted(found, key=lambda other: (-found[other], other)) for found in counts]

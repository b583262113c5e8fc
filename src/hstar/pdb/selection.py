"""Choosing the variables of a task's pattern: goals one after the other, with what they depend on.

A projection knows nothing of a variable it leaves out, so a goal is worth most together with the
variables its operators need. Goals are taken in turn, each followed by the variables in conditions
of operators that change it, nearest first, as long as the abstract states fit.
"""

from __future__ import annotations

from collections import deque

from hstar.spaces.task import Task


def choose_pattern(task: Task, most_states: int) -> list[int]:
    """Variables with at most `most_states` abstract states. Raises ValueError if none fit."""
    needed = _dependencies(task)
    chosen: list[int] = []
    size = 1
    for goal, _ in task.goal:
        queue, seen = deque([goal]), {goal}
        while queue:
            variable = queue.popleft()
            if variable not in chosen:
                if size * task.domain_sizes[variable] > most_states:
                    continue  # what depends on it only through this one is left out, too
                chosen.append(variable)
                size *= task.domain_sizes[variable]
            for other in needed[variable]:
                if other not in seen:
                    seen.add(other)
                    queue.append(other)
    if not chosen:
        raise ValueError(
            f"no variable of the goal fits into {most_states} abstract states; allow more"
        )
    return sorted(chosen)


def _dependencies(task: Task) -> list[list[int]]:
    """Of each variable: those in conditions of operators that change it, most often first."""
    counts: list[dict[int, int]] = [{} for _ in range(task.num_variables)]
    for number in range(task.num_operators):
        operator = task.operator(number)
        for conditions, variable, _ in operator.effects:
            for other, _ in [*operator.preconditions, *conditions]:
                if other != variable:
                    counts[variable][other] = counts[variable].get(other, 0) + 1
    return [sorted(found, key=lambda other: (-found[other], other)) for found in counts]

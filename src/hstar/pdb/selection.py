"""Choose the variables of a pattern of a task: goals, each with the variables it depends on.

A projection ignores the variables it leaves out, so a goal is most useful together with the
variables that its operators need. Goals are added in turn, each followed by the variables in
conditions of operators that change it, nearest first, as long as the abstract states fit.
"""

from __future__ import annotations

from collections import Counter, deque

from hstar.planning.task import Task


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

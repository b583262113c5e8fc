"""Unions of small problems (hstar.pddl.union), to learn from and to choose weights by.

A network that is right on small problems may go wrong on larger ones. The problems of a folder
cannot show it, unions of them can.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hstar.pddl.union import union
from hstar.planning.heuristics import is_dead_end
from hstar.planning.task import Task, ground
from hstar.runtime.resources import Budget

MOST_OBJECTS = 100  # the work on a state grows with the square


def draw_unions(
    tasks: Sequence[Task], parts: int, count: int, seed: int, budget: Budget
) -> list[Task]:
    """At most so many unions of `parts` tasks each. No two have the same parts; those that are too
    large or have no plan are left out. Raises OutOfResources."""
    if len(tasks) < parts:
        return []
    rng = np.random.default_rng([seed, parts])
    draws = (sorted(rng.choice(len(tasks), parts, replace=False)) for _ in range(count))
    found = []
    for drawn in dict.fromkeys(map(tuple, draws)):
        problems = [tasks[i].problem for i in drawn]
        if sum(len(problem.objects) for problem in problems) > MOST_OBJECTS:
            continue
        task = ground(union(problems), budget=budget)
        if not is_dead_end(task):
            found.append(task)
    return found

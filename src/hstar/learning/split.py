"""What problems are for: the smaller ones are learned from; of the larger ones half choose, half
judge. Where there are fewer than three, states that random walks reach stand for other problems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hstar.domains.walks import walk_states
from hstar.learning.race import MOST_DRAWS, STATES, Ladder, problem_starts
from hstar.learning.trials import Say, Start
from hstar.pddl import Problem
from hstar.pddl.union import single_predicates
from hstar.planning.heuristics import is_dead_end
from hstar.planning.task import Task, ground
from hstar.runtime.resources import Budget, OutOfResources, stopped

TOO_LARGE = {
    "out of time": "too large to ground in time",
    "out of memory": "too large for the memory",
}
HELD_OUT = 0.4  # of the problems, to choose and to judge


@dataclass(frozen=True, slots=True)
class Split:
    """Problems in ascending order of size: to learn from, and `others` to choose weights by.
    Ladders of problems or states: to race on, and to judge by."""

    training: list[Task]
    others: list[Task]
    choice: Ladder
    verdict: Ladder
    text: str


def split(tasks: Sequence[Task], most: int, seed: int, budget: Budget) -> Split:
    """The largest tasks, at most so many, choose and judge. Raises OutOfResources."""
    by_size = sorted(tasks, key=lambda task: (len(task.problem.objects), task.num_facts))
    if len(by_size) < 3:
        return split_states(by_size, seed, budget)
    held = min(max(2, round(HELD_OUT * len(by_size))), most)
    larger = by_size[-held:]
    choice, verdict = larger[-2::-2][::-1], larger[::-1][::2][::-1]
    single = single_predicates([task.problem for task in tasks])
    ladders = [
        Ladder(name, problem_starts(name, [t.problem for t in part]), seed + number, single)
        for number, (name, part) in enumerate((("choice", choice), ("verdict", verdict)))
    ]
    text = (
        f"{len(by_size) - held} problems to learn from, {len(choice)} larger ones to choose by, "
        f"{len(verdict)} for the verdict"
    )
    return Split(by_size[:-held], choice, ladders[0], ladders[1], text)


def split_states(tasks: Sequence[Task], seed: int, budget: Budget) -> Split:
    """The largest task's own states; a tiny task has few."""
    task = tasks[-1]
    chosen = walk_states(task, STATES, seed, budget)
    other = walk_states(task, MOST_DRAWS * STATES, seed + 1, budget, but=chosen)
    ladders = []
    for name, states in (("choice", chosen), ("verdict", other if len(other) else chosen)):
        starts = [Start("walk", task.problem, tuple(map(int, state))) for state in states]
        starts = starts or problem_starts(name, [task.problem])
        ladders.append(Ladder(name, starts, seed))
    text = f"{len(chosen)} states to choose by, {len(other)} others for the verdict"
    return Split(list(tasks), list(tasks), ladders[0], ladders[1], text)


def usable_tasks(
    problems: Sequence[Problem], budget: Budget, say: Say, each: float = math.inf
) -> list[Task]:
    """The problems that there is something to learn from, grounded. Those that take more than
    `each` seconds, or too much memory, are left out. Raises ValueError if there is none, and
    OutOfResources if that is for want of memory."""
    reasons = dict.fromkeys(("already solved", "without a plan", *TOO_LARGE.values()), 0)
    tasks = []
    for problem in problems:
        try:
            task = ground(problem, budget=budget.within(each))
        except OutOfResources as error:
            if error.status not in TOO_LARGE or budget.seconds_left <= 0:
                raise
            reasons[TOO_LARGE[error.status]] += 1
            continue
        if task.satisfies_goal(task.initial_state):
            reasons["already solved"] += 1
        elif is_dead_end(task):
            reasons["without a plan"] += 1
        else:
            tasks.append(task)
    counted = ", ".join(f"{count} {what}" for what, count in reasons.items() if count)
    if not tasks:
        if reasons[TOO_LARGE["out of memory"]]:
            raise stopped("memory")
        raise ValueError(f"there is no problem to learn from: {counted}")
    if counted:
        say(f"left out: {counted}")
    return tasks

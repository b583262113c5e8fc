"""The teacher "optimal": A* with LM-cut finds a cheapest plan, whose states get their h*.

The rest of an optimal plan is optimal from each of its states (Bellman's principle), so one search
gives as many values of h* as the plan has states.

Hart, Nilsson and Raphael (1968) for A*, Helmert and Domshlak (2009) for LM-cut.
"""

from __future__ import annotations

from dataclasses import replace

from hstar.pddl import Problem
from hstar.planning.search import run
from hstar.planning.specification import SearchSpecification
from hstar.planning.task import ground
from hstar.runtime.resources import Budget
from hstar.slots.teachers.attempt import TRIVIAL, Attempt, labelled
from hstar.slots.teachers.following import follow
from hstar.slots.teachers.teacher import MostPerAttempt, Teacher


def label_optimally(
    problem: Problem, budget: Budget, max_expansions: MostPerAttempt = None
) -> Attempt:
    """Solve a problem optimally and label the states of the plan. Raises PddlError."""
    task = ground(problem, budget=budget)
    result = run(task, SearchSpecification("lmcut", "astar", max_expansions=max_expansions), budget)
    attempt = Attempt(TRIVIAL if result.plan == [] else result.status, plan_cost=result.plan_cost)
    if result.plan:
        states, remaining = follow(task, result.plan)
        attempt = labelled(task, states, result.plan, remaining[0], h=remaining)
    return replace(
        attempt,
        evaluated=result.evaluated,
        expanded=result.expanded,
        search_time=result.search_time,
    )


TEACHER = Teacher(
    "A* with LM-cut; h* of every state of the plan",
    label_optimally,
    kinds=("optimal",),
)

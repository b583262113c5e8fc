"""A teacher of your own: random walks away from a plan, along steps that can be undone.

    hstar label problems/train -o labels.parquet --teacher teacher_random_walks:TEACHER

Greedy search finds a plan. What is left of the plan is an upper bound on h* in each of its states.
A walk starts in a state of the plan. If a step can be undone at some cost, then the bound of the
new state is that of the old one plus this cost.
"""

import numpy as np

from hstar.planning.search import run
from hstar.planning.specification import SearchSpecification
from hstar.planning.task import ground
from hstar.slots.teachers import Attempt, Option, Teacher, labelled
from hstar.slots.teachers.states import follow


def label_walks(problem, budget, walks=10, length=5, seed=0):
    task = ground(problem, budget=budget)
    result = run(task, SearchSpecification("ff", "lazy"), budget)
    if not result.plan:
        return Attempt("trivial" if result.plan == [] else result.status)
    states, remaining = follow(task, result.plan)
    bounds = {tuple(state): cost for state, cost in zip(states.tolist(), remaining, strict=True)}
    on_plan = len(bounds)
    rng = np.random.default_rng(seed)
    for start in rng.choice(states, walks):
        for _ in range(length):
            start = step(task, start, bounds, rng)
    return labelled(
        task,
        np.array(list(bounds), dtype=np.int32),
        result.plan,
        remaining[0],
        kind=np.arange(len(bounds)) >= on_plan,
        upper=list(bounds.values()),
    )


def step(task, state, bounds, rng):
    """A random successor from which the state can be reached again; its bound is noted."""
    _, successors = task.successors(state)
    for successor in rng.permutation(successors):
        operators, back = task.successors(successor)
        costs = [task.operator(int(op)).cost for op in operators[(back == state).all(axis=1)]]
        if costs:
            bound = bounds[tuple(state.tolist())] + min(costs)
            key = tuple(successor.tolist())
            bounds[key] = min(bound, bounds.get(key, bound))
            return successor
    return state


OPTIONS = {name: Option(n, int, "a number") for name, n in (("walks", 10), ("length", 5))}
TEACHER = Teacher("random walks from a plan", label_walks, ("plan", "random"), OPTIONS)

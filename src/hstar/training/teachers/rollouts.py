"""The teacher "rollouts": states from which reinforcement learning on the problem reached the goal,
with the shortest way to the goal that was seen.

`hstar learn FOLDER` learns from rollouts without labels; labels serve
other models and objectives.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from hstar.pddl import Problem
from hstar.planning.task import Task, ground
from hstar.runtime.resources import Budget, OutOfResources
from hstar.slots.teachers.attempt import TRIVIAL, Attempt, labelled
from hstar.slots.teachers.teacher import Seed, Teacher, whole_number
from hstar.training.reinforcement.rtdp import Rtdp, find_preset


def label_by_rollouts(
    problem: Problem,
    budget: Budget,
    steps: Annotated[int, whole_number(1), "how many per problem"] = 1000,
    seed: Seed = 0,
) -> Attempt:
    """Labels count steps. The time limit ends it with the states so far. Raises PddlError."""
    if problem.uses_metric:
        return Attempt("not labelled: rollouts count steps, so use --cost one")
    task = ground(problem, budget=budget)
    if task.goal_is_false:
        return Attempt("unsolvable")
    if task.satisfies_goal(task.initial_state):
        return Attempt(TRIVIAL, plan_cost=0)
    learner = Rtdp([task], replace(find_preset("own"), updates=steps), seed, budget=budget)
    try:
        learner.run(steps)
    except OutOfResources as error:
        if error.status != "out of time":
            raise
    arrays, _ = learner.memory()
    distance = arrays["upper"]
    states = arrays["bounded_values"].reshape(len(distance), task.num_variables)
    plan = shortest_way(task, states, distance)
    if plan is None:
        return Attempt("gave up")
    return labelled(task, states, plan, len(plan), h=distance, upper=distance)


def shortest_way(
    task: Task, states: NDArray[np.int32], distance: NDArray[np.float32]
) -> list[str] | None:
    """Operators from the initial state to the goal through states of known distance."""
    known = {state.tobytes(): float(d) for state, d in zip(states, distance, strict=True)}
    state, plan = task.initial_state, []
    left = known.get(state.tobytes(), np.inf)
    while not task.satisfies_goal(state):
        ops, successors = task.successors(state)
        distances = [
            0.0 if task.satisfies_goal(one) else known.get(one.tobytes(), np.inf)
            for one in successors
        ]
        nearest = int(np.argmin(distances)) if distances else 0
        if not distances or distances[nearest] >= left:
            return None
        plan.append(task.operator_name(int(ops[nearest])))
        state, left = successors[nearest], distances[nearest]
    return plan


TEACHER = Teacher(
    "states from which reinforcement learning reached the goal, with the shortest way seen",
    label_by_rollouts,
    kinds=("rollout",),
)

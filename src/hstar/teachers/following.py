"""Following a plan through the states of a grounded task."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hstar.pddl import PddlError, Problem
from hstar.pddl.model import And, Atom, Not
from hstar.pddl.validate import validate
from hstar.spaces.task import Task

if TYPE_CHECKING:
    from hstar.spaces.task import States


def follow(task: Task, plan: Sequence[str]) -> tuple[States, list[float]]:
    """The states of a valid plan, int32[n + 1, V], and what is left to pay in each of them.

    Raises PddlError for a step that is not possible in the grounded task.
    """
    import numpy as np

    states, costs = [task.initial_state], []
    for step in plan:
        state, cost = _take_step(task, states[-1], step)
        states.append(state)
        costs.append(cost)
    return np.stack(states), [sum(costs[i:]) for i in range(len(costs) + 1)]


def _take_step(task: Task, state: States, step: str) -> tuple[States, float]:
    """The state after a step, and the cost.

    Grounding keeps one of several operators that do the same and none that does nothing, so a step
    may have no operator of its name. The validator then says which state it leads to.
    """
    operators, successors = task.successors(state)
    for operator, successor in zip(operators.tolist(), successors, strict=True):
        if task.operator_name(operator) == step:
            return successor, task.operator(operator).cost
    for candidate in (state, *successors):
        verdict = validate(_step_problem(task, state, candidate), [tuple(step[1:-1].split())])
        if verdict.valid:
            return candidate, verdict.cost
    raise PddlError(f"the plan's step {step} is not possible where it stands", task.problem.path)


def _step_problem(task: Task, state: States, successor: States) -> Problem:
    """The problem of getting from one state to the other, with all that never changes."""
    facts = [
        task.fact_name(variable, value)
        for variable, size in enumerate(task.domain_sizes)
        for value in range(size)
    ]
    atoms = {_atom(name) for name in facts if not name.startswith(("<", "not ", "goal-reached("))}
    before = {_atom(name) for name in task.atoms(state)}
    after = {_atom(name) for name in task.atoms(successor)}
    literals = [Atom(a[0], a[1:]) if a in after else Not(Atom(a[0], a[1:])) for a in sorted(atoms)]
    return dataclasses.replace(
        task.problem,
        init=[atom for atom in task.problem.init if atom not in atoms] + sorted(before & atoms),
        goal=And(tuple(literals)),
    )


def _atom(name: str) -> tuple[str, ...]:
    """("on", "a", "b") from "on(a, b)"."""
    predicate, _, args = name.rstrip(")").partition("(")
    return (predicate, *args.split(", ")) if args else (predicate,)

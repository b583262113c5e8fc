"""Following a plan through the states of a grounded task."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hstar.pddl import PddlError, Problem
from hstar.pddl.model import And, Atom, Not
from hstar.pddl.validate import validate
from hstar.planning.task import Task, parse_atom

States = NDArray[np.int32]


def follow(task: Task, plan: Sequence[str]) -> tuple[States, list[float]]:
    """The states of a valid plan, int32[n + 1, V], and what is left to pay in each of them. Raises
    PddlError for a step that is not possible in the grounded task."""
    states, costs = [task.initial_state], []
    for step in plan:
        state, cost = _take_step(task, states[-1], step)
        states.append(state)
        costs.append(cost)
    return np.stack(states), [sum(costs[i:]) for i in range(len(costs) + 1)]


def _take_step(task: Task, state: States, step: str) -> tuple[States, float]:
    """The state after a step, and the cost. Grounding keeps one of several operators that do the
    same and none that does nothing, so a step may have no operator of its name. The validator then
    says which state it leads to."""
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
    facts = (parse_atom(task.core.atom_name(fact)) for fact in range(task.num_facts))
    atoms = {atom for atom in facts if atom is not None and atom[0] != "goal-reached"}
    before, after = (set(map(parse_atom, task.atoms(one))) for one in (state, successor))
    literals = [Atom(a[0], a[1:]) if a in after else Not(Atom(a[0], a[1:])) for a in sorted(atoms)]
    return dataclasses.replace(
        task.problem,
        init=[atom for atom in task.problem.init if atom not in atoms] + sorted(atoms & before),
        goal=And(tuple(literals)),
    )

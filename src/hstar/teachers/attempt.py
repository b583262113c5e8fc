"""One try at labelling one problem: how it ended, and a label for every state of its plan.

The states of an optimal plan are labelled for free: what is left of the plan is optimal from each
of them (Bellman's principle), so one search gives as many values of h* as the plan has states.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hstar.heuristics import make_heuristic
from hstar.pddl import Domain, PddlError, Problem
from hstar.pddl.model import And, Atom, Not
from hstar.pddl.problem import read_problem
from hstar.pddl.source import source_from_bytes
from hstar.pddl.validate import validate
from hstar.spaces.task import Task

if TYPE_CHECKING:
    from hstar.spaces.task import States

COSTS = ("one", "normal")

# In the problem's unit of cost, so divided by the scale that makes costs whole numbers in the core.
COST_HEURISTICS = ("blind", "hmax", "hadd", "ff", "lmcut")

SOLVED = "solved"
TRIVIAL = "trivial"  # the goal holds initially: nothing to learn from


@dataclass(frozen=True, slots=True)
class Attempt:
    """How a try ended. `status` is "solved", "trivial", or why there is no plan.

    `states` holds the true atoms of each state from the initial one to the goal, `columns` as many
    numbers per column of the labels (None where a label is missing). Both are empty unless the try
    was solved. Times in seconds.
    """

    status: str
    plan: list[str] = field(default_factory=list)
    plan_cost: int | float | None = None
    evaluated: int = 0
    expanded: int = 0
    search_time: float = 0.0
    total_time: float = 0.0
    peak_memory_kb: int = 0
    states: list[list[str]] = field(default_factory=list)
    columns: dict[str, list[float | None]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @staticmethod
    def from_json(fields: dict[str, Any]) -> Attempt:
        """Raises TypeError where fields are missing or unknown."""
        return Attempt(**fields)


def read_problem_text(path: str, text: str, domain: Domain, cost: str) -> Problem:
    """A problem from its text; with cost "one" its metric is dropped and every action costs 1."""
    problem = read_problem(source_from_bytes(path, text.encode()), domain)
    return dataclasses.replace(problem, uses_metric=False) if cost == "one" else problem


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


def heuristic_columns(task: Task, states: States) -> dict[str, list[float | None]]:
    """The values of every heuristic in the labels, per column one number per state."""
    columns: dict[str, list[float | None]] = {}
    for name in COST_HEURISTICS:
        values = make_heuristic(task, name).evaluate(states).tolist()
        columns[name] = [value / task.cost_scale for value in values]
    columns["goalcount"] = make_heuristic(task, "goalcount").evaluate(states).tolist()
    features = make_heuristic(task, "ff").plan_features(states)
    columns["ff_deletes"] = features[:, 2].tolist()
    columns["ff_deletes_mean"] = features[:, 3].tolist()
    return columns

"""Grounded tasks: finite-domain variables, operators, successors. States are int32 vectors.

The names of atoms are those that the core writes: "on(a, b)".
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from hstar import _core
from hstar.pddl import PddlError, Problem, UnsupportedPddlError, parse
from hstar.pddl.planfile import read_step
from hstar.pddl.validate import validate
from hstar.planning.normalize import Normalizer
from hstar.planning.space import state_rows
from hstar.runtime.resources import Budget

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hstar.planning.space import States


Fact = tuple[int, int]  # variable, value

REACH_GOAL = "(reach-goal)"  # artificial: it reaches one of several goals


def atom_name(predicate: str, *arguments: str) -> str:
    return f"{predicate}({', '.join(arguments)})"


def parse_atom(name: str) -> tuple[str, ...] | None:
    """("on", "a", "b") from "on(a, b)"; None for a negated atom or "<none of those>"."""
    if name.startswith(("not ", "<")):
        return None
    predicate, _, inside = name.removesuffix(")").partition("(")
    return (predicate, *(inside.split(", ") if inside else ()))


@dataclass(frozen=True, slots=True)
class Operator:
    """`effects` are (conditions, variable, value); conditions are tested on the old state."""

    name: str
    cost: float
    preconditions: list[Fact]
    effects: list[tuple[list[Fact], int, int]]


class Task:
    """A problem after grounding. Facts are (variable, value) pairs."""

    kind = "task"

    def __init__(self, problem: Problem, core: _core.Task, cost_scale: int, **kept: bool) -> None:
        self.problem = problem
        self.name, self.path = problem.name, problem.path
        self.core = core
        self._kept: Any = kept  # what `ground` was told to keep
        self.cost_scale = cost_scale
        self.unit_cost = not problem.uses_metric
        self.domain_sizes: list[int] = core.domain_sizes
        self.num_variables = len(self.domain_sizes)
        self.num_facts = core.num_facts
        self.num_operators = core.num_operators
        self.state_bytes = core.state_bytes  # size of a packed state in memory
        self.goal: list[Fact] = core.goal
        # The goal is impossible even if nothing is ever deleted; `goal` is meaningless then.
        self.goal_is_false = core.goal_is_false
        self._first_facts = [0, *accumulate(self.domain_sizes)]

    def __repr__(self) -> str:
        return (
            f"<Task {self.problem.name} of {self.problem.domain.name}: {self.num_variables} "
            f"variables, {self.num_facts} facts, {self.num_operators} operators>"
        )

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the problem and ground it again on loading: grounding is deterministic."""
        return partial(ground, **self._kept), (self.problem,)

    @property
    def initial_state(self) -> States:
        """int32[V]"""
        import numpy as np

        return np.array(self.core.initial_values, dtype=np.int32)

    @property
    def mutex_groups(self) -> list[list[str]]:
        """Atoms of which at most one is true in any reachable state; groups may overlap."""
        return [[self.core.atom_name(f) for f in group] for group in self.core.mutex_groups]

    def fact_name(self, variable: int, value: int) -> str:
        """Such as "on(a, b)", "not clear(a)" or "<none of those>"."""
        if not 0 <= variable < self.num_variables:
            raise IndexError(f"no variable {variable}; there are {self.num_variables}")
        if not 0 <= value < self.domain_sizes[variable]:
            raise IndexError(f"variable {variable} has {self.domain_sizes[variable]} values")
        return self.core.atom_name(self._first_facts[variable] + value)

    def atoms(self, state: States) -> list[str]:
        """Names of the atoms that are true in a state, of those that the task keeps."""
        names = (self.fact_name(v, int(value)) for v, value in enumerate(state))
        return [name for name in names if not name.startswith(("<", "not "))]

    def operator_name(self, index: int) -> str:
        return self.core.operator_name(index)

    def operator(self, index: int) -> Operator:
        name, cost, preconditions, effects = self.core.operator_parts(index)
        return Operator(name, self.unscaled(cost), preconditions, effects)

    def successors(self, state: States) -> tuple[NDArray[np.int32], States]:
        """The applicable operators int32[n] and the states they lead to int32[n, V]."""
        rows = state_rows(state)
        if len(rows) != 1:
            raise ValueError(f"expected one state, not {len(rows)}")
        return self.core.expand(rows)[1:]

    def is_goal(self, state: States) -> bool:
        return not self.goal_is_false and all(state[v] == value for v, value in self.goal)

    def satisfies_goal(self, state: States) -> bool:
        """Whether a state is a goal, even if it takes an artificial operator to notice that."""
        return self.is_goal(state) or any(
            self.operator_name(int(op)) == REACH_GOAL and self.is_goal(after)
            for op, after in zip(*self.successors(state), strict=True)
        )

    def replay(self, plan: Sequence[str], state: States | None = None) -> int | float:
        """The cost of a plan by the rules of the lifted problem, from the initial state, or from
        another state by those of the grounded one. Raises ValueError if it fails."""
        if state is None:
            verdict = validate(self.problem, list(map(read_step, plan)))
            if not verdict.valid:
                raise ValueError(str(verdict.reason))
            return verdict.cost
        cost: int | float = 0
        for step in plan:
            operators, successors = self.successors(state)
            named = [i for i, op in enumerate(operators) if self.operator_name(int(op)) == step]
            if not named:
                raise ValueError(f"the step {step} is not possible where it stands")
            state = successors[named[0]]
            cost += self.operator(int(operators[named[0]])).cost
        if not self.satisfies_goal(state):
            raise ValueError("the goal does not hold at the end of the plan")
        return cost

    def unscaled(self, cost: int) -> int | float:
        """A cost of the core in the unit of the problem."""
        whole, rest = divmod(cost, self.cost_scale)
        return whole if rest == 0 else cost / self.cost_scale


def ground(
    problem: Problem,
    *,
    keep_irrelevant: bool = False,
    keep_constant: bool = False,
    budget: Budget | None = None,
) -> Task:
    """Ground a problem.

    `keep_irrelevant` keeps facts and operators that cannot matter for the goal. `keep_constant`
    keeps facts that are true in every state here, but may be false in other initial states. Raises
    PddlError, UnsupportedPddlError, and OutOfResources when the budget is spent.
    """
    budget = budget or Budget()
    normalizer = Normalizer(problem)
    specification = normalizer.specification()
    try:
        with budget.native():
            core = _core.ground(specification, keep_irrelevant, keep_constant, *budget.limits)
    except _core.Unsupported as error:
        raise UnsupportedPddlError(str(error), problem.path) from error
    except ValueError as error:
        raise PddlError(str(error), problem.path) from error
    kept = {"keep_irrelevant": keep_irrelevant, "keep_constant": keep_constant}
    return Task(problem, core, normalizer.cost_scale, **kept)


def load_task(
    domain: str | os.PathLike[str],
    problem: str | os.PathLike[str] | None = None,
    *,
    keep_irrelevant: bool = False,
) -> Task:
    """Read PDDL files, as `parse` does, and ground them."""
    return ground(parse(domain, problem), keep_irrelevant=keep_irrelevant)

"""Does a plan work? Checked on the lifted problem; shares nothing with grounder and search.

s := init
for each step: its precondition must hold in s;
    D, A := atoms deleted and added by the effects whose conditions hold in s
    s := (s - D) + A            # an atom both deleted and added ends up true
the goal must hold in s
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from hstar.pddl.errors import escape
from hstar.pddl.model import (
    Action,
    And,
    Atom,
    Equal,
    Exists,
    Falsity,
    Forall,
    Formula,
    FunctionTerm,
    Not,
    Or,
    Problem,
    Truth,
    Variable,
    substitute,
    types_text,
)

State = set[tuple[str, ...]]
Binding = dict[str, str]

_LONGEST_CONDITION = 500


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a plan is valid, and if not, why.

    `cost` is that of the steps up to the first wrong one. `step` (from 1) and `action` name that
    step; both are None when the plan is valid or when all steps work but the goal is not reached.
    """

    valid: bool
    cost: int | float
    length: int
    step: int | None = None
    action: str | None = None
    reason: str | None = None


class _PlanFault(Exception):
    """Why a step or the goal fails."""


def validate(problem: Problem, steps: list[tuple[str, ...]]) -> Verdict:
    """Replay a plan. Never raises for a wrong plan: the verdict says what is wrong with it."""
    replay = _Replay(problem)
    for number, step in enumerate(steps, 1):
        try:
            replay.apply(step)
        except _PlanFault as fault:
            text = escape(f"({' '.join(step)})")
            reason = f"step {number} {text}: {fault}"
            return Verdict(False, replay.cost, len(steps), number, text, reason)
    if not replay.holds(problem.goal, {}):
        unmet = replay.violated_part(problem.goal, {}, True)
        reason = f"the goal is not reached: {_shown(unmet)} is false after the last step"
        return Verdict(False, replay.cost, len(steps), reason=reason)
    return Verdict(True, replay.cost, len(steps))


class _Replay:
    """The current state and what it has cost to get there."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._actions = {action.name: action for action in problem.domain.actions}
        self._objects_of: dict[tuple[str, ...], frozenset[str]] = {}
        self._state: State = set(problem.init)
        self.cost: int | float = 0

    def apply(self, step: tuple[str, ...]) -> None:
        """Execute a step; raises _PlanFault and changes nothing if that is not possible."""
        action, binding = self._bind_parameters(step)
        if not self.holds(action.precondition, binding):
            part = self.violated_part(action.precondition, binding, True)
            raise _PlanFault(f"precondition {_shown(part)} is false")
        cost = self._action_cost(action, binding)
        added: State = set()
        deleted: State = set()
        for effect in action.effects:
            changed = added if effect.positive else deleted
            for inner in self._bindings(effect.variables, binding):
                if self.holds(effect.condition, inner):
                    changed.add(_ground(effect.atom, inner))
        self._state -= deleted
        self._state |= added
        self.cost = _as_whole(self.cost + cost)

    def holds(self, formula: Formula, binding: Binding) -> bool:
        """Whether a condition is true in the current state.

        Plain loops, since all() and any() would cost a second stack frame per level.
        """
        match formula:
            case Atom():
                return _ground(formula, binding) in self._state
            case And(parts):
                for part in parts:  # noqa: SIM110
                    if not self.holds(part, binding):
                        return False
                return True
            case Not(inner):
                return not self.holds(inner, binding)
            case Truth():
                return True
            case Falsity():
                return False
            case Equal(left, right):
                return binding.get(left, left) == binding.get(right, right)
            case Or(parts):
                for part in parts:  # noqa: SIM110
                    if self.holds(part, binding):
                        return True
                return False
            case Forall(variables, body):
                for extended in self._bindings(variables, binding):
                    if not self.holds(body, extended):
                        return False
                return True
            case Exists(variables, body):
                for extended in self._bindings(variables, binding):
                    if self.holds(body, extended):
                        return True
                return False

    def violated_part(self, formula: Formula, binding: Binding, wanted: bool) -> Formula:
        """The smallest part, with objects for variables, that keeps `formula` from being `wanted`.

        Only to be called when the formula is not as wanted.
        """
        match formula:
            case Not(inner):
                return self.violated_part(inner, binding, not wanted)
            case And(parts) if wanted:
                return self._first_violated(parts, binding, wanted)
            case Or(parts) if not wanted:
                return self._first_violated(parts, binding, wanted)
            case Forall(variables, body) if wanted:
                return self._first_violated_binding(variables, body, binding, wanted)
            case Exists(variables, body) if not wanted:
                return self._first_violated_binding(variables, body, binding, wanted)
        grounded = substitute(formula, binding)
        return grounded if wanted else Not(grounded)

    def _first_violated(
        self, parts: tuple[Formula, ...], binding: Binding, wanted: bool
    ) -> Formula:
        culprit = next(part for part in parts if self.holds(part, binding) != wanted)
        return self.violated_part(culprit, binding, wanted)

    def _first_violated_binding(
        self, variables: tuple[Variable, ...], body: Formula, binding: Binding, wanted: bool
    ) -> Formula:
        culprit = next(
            extended
            for extended in self._bindings(variables, binding)
            if self.holds(body, extended) != wanted
        )
        return self.violated_part(body, culprit, wanted)

    def _bind_parameters(self, step: tuple[str, ...]) -> tuple[Action, Binding]:
        name, args = (step[0], step[1:]) if step else ("", ())
        action = self._actions.get(name)
        if action is None:
            raise _PlanFault(f"the domain has no action '{escape(name)}'")
        if len(args) != len(action.parameters):
            raise _PlanFault(
                f"action '{name}' takes {_arguments(len(action.parameters))}, not {len(args)}"
            )
        for parameter, arg in zip(action.parameters, args, strict=True):
            if arg in self._objects_with(parameter.types):
                continue
            types = self._problem.objects.get(arg)
            if types is None:
                raise _PlanFault(f"the problem has no object '{escape(arg)}'")
            raise _PlanFault(
                f"'{arg}' has type {types_text(types)}, but parameter {parameter.name} needs type "
                f"{types_text(parameter.types)}"
            )
        variables = [parameter.name for parameter in action.parameters]
        return action, dict(zip(variables, args, strict=True))

    def _objects_with(self, types: tuple[str, ...]) -> frozenset[str]:
        known = self._objects_of.get(types)
        if known is None:
            known = self._objects_of[types] = frozenset(self._problem.objects_of(types))
        return known

    def _bindings(self, variables: tuple[Variable, ...], binding: Binding) -> Iterator[Binding]:
        """`binding` extended by all objects for `variables`."""
        if not variables:
            yield binding
            return
        names = [variable.name for variable in variables]
        choices = [self._problem.objects_of(variable.types) for variable in variables]
        for objects in product(*choices):
            yield {**binding, **dict(zip(names, objects, strict=True))}

    def _action_cost(self, action: Action, binding: Binding) -> int | float:
        if not self._problem.uses_metric:
            return 1
        total: int | float = 0
        for term in action.cost:
            if isinstance(term, FunctionTerm):
                key = (term.name, *(binding.get(arg, arg) for arg in term.args))
                value = self._problem.function_values.get(key)
                if value is None:
                    raise _PlanFault(f"its cost ({' '.join(key)}) has no value in :init")
                total += value
            else:
                total += term
        return total


def _ground(atom: Atom, binding: Binding) -> tuple[str, ...]:
    return (atom.predicate, *[binding.get(arg, arg) for arg in atom.args])


def _shown(formula: Formula) -> str:
    text = str(formula)
    if len(text) > _LONGEST_CONDITION:
        text = text[: _LONGEST_CONDITION - 3] + "..."
    return escape(text)


def _arguments(number: int) -> str:
    return "1 argument" if number == 1 else f"{number} arguments"


def _as_whole(cost: int | float) -> int | float:
    """3 rather than 3.0, so that costs print alike however they were written."""
    return int(cost) if isinstance(cost, float) and cost.is_integer() else cost

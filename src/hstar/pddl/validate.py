"""Validates plans on the lifted problem. Shares no code with the grounder and the search.

s := init
for each step: its precondition must hold in s;
    D, A := atoms deleted and added by the effects whose conditions hold in s
    s := (s - D) + A            # an atom both deleted and added ends up true
the goal must hold in s
"""

from __future__ import annotations

from dataclasses import dataclass

from hstar.pddl.errors import escape
from hstar.pddl.model import (
    Action,
    And,
    Exists,
    Forall,
    Formula,
    FunctionTerm,
    Not,
    Or,
    Problem,
    Variable,
    substitute,
    types_text,
)
from hstar.pddl.satisfaction import AtomSet, Binding, Conditions, GroundAtom, ground

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
    """Replay a plan. A wrong plan raises nothing: the verdict says what is wrong with it."""
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
    """The current state and the cost so far."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._actions = {action.name: action for action in problem.domain.actions}
        self._state = AtomSet(problem.init)
        self._conditions = Conditions(self._state, problem.objects_of)
        self.holds = self._conditions.holds
        self.cost: int | float = 0

    def apply(self, step: tuple[str, ...]) -> None:
        """Execute a step; raises _PlanFault and changes nothing if that is not possible."""
        action, binding = self._bind_parameters(step)
        if not self.holds(action.precondition, binding):
            part = self.violated_part(action.precondition, binding, True)
            raise _PlanFault(f"precondition {_shown(part)} is false")
        cost = self._action_cost(action, binding)
        added: set[GroundAtom] = set()
        deleted: set[GroundAtom] = set()
        for effect in action.effects:
            changed = added if effect.positive else deleted
            for inner in self._conditions.bindings(effect.variables, effect.condition, binding):
                changed.add(ground(effect.atom, inner))
        for atom in deleted - added:
            self._state.discard(atom)
        for atom in added:
            self._state.add(atom)
        self.cost = _as_whole(self.cost + cost)

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
        culprit = next(self._conditions.bindings(variables, body, binding, not wanted))
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
            if arg in self._conditions.objects(parameter.types):
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


def _shown(formula: Formula) -> str:
    text = str(formula)
    if len(text) > _LONGEST_CONDITION:
        text = text[: _LONGEST_CONDITION - 3] + "..."
    return escape(text)


def _arguments(number: int) -> str:
    return "1 argument" if number == 1 else f"{number} arguments"


def _as_whole(cost: int | float) -> int | float:
    """3 instead of 3.0, so that equal costs print alike."""
    return int(cost) if isinstance(cost, float) and cost.is_integer() else cost

"""Validates plans on the lifted problem. Shares no code with the grounder and the search.

s := init
for each step: its precondition must hold in s;
    D, A := atoms deleted and added by the effects whose conditions hold in s
    s := (s - D) + A            # an atom both deleted and added ends up true
the goal must hold in s
"""

from __future__ import annotations

from dataclasses import dataclass

from hstar.pddl import model
from hstar.pddl.errors import count, escape, shorten
from hstar.pddl.model import Formula, types_text
from hstar.pddl.satisfaction import Binding, GroundAtom, LiftedState, ground


@dataclass(frozen=True, slots=True)
class Validation:
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


class PlanFault(Exception):
    """Why a step or the goal fails."""


def validate(problem: model.Problem, steps: list[tuple[str, ...]]) -> Validation:
    """Replay a plan. A wrong plan raises nothing: the verdict says what is wrong with it."""
    replay = Replay(problem)
    for number, step in enumerate(steps, 1):
        try:
            replay.apply(step)
        except PlanFault as fault:
            text = escape(f"({' '.join(step)})")
            reason = f"step {number} {text}: {fault}"
            return Validation(False, replay.cost, len(steps), number, text, reason)
    if not replay.holds(problem.goal, {}):
        unmet = replay.violated_part(problem.goal, {}, True)
        reason = f"the goal is not reached: {_shown(unmet)} is false after the last step"
        return Validation(False, replay.cost, len(steps), reason=reason)
    return Validation(True, replay.cost, len(steps))


class Replay:
    """The current state and the cost so far."""

    def __init__(self, problem: model.Problem) -> None:
        self._problem = problem
        self._actions = {action.name: action for action in problem.domain.actions}
        self._state = LiftedState(problem.init, problem.objects_of)
        self.holds = self._state.holds
        self.cost: int | float = 0

    def apply(self, step: tuple[str, ...]) -> tuple[set[GroundAtom], set[GroundAtom]]:
        """Execute a step: which atoms it deletes and adds. Raises PlanFault and changes nothing if
        that is not possible."""
        action, binding = self._bind_parameters(step)
        if not self.holds(action.precondition, binding):
            part = self.violated_part(action.precondition, binding, True)
            raise PlanFault(f"precondition {_shown(part)} is false")
        cost = self._action_cost(action, binding)
        added: set[GroundAtom] = set()
        deleted: set[GroundAtom] = set()
        for effect in action.effects:
            changed = added if effect.positive else deleted
            for inner in self._state.bindings(effect.variables, effect.condition, binding, True):
                changed.add(ground(effect.atom, inner))
        deleted -= added
        for atom in deleted:
            self._state.discard(atom)
        for atom in added:
            self._state.add(atom)
        total = self.cost + cost
        self.cost = int(total) if total == int(total) else total  # so that equal costs print alike
        return deleted, added

    def violated_part(self, formula: Formula, binding: Binding, wanted: bool) -> Formula:
        """The smallest part, with objects for variables, that keeps `formula` from being `wanted`.

        Only to be called when the formula is not as wanted.
        """
        match formula:
            case model.Not(inner):
                return self.violated_part(inner, binding, not wanted)
            case model.Junction(parts) if isinstance(formula, model.And) == wanted:
                culprit = next(part for part in parts if self.holds(part, binding) != wanted)
                return self.violated_part(culprit, binding, wanted)
            case model.Quantified(variables, body) if isinstance(formula, model.Forall) == wanted:
                bindings = self._state.bindings(variables, body, binding, not wanted)
                return self.violated_part(body, next(bindings), wanted)
        grounded = model.substitute(formula, binding)
        return grounded if wanted else model.Not(grounded)

    def _bind_parameters(self, step: tuple[str, ...]) -> tuple[model.Action, Binding]:
        name, args = (step[0], step[1:]) if step else ("", ())
        action = self._actions.get(name)
        if action is None:
            raise PlanFault(f"the domain has no action '{escape(name)}'")
        if len(args) != len(action.parameters):
            wanted = count(len(action.parameters), "argument")
            raise PlanFault(f"action '{name}' takes {wanted}, not {len(args)}")
        binding: Binding = {}
        for parameter, arg in zip(action.parameters, args, strict=True):
            types = self._problem.objects.get(arg)
            if types is None:
                raise PlanFault(f"the problem has no object '{escape(arg)}'")
            if arg not in self._state.objects(parameter.types):
                needs = f"parameter {parameter.name} needs type {types_text(parameter.types)}"
                raise PlanFault(f"'{arg}' has type {types_text(types)}, but {needs}")
            binding[parameter.name] = arg
        return action, binding

    def _action_cost(self, action: model.Action, binding: Binding) -> int | float:
        if not self._problem.uses_metric:
            return 1
        total: int | float = 0
        for term in action.cost:
            if isinstance(term, model.Atom):
                key = ground(term, binding)
                if key not in self._problem.function_values:
                    raise PlanFault(f"its cost ({' '.join(key)}) has no value in :init")
                term = self._problem.function_values[key]
            total += term
        return total


def _shown(formula: Formula) -> str:
    return escape(shorten(str(formula), 500))

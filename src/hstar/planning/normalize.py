"""Lifted problem -> the numbered, normalised form that the native grounder reads.

A walk over a condition carries the value that it should have, which negations turn around, so that
only atoms are negated in the end. Disjunctions outside universal quantifiers are split: an action
with a disjunctive precondition becomes several schemas, a disjunctive effect condition several
effects. Existential quantifiers outside universal ones become
additional, hidden parameters. What remains below a universal quantifier is passed on as a formula.
The grounder expands it for each ground instance, after static atoms have been decided.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterable
from fractions import Fraction
from math import lcm
from typing import Any

from hstar.pddl import model
from hstar.pddl.errors import PddlError, UnsupportedPddlError
from hstar.pddl.model import Formula, Variables

EQUALITY = -1  # the predicate number of (= a b)
MAX_DISJUNCTS = 1024
MAX_COST_SCALE = 1_000_000
TOO_LARGE_COST = 2**40  # fits into an integer of the core, which refuses operators that cost more

Scope = dict[str, int]  # variable name -> number
Literal = tuple[Formula, bool]  # a condition and the value it should have
Disjunct = tuple[Variables, tuple[Literal, ...]]  # hidden variables, conjuncts


class Normalizer:
    """Numbers everything in a problem and normalises its conditions.

    `specification()` returns the dictionary of lists and numbers that `_core.ground` reads;
    `cost_scale` is the factor by which action costs were multiplied to make them whole.
    """

    def __init__(self, problem: model.Problem) -> None:
        domain = problem.domain
        self.problem = problem
        self.objects = {name: i for i, name in enumerate(problem.objects)}
        self.predicates = {name: i for i, name in enumerate(domain.predicates)}
        self.functions = {name: i for i, name in enumerate(domain.functions)}
        self.type_set_of: dict[tuple[str, ...], int] = {}
        self.type_sets: list[list[int]] = []
        self.fresh_numbers = itertools.count(1)
        self.place = ""  # what is being normalised, for messages
        self.cost_scale = self._common_denominator() if problem.uses_metric else 1

    def specification(self) -> dict[str, Any]:
        domain = self.problem.domain
        init, values = array("i"), self.problem.function_values if self.problem.uses_metric else {}
        predicates, objects = self.predicates, self.objects
        for atom in self.problem.init:
            init.append(predicates[atom[0]])
            init.extend([objects[name] for name in atom[1:]])
        function_values: list[int] = []
        for i, (name, *args) in enumerate(values):
            function_values += [self.functions[name], *(self.objects[arg] for arg in args), i]
        return {
            "objects": list(self.objects),
            "predicates": list(self.predicates),
            "predicate_arity": [len(p.parameters) for p in domain.predicates.values()],
            "actions": [action.name for action in domain.actions],
            "action_arity": [len(action.parameters) for action in domain.actions],
            "schemas": [s for i, a in enumerate(domain.actions) for s in self._schemas(i, a)],
            "goals": self._goals(),
            "type_sets": self.type_sets,  # filled while the schemas and goals are made
            "init": init,
            "functions": list(self.functions),
            "function_arity": [len(f.parameters) for f in domain.functions.values()],
            "function_values": function_values,
            "numbers": list(map(self._scaled, values.values())),
        }

    # -- actions and goals

    def _schemas(self, number: int, action: model.Action) -> Iterable[tuple[Any, ...]]:
        self.place = f"action '{action.name}'"
        cost, terms = self._cost(action.cost)
        for hidden, conjuncts in self._disjuncts(action.precondition):
            parameters = action.parameters + hidden
            scope = _extend({}, parameters)
            effects = [made for effect in action.effects for made in self._effects(effect, scope)]
            yield (
                number,
                self._types(parameters),
                self._condition(conjuncts, scope),
                effects,
                cost,
                [(self.functions[term.predicate], self._terms(term.args, scope)) for term in terms],
            )

    def _effects(self, effect: model.Effect, scope: Scope) -> Iterable[tuple[Any, ...]]:
        for hidden, conjuncts in self._disjuncts(effect.condition):
            variables = effect.variables + hidden
            inner = _extend(scope, variables)
            yield (
                self._types(variables),
                self._condition(conjuncts, inner),
                self._literal(effect.atom, effect.positive, inner),
            )

    def _goals(self) -> list[tuple[Any, ...]]:
        self.place = "the goal"
        return [
            (self._types(hidden), self._condition(conjuncts, _extend({}, hidden)))
            for hidden, conjuncts in self._disjuncts(self.problem.goal)
        ]

    # -- conditions

    def _disjuncts(self, formula: Formula, wanted: bool = True) -> list[Disjunct]:
        """In which ways a condition can be as wanted."""
        match formula:
            case model.Constant(value):
                return [((), ())] if value == wanted else []
            case model.Not(inner):
                return self._disjuncts(inner, not wanted)
            case model.Junction(parts) if isinstance(formula, model.And) == wanted:
                result: list[Disjunct] = [((), ())]
                for part in parts:
                    split = self._disjuncts(part, wanted)
                    if len(result) * len(split) > MAX_DISJUNCTS:
                        grows = f"expands to more than {MAX_DISJUNCTS} disjuncts"
                        advice = "rewrite it with fewer nested 'or's"
                        message = f"a condition of {self.place} {grows}; {advice}"
                        raise UnsupportedPddlError(message, self.problem.path)
                    pairs = itertools.product(result, split)
                    result = [(h + hidden, c + conjuncts) for (h, c), (hidden, conjuncts) in pairs]
                return result
            case model.Junction(parts):
                return [one for part in parts for one in self._disjuncts(part, wanted)]
            case model.Quantified(variables, body) if isinstance(formula, model.Exists) == wanted:
                # Siblings may use the same name, and all of them go into one parameter list.
                renaming = {v.name: f"{v.name}#{next(self.fresh_numbers)}" for v in variables}
                renamed = tuple(model.Variable(renaming[v.name], v.types) for v in variables)
                below = self._disjuncts(model.substitute(body, renaming), wanted)
                return [(renamed + hidden, conjuncts) for hidden, conjuncts in below]
            case _:
                return [((), ((formula, wanted),))]

    def _condition(self, conjuncts: tuple[Literal, ...], scope: Scope) -> tuple[Any, Any]:
        quantified = [one for one in conjuncts if isinstance(one[0], model.Quantified)]
        literals = [self._literal(*one, scope) for one in conjuncts if one not in quantified]
        return literals, [self._formula(*one, scope) for one in quantified]

    def _formula(self, formula: Formula, wanted: bool, scope: Scope) -> tuple[Any, ...]:
        """A formula that holds where the given one is as wanted."""
        match formula:
            case model.Constant(value):
                return ("all" if value == wanted else "any", [], [], [])
            case model.Not(inner):
                return self._formula(inner, not wanted, scope)
            case model.Junction(parts):
                variables: Variables = ()
            case model.Quantified(variables, body):
                parts = (body,)
            case _:
                return ("literal", self._literal(formula, wanted, scope))
        word = "all" if isinstance(formula, (model.And, model.Forall)) == wanted else "any"
        below = _extend(scope, variables)
        numbers, types = [below[one.name] for one in variables], self._types(variables)
        return (word, numbers, types, [self._formula(part, wanted, below) for part in parts])

    def _literal(self, atom: Formula, positive: bool, scope: Scope) -> tuple[int, bool, list[int]]:
        if isinstance(atom, model.Equal):
            return (EQUALITY, not positive, self._terms((atom.left, atom.right), scope))
        assert isinstance(atom, model.Atom)
        return (self.predicates[atom.predicate], not positive, self._terms(atom.args, scope))

    def _terms(self, names: tuple[str, ...], scope: Scope) -> list[int]:
        return [scope[name] if name.startswith("?") else ~self.objects[name] for name in names]

    def _types(self, variables: Variables) -> list[int]:
        """The numbers of the variables' sets of types; new sets are added to `type_sets`."""
        numbers = []
        for variable in variables:
            number = self.type_set_of.setdefault(variable.types, len(self.type_sets))
            if number == len(self.type_sets):
                fitting = self.problem.objects_of(variable.types)
                self.type_sets.append([self.objects[name] for name in fitting])
            numbers.append(number)
        return numbers

    # -- costs

    def _common_denominator(self) -> int:
        scale, values = 1, self.problem.function_values
        terms = [term for action in self.problem.domain.actions for term in action.cost]
        used = {term.predicate for term in terms if isinstance(term, model.Atom)}
        numbers = [term for term in terms if not isinstance(term, model.Atom)]
        for number in (*numbers, *(values[term] for term in values if term[0] in used)):
            scale = lcm(scale, Fraction(str(number)).denominator)
            if scale > MAX_COST_SCALE:
                message = f"action costs such as {number} have too many decimals"
                advice = "round them so that all are multiples of one millionth"
                raise PddlError(f"{message}; {advice}", self.problem.path)
        return scale

    def _cost(self, terms: tuple[model.CostTerm, ...]) -> tuple[int, list[model.Atom]]:
        """The constant part of an action's cost and the function terms to add to it."""
        if not self.problem.uses_metric:
            return 1, []
        functions = [term for term in terms if isinstance(term, model.Atom)]
        numbers = [term for term in terms if not isinstance(term, model.Atom)]
        return sum(map(self._scaled, numbers)), functions

    def _scaled(self, number: int | float) -> int:
        return min(int(Fraction(str(number)) * self.cost_scale), TOO_LARGE_COST)


def _extend(scope: Scope, variables: Variables) -> Scope:
    """A scope with more variables, numbered after those already there."""
    first = max(scope.values(), default=-1) + 1
    return scope | {variable.name: number for number, variable in enumerate(variables, first)}

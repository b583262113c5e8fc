"""Lifted problem -> the numbered, normalised form that the native grounder reads.

Conditions are brought into negation normal form. Disjunctions outside universal quantifiers are
split: an action with a disjunctive precondition becomes several schemas, a
disjunctive effect condition several effects. Existential quantifiers outside universal ones become
additional, hidden parameters. What remains below a universal quantifier is passed on as a formula.
The grounder expands it for each ground instance, after static atoms have been decided.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from fractions import Fraction
from math import lcm
from typing import Any

from hstar.pddl.errors import PddlError, UnsupportedPddlError
from hstar.pddl.model import (
    Action,
    And,
    Atom,
    CostTerm,
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
)

EQUALITY = -1  # the predicate number of (= a b)
MAX_DISJUNCTS = 1024
MAX_COST_SCALE = 1_000_000
TOO_LARGE_COST = 2**40  # fits into an integer of the core, which refuses operators that cost more

Scope = dict[str, int]  # variable name -> number
Disjunct = tuple[tuple[Variable, ...], tuple[Formula, ...]]  # hidden variables, conjuncts


class Normalizer:
    """Numbers everything in a problem and normalises its conditions.

    `specification()` returns the dictionary of lists and numbers that `_core.ground` reads;
    `cost_scale` is the factor by which action costs were multiplied to make them whole.
    """

    def __init__(self, problem: Problem) -> None:
        domain = problem.domain
        self.problem = problem
        self.objects = {name: i for i, name in enumerate(problem.objects)}
        self.predicates = {name: i for i, name in enumerate(domain.predicates)}
        self.functions = {name: i for i, name in enumerate(domain.functions)}
        self.type_set_of: dict[tuple[str, ...], int] = {}
        self.type_sets: list[list[int]] = []
        self.fresh_names = 0
        self.place = ""  # what is being normalised, for messages
        self.cost_scale = self._common_denominator() if problem.uses_metric else 1

    def specification(self) -> dict[str, Any]:
        domain = self.problem.domain
        function_values, numbers = self._function_values()
        return {
            "objects": list(self.objects),
            "predicates": list(self.predicates),
            "predicate_arity": [len(p.parameters) for p in domain.predicates.values()],
            "actions": [action.name for action in domain.actions],
            "action_arity": [len(action.parameters) for action in domain.actions],
            "schemas": [s for i, a in enumerate(domain.actions) for s in self._schemas(i, a)],
            "goals": self._goals(),
            "type_sets": self.type_sets,  # filled while the schemas and goals are made
            "init": self._init(),
            "functions": list(self.functions),
            "function_arity": [len(f.parameters) for f in domain.functions.values()],
            "function_values": function_values,
            "numbers": numbers,
        }

    # -- actions and goals

    def _schemas(self, number: int, action: Action) -> Iterable[tuple[Any, ...]]:
        self.place = f"action '{action.name}'"
        cost, cost_terms = self._cost(action.cost)
        for hidden, conjuncts in self._disjuncts(action.precondition):
            parameters = action.parameters + hidden
            scope = {variable.name: i for i, variable in enumerate(parameters)}
            effects = [
                lowered
                for effect in action.effects
                for lowered in self._effects(effect.variables, effect.condition, effect, scope)
            ]
            yield (
                number,
                [self._type_set(variable.types) for variable in parameters],
                self._condition(conjuncts, scope),
                effects,
                cost,
                [
                    (self.functions[term.name], [self._term(arg, scope) for arg in term.args])
                    for term in cost_terms
                ],
            )

    def _effects(
        self, variables: tuple[Variable, ...], condition: Formula, effect: Any, scope: Scope
    ) -> Iterable[tuple[Any, ...]]:
        for hidden, conjuncts in self._disjuncts(condition):
            inner = _extend(scope, variables + hidden)
            yield (
                [self._type_set(variable.types) for variable in variables + hidden],
                self._condition(conjuncts, inner),
                self._literal(effect.atom, not effect.positive, inner),
            )

    def _goals(self) -> list[tuple[Any, ...]]:
        self.place = "the goal"
        goals = []
        for hidden, conjuncts in self._disjuncts(self.problem.goal):
            scope = _extend({}, hidden)
            types = [self._type_set(variable.types) for variable in hidden]
            goals.append((types, self._condition(conjuncts, scope)))
        return goals

    # -- conditions

    def _disjuncts(self, formula: Formula) -> list[Disjunct]:
        return self._split(_negation_normal_form(formula, True))

    def _split(self, formula: Formula) -> list[Disjunct]:
        match formula:
            case Truth():
                return [((), ())]
            case Falsity():
                return []
            case And(parts):
                result: list[Disjunct] = [((), ())]
                for part in parts:
                    split = self._split(part)
                    if len(result) * len(split) > MAX_DISJUNCTS:
                        raise UnsupportedPddlError(
                            f"a condition of {self.place} expands to more than "
                            f"{MAX_DISJUNCTS} disjuncts; rewrite it with fewer nested 'or's",
                            self.problem.path,
                        )
                    result = [
                        (hidden + more_hidden, conjuncts + more_conjuncts)
                        for hidden, conjuncts in result
                        for more_hidden, more_conjuncts in split
                    ]
                return result
            case Or(parts):
                return [disjunct for part in parts for disjunct in self._split(part)]
            case Exists(variables, body):
                # Siblings may use the same name, and all of them go into one parameter list.
                renamed, renaming = [], {}
                for variable in variables:
                    self.fresh_names += 1
                    renaming[variable.name] = f"{variable.name}#{self.fresh_names}"
                    renamed.append(Variable(renaming[variable.name], variable.types))
                return [
                    (tuple(renamed) + hidden, conjuncts)
                    for hidden, conjuncts in self._split(substitute(body, renaming))
                ]
            case _:
                return [((), (formula,))]

    def _condition(self, conjuncts: tuple[Formula, ...], scope: Scope) -> tuple[Any, Any]:
        literals, formulas = [], []
        for conjunct in conjuncts:
            if isinstance(conjunct, Forall):
                formulas.append(self._formula(conjunct, scope))
            else:
                literals.append(self._literal_of(conjunct, scope))
        return literals, formulas

    def _formula(self, formula: Formula, scope: Scope) -> tuple[Any, ...]:
        match formula:
            case Truth():
                return ("and", [])
            case Falsity():
                return ("or", [])
            case And(parts):
                return ("and", [self._formula(part, scope) for part in parts])
            case Or(parts):
                return ("or", [self._formula(part, scope) for part in parts])
            case Forall(variables, body) | Exists(variables, body):
                inner = _extend(scope, variables)
                return (
                    "forall" if isinstance(formula, Forall) else "exists",
                    [inner[variable.name] for variable in variables],
                    [self._type_set(variable.types) for variable in variables],
                    self._formula(body, inner),
                )
            case _:
                return ("literal", self._literal_of(formula, scope))

    def _literal_of(self, formula: Formula, scope: Scope) -> tuple[int, bool, list[int]]:
        if isinstance(formula, Not):
            return self._literal(formula.formula, True, scope)
        return self._literal(formula, False, scope)

    def _literal(self, atom: Formula, negated: bool, scope: Scope) -> tuple[int, bool, list[int]]:
        if isinstance(atom, Equal):
            terms = [self._term(atom.left, scope), self._term(atom.right, scope)]
            return (EQUALITY, negated, terms)
        assert isinstance(atom, Atom)
        return (
            self.predicates[atom.predicate],
            negated,
            [self._term(arg, scope) for arg in atom.args],
        )

    def _term(self, name: str, scope: Scope) -> int:
        return scope[name] if name.startswith("?") else ~self.objects[name]

    def _type_set(self, types: tuple[str, ...]) -> int:
        known = self.type_set_of.get(types)
        if known is None:
            known = self.type_set_of[types] = len(self.type_sets)
            self.type_sets.append([self.objects[name] for name in self.problem.objects_of(types)])
        return known

    # -- the initial state

    def _init(self) -> array[int]:
        predicates, objects = self.predicates, self.objects
        flat = array("i")
        for atom in self.problem.init:
            flat.append(predicates[atom[0]])
            flat.extend([objects[name] for name in atom[1:]])
        return flat

    # -- costs

    def _common_denominator(self) -> int:
        scale = 1
        for number in self._cost_numbers():
            scale = lcm(scale, Fraction(str(number)).denominator)
            if scale > MAX_COST_SCALE:
                raise PddlError(
                    f"action costs such as {number} have too many decimals; "
                    "round them so that all are multiples of one millionth",
                    self.problem.path,
                )
        return scale

    def _cost_numbers(self) -> Iterable[int | float]:
        used = set()
        for action in self.problem.domain.actions:
            for term in action.cost:
                if isinstance(term, FunctionTerm):
                    used.add(term.name)
                else:
                    yield term
        for (name, *_), number in self.problem.function_values.items():
            if name in used:
                yield number

    def _cost(self, terms: tuple[CostTerm, ...]) -> tuple[int, list[FunctionTerm]]:
        """The constant part of an action's cost and the function terms to add to it."""
        if not self.problem.uses_metric:
            return 1, []
        constant = sum(self._scaled(term) for term in terms if not isinstance(term, FunctionTerm))
        return constant, [term for term in terms if isinstance(term, FunctionTerm)]

    def _scaled(self, number: int | float) -> int:
        return min(int(Fraction(str(number)) * self.cost_scale), TOO_LARGE_COST)

    def _function_values(self) -> tuple[list[int], list[int]]:
        flat: list[int] = []
        numbers: list[int] = []
        if self.problem.uses_metric:
            for (name, *args), number in self.problem.function_values.items():
                flat += [self.functions[name], *(self.objects[arg] for arg in args), len(numbers)]
                numbers.append(self._scaled(number))
        return flat, numbers


def _extend(scope: Scope, variables: tuple[Variable, ...]) -> Scope:
    """A scope with more variables, numbered after those already there."""
    inner = dict(scope)
    next_number = max(scope.values(), default=-1) + 1
    for i, variable in enumerate(variables):
        inner[variable.name] = next_number + i
    return inner


def _negation_normal_form(formula: Formula, positive: bool) -> Formula:
    """Negations pushed inwards until they apply to atoms only."""
    match formula:
        case Truth() | Falsity():
            return formula if positive else (Falsity() if formula == Truth() else Truth())
        case Not(inner):
            return _negation_normal_form(inner, not positive)
        case And(parts) | Or(parts):
            normal = tuple(_negation_normal_form(part, positive) for part in parts)
            return And(normal) if isinstance(formula, And) == positive else Or(normal)
        case Forall(variables, body) | Exists(variables, body):
            inner = _negation_normal_form(body, positive)
            if isinstance(formula, Forall) == positive:
                return Forall(variables, inner)
            return Exists(variables, inner)
        case _:
            return formula if positive else Not(formula)

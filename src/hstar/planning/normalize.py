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

from hstar.pddl import model
from hstar.pddl.errors import PddlError, UnsupportedPddlError
from hstar.pddl.model import Formula, Variables

EQUALITY = -1  # the predicate number of (= a b)
MAX_DISJUNCTS = 1024
MAX_COST_SCALE = 1_000_000
TOO_LARGE_COST = 2**40  # fits into an integer of the core, which refuses operators that cost more

Scope = dict[str, int]  # variable name -> number
Disjunct = tuple[Variables, tuple[Formula, ...]]  # hidden variables, conjuncts


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

    def _schemas(self, number: int, action: model.Action) -> Iterable[tuple[Any, ...]]:
        self.place = f"action '{action.name}'"
        cost, cost_terms = self._cost(action.cost)
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
                [(self.functions[term.name], self._terms(term.args, scope)) for term in cost_terms],
            )

    def _effects(self, effect: model.Effect, scope: Scope) -> Iterable[tuple[Any, ...]]:
        literal = effect.atom if effect.positive else model.Not(effect.atom)
        for hidden, conjuncts in self._disjuncts(effect.condition):
            variables = effect.variables + hidden
            inner = _extend(scope, variables)
            yield (
                self._types(variables),
                self._condition(conjuncts, inner),
                self._literal(literal, inner),
            )

    def _goals(self) -> list[tuple[Any, ...]]:
        self.place = "the goal"
        return [
            (self._types(hidden), self._condition(conjuncts, _extend({}, hidden)))
            for hidden, conjuncts in self._disjuncts(self.problem.goal)
        ]

    # -- conditions

    def _disjuncts(self, formula: Formula) -> list[Disjunct]:
        return self._split(_negation_normal_form(formula, True))

    def _split(self, formula: Formula) -> list[Disjunct]:
        match formula:
            case model.Constant(value):
                return [((), ())] if value else []
            case model.And(parts):
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
            case model.Or(parts):
                return [disjunct for part in parts for disjunct in self._split(part)]
            case model.Exists(variables, body):
                # Siblings may use the same name, and all of them go into one parameter list.
                renamed, renaming = [], {}
                for variable in variables:
                    self.fresh_names += 1
                    renaming[variable.name] = f"{variable.name}#{self.fresh_names}"
                    renamed.append(model.Variable(renaming[variable.name], variable.types))
                return [
                    (tuple(renamed) + hidden, conjuncts)
                    for hidden, conjuncts in self._split(model.substitute(body, renaming))
                ]
            case _:
                return [((), (formula,))]

    def _condition(self, conjuncts: tuple[Formula, ...], scope: Scope) -> tuple[Any, Any]:
        literals, formulas = [], []
        for conjunct in conjuncts:
            if isinstance(conjunct, model.Forall):
                formulas.append(self._formula(conjunct, scope))
            else:
                literals.append(self._literal(conjunct, scope))
        return literals, formulas

    def _formula(self, formula: Formula, scope: Scope) -> tuple[Any, ...]:
        match formula:
            case model.Constant(value):
                return ("and" if value else "or", [])
            case model.Junction(parts):
                return (formula.word, [self._formula(part, scope) for part in parts])
            case model.Quantified(variables, body):
                inner = _extend(scope, variables)
                numbers = [inner[variable.name] for variable in variables]
                types = self._types(variables)
                return (formula.word, numbers, types, self._formula(body, inner))
            case _:
                return ("literal", self._literal(formula, scope))

    def _literal(self, formula: Formula, scope: Scope) -> tuple[int, bool, list[int]]:
        negated = isinstance(formula, model.Not)
        atom = formula.formula if isinstance(formula, model.Not) else formula
        if isinstance(atom, model.Equal):
            return (EQUALITY, negated, self._terms((atom.left, atom.right), scope))
        assert isinstance(atom, model.Atom)
        return (self.predicates[atom.predicate], negated, self._terms(atom.args, scope))

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
                if isinstance(term, model.FunctionTerm):
                    used.add(term.name)
                else:
                    yield term
        for (name, *_), number in self.problem.function_values.items():
            if name in used:
                yield number

    def _cost(self, terms: tuple[model.CostTerm, ...]) -> tuple[int, list[model.FunctionTerm]]:
        """The constant part of an action's cost and the function terms to add to it."""
        if not self.problem.uses_metric:
            return 1, []
        functions = [term for term in terms if isinstance(term, model.FunctionTerm)]
        numbers = [term for term in terms if not isinstance(term, model.FunctionTerm)]
        return sum(map(self._scaled, numbers)), functions

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


def _extend(scope: Scope, variables: Variables) -> Scope:
    """A scope with more variables, numbered after those already there."""
    inner = dict(scope)
    next_number = max(scope.values(), default=-1) + 1
    for i, variable in enumerate(variables):
        inner[variable.name] = next_number + i
    return inner


def _negation_normal_form(formula: Formula, positive: bool) -> Formula:
    """Negations pushed inwards until they apply to atoms only."""
    match formula:
        case model.Constant():
            return formula if positive else model.negation(formula)
        case model.Not(inner):
            return _negation_normal_form(inner, not positive)
        case model.Junction(parts):
            normal = tuple(_negation_normal_form(part, positive) for part in parts)
            kind = model.And if isinstance(formula, model.And) == positive else model.Or
            return kind(normal)
        case model.Quantified(variables, body):
            universal = isinstance(formula, model.Forall) == positive
            quantifier = model.Forall if universal else model.Exists
            return quantifier(variables, _negation_normal_form(body, positive))
        case _:
            return formula if positive else model.Not(formula)

"""Conditions: preconditions, goals, and the conditions of effects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from hstar.pddl import model
from hstar.pddl.declarations import RESERVED, read_variables, unknown
from hstar.pddl.errors import InputFileError, count, quote, shorten
from hstar.pddl.model import Domain, Formula, Types, Variables, types_text
from hstar.pddl.reader import Form, describe


class Scope(NamedTuple):
    """The variables in scope at some point of a file.

    `names` maps their names in the file to variables of the model; the two differ if a quantifier
    reuses a name. `bound` contains every variable of the model bound so far, also shadowed ones.
    """

    names: dict[str, str]
    bound: frozenset[str]


NO_VARIABLES = Scope({}, frozenset())

_CONSTRAINTS = (
    "always sometime within at-most-once sometime-after sometime-before always-within hold-during "
    "hold-after"
)
_UNSUPPORTED = {
    **{name: f"numeric condition '{name}'" for name in ("<", ">", "<=", ">=")},
    **{name: f"trajectory constraint '{name}'" for name in _CONSTRAINTS.split()},
    "preference": "preference",
}


@dataclass(slots=True)
class ConditionReader:
    """Reads conditions on these objects. All methods take a list and an index rather than the item,
    so that errors can point to its position. The actions of the domain need not be known yet."""

    domain: Domain
    objects: dict[str, Types]
    objects_are_declared_in: str

    def condition(self, parent: Form, index: int, scope: Scope) -> Formula:
        """Read the condition `parent[index]`; the empty list is true."""
        form = self.expect_list(parent, index, "a condition")
        if not form:
            return model.TRUTH
        head = form[0]
        if head == "and" or head == "or":
            join = model.conjunction if head == "and" else model.disjunction
            return join([self.condition(form, i, scope) for i in range(1, len(form))])
        if head == "not":
            expect_length(form, 2, "(not CONDITION)")
            return model.negation(self.condition(form, 1, scope))
        if head == "imply":
            expect_length(form, 3, "(imply CONDITION CONDITION)")
            premise = self.condition(form, 1, scope)
            return model.disjunction([model.negation(premise), self.condition(form, 2, scope)])
        if head == "forall" or head == "exists":
            expect_length(form, 3, f"({head} (?x - type) CONDITION)")
            variables, inner = self.bind(form, 1, scope)
            body = self.condition(form, 2, inner)
            if not variables or body == model.Constant(head == "forall"):
                return body  # for any number of objects
            return (model.Forall if head == "forall" else model.Exists)(variables, body)
        if head == "=":
            return self._equality(form, scope)
        return self.atom(parent, index, scope, "a condition")

    def bind(self, form: Form, index: int, scope: Scope) -> tuple[Variables, Scope]:
        """Read a list of variables; rename those that are bound already."""
        names, taken, variables = dict(scope.names), set(scope.bound), []
        for declared, types, _ in read_variables(form, index, self.domain.types):
            name, number = declared, 1
            while name in taken:
                name, number = f"{declared}.{number + 1}", number + 1
            taken.add(name)
            names[declared] = name
            variables.append(model.Variable(name, types))
        return tuple(variables), Scope(names, frozenset(taken))

    def atom(self, parent: Form, index: int, scope: Scope, expected: str) -> model.Atom:
        form = self.expect_list(parent, index, expected)
        name = form[0] if form else form
        if isinstance(name, Form):
            raise parent.expected(index, expected, "write '(name ?x)'")
        predicate = self.domain.predicates.get(name)
        if predicate is None:
            raise self.unknown_predicate(form, name)
        return model.Atom(name, self.arguments(form, predicate, scope))

    def unknown_predicate(self, form: Form, name: str) -> InputFileError:
        """The error for a list that does not start with a declared predicate."""
        if name in _UNSUPPORTED:
            return form.unsupported(0, _UNSUPPORTED[name], "remove it from the model")
        if name in RESERVED or name == "=":
            return form.error(0, f"{quote(name)} cannot stand here; a plain atom is expected")
        message = unknown("predicate", name, self.domain.predicates, "(:predicates ...)")
        return form.error(0, message)

    def arguments(self, form: Form, declared: model.Predicate, scope: Scope) -> tuple[str, ...]:
        wanted = len(declared.parameters)
        if len(form) - 1 != wanted:
            takes = f"{quote(declared.name)} takes {count(wanted, 'argument')}, not {len(form) - 1}"
            message = f"{takes}; it is declared as {shorten(str(declared), 200)}"
            raise form.error(min(len(form) - 1, wanted + 1), message)
        terms = []
        for index, parameter in enumerate(declared.parameters, 1):
            term = self.term(form, index, scope)
            if term[0] != "?":
                types = self.objects[term]
                if not self.domain.type_tree.has_type(types, parameter.types):
                    wrong = f"wrong type: {quote(term)} has type {types_text(types)}"
                    place = f"argument {index} of {quote(declared.name)}"
                    needs = f"but {place} needs type {types_text(parameter.types)}"
                    form.warn_once(index, f"{wrong}, {needs}; it is accepted anyway")
            terms.append(term)
        return tuple(terms)

    def term(self, form: Form, index: int, scope: Scope) -> str:
        item = form[index]
        if isinstance(item, Form):
            if item and isinstance(item[0], str) and item[0] in self.domain.functions:
                feature = f"function {quote(item[0])} used as an argument (object fluent)"
                raise form.unsupported(index, feature, "use a predicate instead")
            raise form.expected(index, "a variable or an object", "check the parentheses")
        if item[0] == "?":
            name = scope.names.get(item)
            if name is None:
                place = ":parameters or in a quantifier around it"
                raise form.error(index, unknown("variable", item, scope.names, place))
            return name
        if item not in self.objects:
            place = self.objects_are_declared_in
            raise form.error(index, unknown("object", item, self.objects, place))
        return item

    def expect_list(self, parent: Form, index: int, expected: str) -> Form:
        """The list `parent[index]`, or an error that says what was expected there."""
        if index >= len(parent):
            raise parent.error(index, f"expected {expected} here, found ')'; add it")
        item = parent[index]
        if isinstance(item, str):
            known = item in self.domain.predicates
            hint = f"write '({item})'" if known else "check the parentheses"
            raise parent.expected(index, expected, hint)
        return item

    def _equality(self, form: Form, scope: Scope) -> Formula:
        expect_length(form, 3, "(= ?x ?y)")
        for index, item in enumerate(form[1:], 1):
            if isinstance(item, Form) or (
                item not in self.objects and (item in self.domain.functions or is_number(item))
            ):
                feature = f"numeric condition '=' on {describe(item)}"
                raise form.unsupported(index, feature, "only objects and variables can be compared")
        left, right = self.term(form, 1, scope), self.term(form, 2, scope)
        return model.TRUTH if left == right else model.Equal(left, right)


def expect_length(form: Form, length: int, pattern: str) -> None:
    if len(form) != length:
        takes = f"{quote(form[0])} takes {count(length - 1, 'argument')}, not {len(form) - 1}"
        raise form.error(min(len(form), length), f"{takes}; write '{pattern}'")


def is_number(text: str) -> bool:
    return text.lstrip("+-").replace(".", "", 1).isdecimal()

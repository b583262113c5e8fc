"""Conditions: preconditions, goals, and the conditions of effects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from hstar.pddl.declarations import did_you_mean, read_variables
from hstar.pddl.errors import InputFileError, UnsupportedPddlError, quote
from hstar.pddl.model import (
    FALSITY,
    TRUTH,
    Atom,
    Equal,
    Exists,
    Falsity,
    Forall,
    Formula,
    Predicate,
    Truth,
    TypeTree,
    Variable,
    conjunction,
    disjunction,
    negation,
    types_text,
)
from hstar.pddl.reader import Form, describe, item_error, warn_once
from hstar.pddl.source import Source


class Scope(NamedTuple):
    """The variables in scope at some point of a file.

    `names` maps their names in the file to variables of the model; the two differ if a quantifier
    reuses a name. `bound` contains every variable of the model bound so far, also shadowed ones.
    """

    names: dict[str, str]
    bound: frozenset[str]


NO_VARIABLES = Scope({}, frozenset())

_COMPARISONS = frozenset(("<", ">", "<=", ">="))
_CONSTRAINTS = frozenset(
    (
        "always",
        "sometime",
        "within",
        "at-most-once",
        "sometime-after",
        "sometime-before",
        "always-within",
        "hold-during",
        "hold-after",
    )
)


@dataclass(slots=True)
class Symbols:
    """The names that a condition or an effect may use."""

    types: dict[str, tuple[str, ...]]
    tree: TypeTree
    objects: dict[str, tuple[str, ...]]
    predicates: dict[str, Predicate]
    functions: dict[str, Predicate]
    objects_are_declared_in: str


class ConditionReader:
    """Reads conditions of one file. All methods take a list and an index rather than the item, so
    that errors can point to its position."""

    __slots__ = ("source", "symbols")

    def __init__(self, source: Source, symbols: Symbols) -> None:
        self.source = source
        self.symbols = symbols

    def error(
        self, form: Form, index: int, message: str, kind: type[InputFileError] | None = None
    ) -> InputFileError:
        return item_error(self.source, form, index, message, kind)

    def condition(self, parent: Form, index: int, scope: Scope) -> Formula:
        """Read the condition `parent[index]`; the empty list is true."""
        form = self.expect_list(parent, index, "a condition")
        if not form:
            return TRUTH
        head = form[0]
        if head == "and" or head == "or":
            parts = []
            for position in range(1, len(form)):
                parts.append(self.condition(form, position, scope))
            return conjunction(parts) if head == "and" else disjunction(parts)
        if head == "not":
            self.expect_length(form, 2, "(not CONDITION)")
            return negation(self.condition(form, 1, scope))
        if head == "imply":
            self.expect_length(form, 3, "(imply CONDITION CONDITION)")
            premise = self.condition(form, 1, scope)
            return disjunction([negation(premise), self.condition(form, 2, scope)])
        if head == "forall" or head == "exists":
            self.expect_length(form, 3, f"({head} (?x - type) CONDITION)")
            variables, inner = self.bind(form, 1, scope)
            body = self.condition(form, 2, inner)
            if not variables or (head == "forall" and isinstance(body, Truth)):
                return body
            if head == "exists" and isinstance(body, Falsity):
                return FALSITY
            return Forall(variables, body) if head == "forall" else Exists(variables, body)
        if head == "=":
            return self._equality(form, scope)
        return self.atom(parent, index, scope, "a condition")

    def bind(self, form: Form, index: int, scope: Scope) -> tuple[tuple[Variable, ...], Scope]:
        """Read a list of variables; rename those that are bound already."""
        names = dict(scope.names)
        taken = set(scope.bound)
        variables = []
        for declared in read_variables(self.source, form, index, self.symbols.types):
            name = declared.name
            number = 2
            while name in taken:
                name = f"{declared.name}.{number}"
                number += 1
            taken.add(name)
            names[declared.name] = name
            variables.append(Variable(name, declared.types))
        return tuple(variables), Scope(names, frozenset(taken))

    def atom(self, parent: Form, index: int, scope: Scope, expected: str) -> Atom:
        """Read "(predicate term...)" and check it against the declaration."""
        form = self.expect_list(parent, index, expected)
        name = form[0] if form else form
        if isinstance(name, Form):
            raise self.error(
                parent, index, f"expected {expected}, found {describe(form)}; write '(name ?x)'"
            )
        predicate = self.symbols.predicates.get(name)
        if predicate is None:
            raise self.unknown_predicate(form, name)
        return Atom(name, self.arguments(form, predicate, scope))

    def unknown_predicate(self, form: Form, name: str) -> InputFileError:
        """The error for a list that does not start with a declared predicate."""
        unsupported = None
        if name in _COMPARISONS:
            unsupported = f"numeric condition {quote(name)}"
        elif name in _CONSTRAINTS:
            unsupported = f"trajectory constraint {quote(name)}"
        elif name == "preference":
            unsupported = "preference"
        if unsupported:
            return self.error(
                form,
                0,
                f"{unsupported}: not supported; remove it from the model",
                UnsupportedPddlError,
            )
        known = self.symbols.predicates
        if name in ("and", "or", "not", "imply", "forall", "exists", "when", "="):
            return self.error(form, 0, f"{quote(name)} cannot stand here; a plain atom is expected")
        return self.error(
            form,
            0,
            f"unknown predicate {quote(name)}; "
            f"declare it in (:predicates ...){did_you_mean(name, known)}",
        )

    def arguments(self, form: Form, declared: Predicate, scope: Scope) -> tuple[str, ...]:
        """Read the terms after the name of a predicate or function."""
        wanted = len(declared.parameters)
        if len(form) - 1 != wanted:
            raise self.error(
                form,
                min(len(form) - 1, wanted + 1),
                f"{quote(declared.name)} takes {count(wanted, 'argument')}, not {len(form) - 1}; "
                f"it is declared as {_declaration(declared)}",
            )
        terms = []
        for index, parameter in enumerate(declared.parameters, 1):
            term = self.term(form, index, scope)
            if term[0] != "?":
                types = self.symbols.objects[term]
                if not self.symbols.tree.has_type(types, parameter.types):
                    warn_once(self.source, form, index, _wrong_type(term, types, declared, index))
            terms.append(term)
        return tuple(terms)

    def term(self, form: Form, index: int, scope: Scope) -> str:
        """Read a variable in scope or a known object."""
        item = form[index]
        if isinstance(item, Form):
            if item and isinstance(item[0], str) and item[0] in self.symbols.functions:
                raise self.error(
                    form,
                    index,
                    f"function {quote(item[0])} used as an argument (object fluent): not "
                    "supported; use a predicate instead",
                    UnsupportedPddlError,
                )
            raise self.error(
                form,
                index,
                f"expected a variable or an object, found {describe(item)}; check the parentheses",
            )
        if item[0] == "?":
            name = scope.names.get(item)
            if name is None:
                raise self.error(
                    form,
                    index,
                    f"unknown variable {quote(item)}; declare it in :parameters or in a "
                    f"quantifier around it{did_you_mean(item, scope.names)}",
                )
            return name
        if item not in self.symbols.objects:
            raise self.error(
                form,
                index,
                _unknown_object(item, self.symbols.objects, self.symbols.objects_are_declared_in),
            )
        return item

    def expect_list(self, parent: Form, index: int, expected: str) -> Form:
        """The list `parent[index]`, or an error that says what was expected there."""
        if index >= len(parent):
            raise self.error(parent, index, f"expected {expected} here, found ')'; add it")
        item = parent[index]
        if isinstance(item, str):
            known = item in self.symbols.predicates
            hint = f"write '({item})'" if known else "check the parentheses"
            raise self.error(parent, index, f"expected {expected}, found {quote(item)}; {hint}")
        return item

    def expect_length(self, form: Form, length: int, pattern: str) -> None:
        if len(form) != length:
            raise self.error(
                form,
                min(len(form), length),
                f"{quote(form[0])} takes {count(length - 1, 'argument')}, not {len(form) - 1}; "
                f"write '{pattern}'",
            )

    def _equality(self, form: Form, scope: Scope) -> Formula:
        self.expect_length(form, 3, "(= ?x ?y)")
        for index in (1, 2):
            item = form[index]
            numeric = isinstance(item, Form) or (
                item not in self.symbols.objects
                and (item in self.symbols.functions or is_number(item))
            )
            if numeric:
                raise self.error(
                    form,
                    index,
                    f"numeric condition '=' on {describe(item)}: not supported; "
                    "only objects and variables can be compared",
                    UnsupportedPddlError,
                )
        left, right = self.term(form, 1, scope), self.term(form, 2, scope)
        return TRUTH if left == right else Equal(left, right)


def is_number(text: str) -> bool:
    """Whether a name looks like a number."""
    return text.lstrip("+-").replace(".", "", 1).isdecimal()


def count(number: int, noun: str) -> str:
    """A number of things in words: "1 argument", "2 arguments"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _unknown_object(name: str, known: dict[str, tuple[str, ...]], declared_in: str) -> str:
    """The message for a name that is not an object."""
    return f"unknown object {quote(name)}; declare it in {declared_in}{did_you_mean(name, known)}"


def _wrong_type(name: str, types: tuple[str, ...], declared: Predicate, index: int) -> str:
    """The message for an object that does not fit argument `index` (from 1) of a declaration."""
    wanted = declared.parameters[index - 1].types
    return (
        f"wrong type: {quote(name)} has type {types_text(types)}, but argument {index} of "
        f"{quote(declared.name)} needs type {types_text(wanted)}; it is accepted anyway"
    )


def _declaration(declared: Predicate) -> str:
    text = str(declared)
    return text if len(text) <= 200 else text[:197] + "..."

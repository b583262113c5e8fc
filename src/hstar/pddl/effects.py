"""Effects of actions: flattened to single conditional atoms, and the increase of total-cost."""

from __future__ import annotations

import re

from hstar.pddl.conditions import ConditionReader, Scope, is_number
from hstar.pddl.declarations import TOTAL_COST, did_you_mean
from hstar.pddl.errors import UnsupportedPddlError, quote
from hstar.pddl.model import (
    TRUTH,
    CostTerm,
    Effect,
    Falsity,
    Formula,
    FunctionTerm,
    Variable,
    conjunction,
)
from hstar.pddl.reader import Form, describe, item_error
from hstar.pddl.source import Source

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)", re.ASCII)
# Up to here floats are exact integers, so costs have the same sum in any order.
_MAX_NUMBER = 2**53
_MAX_DIGITS = 400

_NUMERIC_CHANGES = frozenset(("assign", "decrease", "scale-up", "scale-down", "increase"))
_UNSUPPORTED_EFFECTS = {
    "oneof": "non-deterministic effect 'oneof'",
    "probabilistic": "probabilistic effect",
}


class EffectReader:
    """Reads the effect of one action into `effects` and `cost`."""

    __slots__ = ("conditions", "cost", "effects")

    def __init__(self, conditions: ConditionReader) -> None:
        self.conditions = conditions
        self.effects: list[Effect] = []
        self.cost: list[CostTerm] = []

    def read(self, parent: Form, index: int, scope: Scope) -> None:
        """Read the effect `parent[index]`, the whole of an action's effect."""
        self._effect(parent, index, scope, (), TRUTH)

    def _effect(
        self,
        parent: Form,
        index: int,
        scope: Scope,
        variables: tuple[Variable, ...],
        condition: Formula,
    ) -> None:
        conditions = self.conditions
        form = conditions.expect_list(parent, index, "an effect")
        if not form:
            return
        head = form[0]
        if head == "and":
            for position in range(1, len(form)):
                self._effect(form, position, scope, variables, condition)
        elif head == "forall":
            conditions.expect_length(form, 3, "(forall (?x - type) EFFECT)")
            bound, inner = conditions.bind(form, 1, scope)
            self._effect(form, 2, inner, variables + bound, condition)
        elif head == "when":
            conditions.expect_length(form, 3, "(when CONDITION EFFECT)")
            both = conjunction([condition, conditions.condition(form, 1, scope)])
            self._effect(form, 2, scope, variables, both)
        elif head == "not":
            conditions.expect_length(form, 2, "(not (ATOM))")
            atom = conditions.atom(form, 1, scope, "an atom")
            self._add(Effect(variables, condition, atom, False))
        elif isinstance(head, str) and head not in conditions.symbols.predicates:
            self._not_an_atom(form, head, scope, bool(variables) or condition is not TRUTH)
        else:
            atom = conditions.atom(parent, index, scope, "an effect")
            self._add(Effect(variables, condition, atom, True))

    def _add(self, effect: Effect) -> None:
        if not isinstance(effect.condition, Falsity):
            self.effects.append(effect)

    def _not_an_atom(self, form: Form, head: str, scope: Scope, conditional: bool) -> None:
        error = self.conditions.error
        if head in _UNSUPPORTED_EFFECTS:
            raise error(
                form,
                0,
                f"{_UNSUPPORTED_EFFECTS[head]}: not supported; use one action per outcome",
                UnsupportedPddlError,
            )
        if head not in _NUMERIC_CHANGES:
            raise self.conditions.unknown_predicate(form, head)
        target = form[1] if len(form) > 1 else None
        if head != "increase" or target not in ([TOTAL_COST], TOTAL_COST):
            raise error(
                form,
                0,
                f"numeric effect {quote(head)}: not supported; "
                f"only '(increase ({TOTAL_COST}) ...)' is",
                UnsupportedPddlError,
            )
        self.conditions.expect_length(form, 3, f"(increase ({TOTAL_COST}) COST)")
        if conditional:
            raise error(
                form,
                0,
                "an action cost inside 'when' or 'forall' (state-dependent cost): not supported; "
                "move it to the top of the effect",
                UnsupportedPddlError,
            )
        self._cost(form, 2, scope)

    def _cost(self, parent: Form, index: int, scope: Scope) -> None:
        """Read a constant, a function term or a sum of such, and append its terms."""
        conditions = self.conditions
        functions = conditions.symbols.functions
        item = parent[index]
        if isinstance(item, str) and is_number(item):
            self.cost.append(read_cost(conditions.source, parent, index))
            return
        name = item if isinstance(item, str) else (item[0] if item else "")
        if isinstance(item, Form) and name == "+":
            for position in range(1, len(item)):
                self._cost(item, position, scope)
            return
        if name in ("-", "*", "/") and isinstance(item, Form):
            raise conditions.error(
                parent,
                index,
                f"arithmetic {quote(name)} in an action cost: not supported; "
                "use a constant, a function or a sum",
                UnsupportedPddlError,
            )
        if not isinstance(name, str) or not name:
            raise conditions.error(
                parent, index, f"expected a cost, found {describe(item)}; write a number or (name)"
            )
        if name == TOTAL_COST:
            raise conditions.error(
                parent,
                index,
                f"an action cost that depends on '{TOTAL_COST}': not supported; use a constant",
                UnsupportedPddlError,
            )
        if name not in functions:
            raise conditions.error(
                parent,
                index,
                f"unknown function {quote(name)}; "
                f"declare it in (:functions ...){did_you_mean(name, functions)}",
            )
        if isinstance(item, str):
            if functions[name].parameters:
                raise conditions.error(
                    parent, index, f"function {quote(name)} needs arguments; write '({name} ...)'"
                )
            self.cost.append(FunctionTerm(name, ()))
        else:
            args = conditions.arguments(item, functions[name], scope)
            self.cost.append(FunctionTerm(name, args))


def read_number(source: Source, form: Form, index: int) -> int | float:
    """Read a decimal number; whole numbers become int, however they are written."""
    item = form[index]
    if isinstance(item, Form) or not _NUMBER.fullmatch(item):
        raise item_error(
            source, form, index, f"expected a number, found {describe(item)}; write digits"
        )
    if len(item) > _MAX_DIGITS or abs(float(item)) > _MAX_NUMBER:
        raise item_error(
            source, form, index, f"number {quote(item)} is too large; the limit is 2^53"
        )
    value = float(item)
    return int(value) if value.is_integer() else value


def read_cost(source: Source, form: Form, index: int) -> int | float:
    """Read a number that must not be negative."""
    value = read_number(source, form, index)
    if value < 0:
        raise item_error(
            source, form, index, f"negative cost {form[index]}; costs must be 0 or more"
        )
    return value

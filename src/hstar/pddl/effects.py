"""Effects of actions: flattened to single conditional atoms, and the increase of total-cost."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hstar.pddl import model
from hstar.pddl.conditions import ConditionReader, Scope, expect_length, is_number
from hstar.pddl.declarations import TOTAL_COST, unknown
from hstar.pddl.errors import quote
from hstar.pddl.model import Formula, Variables
from hstar.pddl.reader import Form

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)", re.ASCII)
# Up to here floats are exact integers, so costs have the same sum in any order.
_MAX_NUMBER = 2**53
_MAX_DIGITS = 400

_NUMERIC_CHANGES = frozenset(("assign", "decrease", "scale-up", "scale-down", "increase"))
_UNSUPPORTED_EFFECTS = {
    "oneof": "non-deterministic effect 'oneof'",
    "probabilistic": "probabilistic effect",
}


@dataclass(slots=True)
class EffectReader:
    """Reads the effect of one action into `effects` and `cost`."""

    conditions: ConditionReader
    effects: list[model.Effect] = field(default_factory=list)
    cost: list[model.CostTerm] = field(default_factory=list)

    def read(
        self,
        parent: Form,
        index: int,
        scope: Scope,
        variables: Variables = (),
        condition: Formula = model.TRUTH,
    ) -> None:
        """Read the effect `parent[index]`, which is below these variables and this condition."""
        conditions = self.conditions
        form = conditions.expect_list(parent, index, "an effect")
        if not form:
            return
        head = form[0]
        if head == "and":
            for position in range(1, len(form)):
                self.read(form, position, scope, variables, condition)
        elif head == "forall":
            expect_length(form, 3, "(forall (?x - type) EFFECT)")
            bound, inner = conditions.bind(form, 1, scope)
            self.read(form, 2, inner, variables + bound, condition)
        elif head == "when":
            expect_length(form, 3, "(when CONDITION EFFECT)")
            both = model.conjunction([condition, conditions.condition(form, 1, scope)])
            self.read(form, 2, scope, variables, both)
        elif isinstance(head, str) and head != "not" and head not in conditions.domain.predicates:
            self._not_an_atom(form, head, scope, bool(variables) or condition is not model.TRUTH)
        else:
            if head == "not":
                expect_length(form, 2, "(not (ATOM))")
                atom = conditions.atom(form, 1, scope, "an atom")
            else:
                atom = conditions.atom(parent, index, scope, "an effect")
            if condition != model.FALSITY:
                self.effects.append(model.Effect(variables, condition, atom, head != "not"))

    def _not_an_atom(self, form: Form, head: str, scope: Scope, conditional: bool) -> None:
        if head in _UNSUPPORTED_EFFECTS:
            raise form.unsupported(0, _UNSUPPORTED_EFFECTS[head], "use one action per outcome")
        if head not in _NUMERIC_CHANGES:
            raise self.conditions.unknown_predicate(form, head)
        target = form[1] if len(form) > 1 else None
        if head != "increase" or target not in ([TOTAL_COST], TOTAL_COST):
            advice = f"only '(increase ({TOTAL_COST}) ...)' is"
            raise form.unsupported(0, f"numeric effect {quote(head)}", advice)
        expect_length(form, 3, f"(increase ({TOTAL_COST}) COST)")
        if conditional:
            feature = "an action cost inside 'when' or 'forall' (state-dependent cost)"
            raise form.unsupported(0, feature, "move it to the top of the effect")
        self._cost(form, 2, scope)

    def _cost(self, parent: Form, index: int, scope: Scope) -> None:
        """Read a constant, a function term or a sum of such, and append its terms."""
        functions = self.conditions.domain.functions
        item = parent[index]
        if isinstance(item, str) and is_number(item):
            self.cost.append(read_cost(parent, index))
            return
        name = item if isinstance(item, str) else (item[0] if item else "")
        if isinstance(item, Form) and name == "+":
            for position in range(1, len(item)):
                self._cost(item, position, scope)
            return
        if name in ("-", "*", "/") and isinstance(item, Form):
            feature = f"arithmetic {quote(name)} in an action cost"
            raise parent.unsupported(index, feature, "use a constant, a function or a sum")
        if not isinstance(name, str) or not name:
            raise parent.expected(index, "a cost", "write a number or (name)")
        if name == TOTAL_COST:
            feature = f"an action cost that depends on '{TOTAL_COST}'"
            raise parent.unsupported(index, feature, "use a constant")
        if name not in functions:
            raise parent.error(index, unknown("function", name, functions, "(:functions ...)"))
        if isinstance(item, Form):
            args = self.conditions.arguments(item, functions[name], scope)
            self.cost.append(model.Atom(name, args))
        elif functions[name].parameters:
            message = f"function {quote(name)} needs arguments; write '({name} ...)'"
            raise parent.error(index, message)
        else:
            self.cost.append(model.Atom(name, ()))


def read_number(form: Form, index: int) -> int | float:
    """Read a decimal number; whole numbers become int, however they are written."""
    item = form[index]
    if isinstance(item, Form) or not _NUMBER.fullmatch(item):
        raise form.expected(index, "a number", "write digits")
    if len(item) > _MAX_DIGITS or abs(float(item)) > _MAX_NUMBER:
        raise form.error(index, f"number {quote(item)} is too large; the limit is 2^53")
    value = float(item)
    return int(value) if value.is_integer() else value


def read_cost(form: Form, index: int) -> int | float:
    value = read_number(form, index)
    if value < 0:
        raise form.error(index, f"negative cost {form[index]}; costs must be 0 or more")
    return value

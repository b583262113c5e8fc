"""Problem files."""

from __future__ import annotations

from functools import cache
from typing import cast

from hstar.pddl.conditions import NO_VARIABLES, ConditionReader, is_number
from hstar.pddl.declarations import TOTAL_COST, unknown
from hstar.pddl.domain import read_objects
from hstar.pddl.effects import read_cost, read_number
from hstar.pddl.errors import quote
from hstar.pddl.model import Atom, Domain, Problem
from hstar.pddl.reader import Form, read_file
from hstar.pddl.source import Source

_SECTIONS = (":domain", ":requirements", ":objects", ":init", ":goal", ":metric", ":length")


def read_problem(source: Source, domain: Domain) -> Problem:
    """Read a problem file of `domain`; the sections may come in any order.

    The name in (:domain ...) is not compared with the domain's: many benchmark files differ.
    """
    name, found = read_file(source, "problem", _SECTIONS)
    sections = {word: forms[0] for word, forms in found.items()}
    for keyword in (":domain", ":init", ":goal"):
        if keyword not in sections:
            message = f"the problem has no '({keyword} ...)' section; add it"
            raise source.error(len(source.text.rstrip()) - 1, message)
    named, goal_section = sections[":domain"], sections[":goal"]
    if len(named) != 2 or isinstance(named[1], Form):
        raise named.error(None, "expected one domain name; write '(:domain NAME)'")
    declared = sections.get(":objects", Form([":objects"], source, 0))
    objects = read_objects(declared, "object", domain.types, domain.constants)
    conditions = ConditionReader(domain, objects, "(:objects ...)")
    init = _InitReader(conditions)
    init.read(sections[":init"])
    if len(goal_section) != 2:
        takes = f"':goal' takes one condition, not {len(goal_section) - 1}"
        place = min(len(goal_section), 2)
        raise goal_section.error(place, f"{takes}; write '(:goal (and ...))'")
    goal = conditions.condition(goal_section, 1, NO_VARIABLES)
    uses_metric = _read_metric(sections.get(":metric"))
    held = list(init.true), init.function_values, goal, uses_metric
    return Problem(name, domain, objects, *held, source.path)


def _read_metric(form: Form | None) -> bool:
    """Whether the problem minimises total-cost. Sequential plans have no time to minimise, so
    (total-time), which occurs in real files, means the number of steps, as without a metric."""
    if form is None:
        return False
    if len(form) != 3 or form[1] not in ("minimize", "maximize"):
        message = f"malformed metric; write '(:metric minimize ({TOTAL_COST}))'"
        raise form.error(min(len(form) - 1, 1), message)
    if form[1] == "minimize":
        if form[2] in ([TOTAL_COST], TOTAL_COST):
            return True
        if form[2] in (["total-time"], "total-time"):
            return False
    index = 1 if form[1] == "maximize" else 2
    feature = f"metric other than 'minimize ({TOTAL_COST})'"
    raise form.unsupported(index, feature, "change or delete it")


class _InitReader:
    """Reads (:init ...). Real files have 10^5 atoms, so a correct atom costs only one dict lookup
    per word. Wrong atoms are diagnosed in a second, slower pass."""

    def __init__(self, conditions: ConditionReader) -> None:
        self._conditions = conditions
        self._domain, self._objects = conditions.domain, conditions.objects
        costs = [term for action in self._domain.actions for term in action.cost]
        of_cost = {term.predicate for term in costs if isinstance(term, Atom)}
        self._cost_functions = {TOTAL_COST} | of_cost
        self._false: dict[tuple[str, ...], Form] = {}
        self.true: dict[tuple[str, ...], None] = {}
        self.function_values: dict[tuple[str, ...], int | float] = {}

    def read(self, section: Form) -> None:
        select = self._domain.type_tree.select
        fitting = cache(lambda types: frozenset(select(self._objects, types)))
        fitting_by_name: dict[object, list[frozenset[object]]] = {
            name: [fitting(parameter.types) for parameter in predicate.parameters]
            for name, predicate in self._domain.predicates.items()
        }
        for index, item in enumerate(section[1:], 1):
            atom = tuple(item)
            try:
                for name, objects in zip(atom[1:], fitting_by_name[atom[0]], strict=True):
                    if name not in objects:
                        raise ValueError
                if isinstance(item, str):
                    raise ValueError
            except (KeyError, IndexError, TypeError, ValueError):  # unknown, empty, or nested
                self._read_slowly(section, index)
            else:
                self.true[cast("tuple[str, ...]", atom)] = None
        for atom, form in self._false.items():
            if atom in self.true:
                message = f"({' '.join(atom)}) is both true and false in :init; delete one"
                raise form.error(None, message)

    def _read_slowly(self, section: Form, index: int) -> None:
        """Read anything but a plain atom: a function value, a negated atom, or a mistake."""
        item = section[index]
        if isinstance(item, str) or not item:
            raise section.expected(index, "an atom", "write '(p a)'")
        head = item[0]
        is_timed = len(item) == 3 and is_number(str(item[1])) and isinstance(item[2], Form)
        if head == "=":
            self._read_value(item)
        elif head == "not":
            if len(item) != 2 or isinstance(item[1], str) or not item[1]:
                raise item.error(None, "expected '(not (ATOM))'; complete it or delete it")
            self._false[self._read_atom(item, 1)] = item
        elif head == "at" and is_timed:
            raise item.unsupported(None, "timed initial literals '(at TIME ...)'", "remove them")
        elif head == "and":
            raise item.error(None, "'and' in :init; list its atoms directly in (:init ...)")
        elif head in ("oneof", "unknown", "probabilistic") and head not in self._domain.predicates:
            raise item.unsupported(None, f"uncertain initial state ({quote(head)})", "remove it")
        else:
            self.true[self._read_atom(section, index)] = None

    def _read_atom(self, parent: Form, index: int) -> tuple[str, ...]:
        """Raises unless this is a declared predicate with objects."""
        atom = self._conditions.atom(parent, index, NO_VARIABLES, "an atom")
        return (atom.predicate, *atom.args)

    def _read_value(self, form: Form) -> None:
        """Read "(= (function objects) number)"."""
        functions = self._domain.functions
        if len(form) != 3:
            raise form.error(None, "expected '(= (FUNCTION ...) NUMBER)'; complete it")
        term, number = form[1:]
        if isinstance(term, str) and term not in functions:
            message = f"'(= {term} ...)' in :init does not assign a number to a function; delete it"
            raise form.error(None, message)
        if isinstance(term, str):
            term = Form([term], form.source, form.start)
        name = term[0] if term and isinstance(term[0], str) else "()"
        if name not in functions:
            message = unknown("function", name, functions, "(:functions ...)")
            if "did you mean" in message or name == "()":
                raise form.error(1, message)
            # No action can use it. Such values are left over from another version of the domain.
            form.warn_once(1, f"{message}; its value is left out")
            read_number(form, 2)
            return
        key = (name, *self._conditions.arguments(term, functions[name], NO_VARIABLES))
        if isinstance(number, str) and number in self._objects and not is_number(number):
            feature = f"object {quote(number)} as the value of a function (object fluent)"
            raise form.unsupported(2, feature, "use a predicate instead")
        value = (read_cost if name in self._cost_functions else read_number)(form, 2)
        if self.function_values.setdefault(key, value) != value:
            both = f"{self.function_values[key]} and {value}"
            raise form.error(None, f"({' '.join(key)}) has two values, {both}; delete one")

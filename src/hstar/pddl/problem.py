"""Problem files."""

from __future__ import annotations

from typing import cast

from hstar.pddl.conditions import NO_VARIABLES, ConditionReader, Symbols, is_number
from hstar.pddl.declarations import TOTAL_COST, did_you_mean
from hstar.pddl.domain import add_section, read_objects
from hstar.pddl.effects import read_number
from hstar.pddl.errors import UnsupportedPddlError, quote
from hstar.pddl.model import Domain, FunctionTerm, Problem, objects_with_type
from hstar.pddl.reader import FileReader, Form, describe, item_error, warn_once
from hstar.pddl.source import Source

_SECTIONS = (":domain", ":requirements", ":objects", ":init", ":goal", ":metric", ":length")
_ALL_OBJECTS = "(:objects ...)"


def read_problem(source: Source, domain: Domain) -> Problem:
    """Read a problem file of `domain`; the sections may come in any order.

    The name in (:domain ...) is not compared with the domain's: many benchmark files differ.
    """
    reader = FileReader(source, "problem")
    name = reader.read_name()
    sections: dict[str, Form] = {}
    for section in reader.read_sections():
        add_section(source, sections, section, _SECTIONS)
    for keyword in (":domain", ":init", ":goal"):
        if keyword not in sections:
            raise source.error(
                len(source.text.rstrip()) - 1,
                f"the problem has no '({keyword} ...)' section; add it",
            )
    _check_domain_section(source, sections[":domain"])
    objects = read_objects(
        source, sections.get(":objects"), "object", domain.types, domain.constants
    )
    symbols = Symbols(
        types=domain.types,
        tree=domain.type_tree,
        objects=objects,
        predicates=domain.predicates,
        functions=domain.functions,
        objects_are_declared_in=_ALL_OBJECTS,
    )
    init = _InitReader(source, symbols, domain)
    init.read(sections[":init"])
    goal_section = sections[":goal"]
    if len(goal_section) != 2:
        raise item_error(
            source,
            goal_section,
            min(len(goal_section), 2),
            f"':goal' takes one condition, not {len(goal_section) - 1}; write '(:goal (and ...))'",
        )
    goal = ConditionReader(source, symbols).condition(goal_section, 1, NO_VARIABLES)
    return Problem(
        name=name,
        domain=domain,
        objects=objects,
        init=list(init.true),
        function_values=init.function_values,
        goal=goal,
        uses_metric=_read_metric(source, sections.get(":metric")),
        path=source.path,
    )


def _check_domain_section(source: Source, form: Form) -> None:
    if len(form) != 2 or isinstance(form[1], Form):
        raise source.error(form.start, "expected one domain name; write '(:domain NAME)'")


def _read_metric(source: Source, form: Form | None) -> bool:
    """Whether the problem minimises total-cost. Sequential plans have no time to minimise, so
    (total-time), which occurs in real files, means the number of steps, as without a metric."""
    if form is None:
        return False
    if len(form) != 3 or form[1] not in ("minimize", "maximize"):
        raise item_error(
            source,
            form,
            min(len(form) - 1, 1),
            f"malformed metric; write '(:metric minimize ({TOTAL_COST}))'",
        )
    if form[1] == "minimize":
        if form[2] in ([TOTAL_COST], TOTAL_COST):
            return True
        if form[2] in (["total-time"], "total-time"):
            return False
    raise item_error(
        source,
        form,
        1 if form[1] == "maximize" else 2,
        f"metric other than 'minimize ({TOTAL_COST})': not supported; change or delete it",
        UnsupportedPddlError,
    )


class _InitReader:
    """Reads (:init ...). Real files have 10^5 atoms, so a correct atom costs only one dict lookup
    per word. Wrong atoms are diagnosed in a second, slower pass."""

    def __init__(self, source: Source, symbols: Symbols, domain: Domain) -> None:
        self._source = source
        self._symbols = symbols
        self._cost_functions = {
            term.name
            for action in domain.actions
            for term in action.cost
            if isinstance(term, FunctionTerm)
        }
        self._fitting_cache: dict[tuple[str, ...], frozenset[str]] = {}
        self._false: dict[tuple[str, ...], Form] = {}
        self.true: dict[tuple[str, ...], None] = {}
        self.function_values: dict[tuple[str, ...], int | float] = {}

    def read(self, section: Form) -> None:
        true = self.true
        fitting_by_name: dict[object, list[frozenset[str]]] = {
            name: [self._fitting(parameter.types) for parameter in predicate.parameters]
            for name, predicate in self._symbols.predicates.items()
        }
        for index in range(1, len(section)):
            item = section[index]
            atom = tuple(item)
            try:
                fitting = fitting_by_name[atom[0]]
                good = len(fitting) == len(atom) - 1
                if good:
                    for name, objects in zip(atom[1:], fitting, strict=True):
                        if name not in objects:
                            good = False
                            break
            except (KeyError, IndexError, TypeError):  # no predicate, empty, or a list inside
                good = False
            if good and isinstance(item, Form):
                true[cast("tuple[str, ...]", atom)] = None
            else:
                self._read_slowly(section, index)
        for atom, form in self._false.items():
            if atom in true:
                raise self._source.error(
                    form.start, f"({' '.join(atom)}) is both true and false in :init; delete one"
                )

    def _fitting(self, types: tuple[str, ...]) -> frozenset[str]:
        known = self._fitting_cache.get(types)
        if known is None:
            symbols = self._symbols
            known = frozenset(objects_with_type(symbols.objects, symbols.tree, types))
            self._fitting_cache[types] = known
        return known

    def _read_slowly(self, section: Form, index: int) -> None:
        """Read anything but a plain atom: a function value, a negated atom, or a mistake."""
        source, item = self._source, section[index]
        if isinstance(item, str) or not item:
            raise item_error(
                source,
                section,
                index,
                f"expected an atom, found {describe(item)}; write '(p a)'",
            )
        head = item[0]
        if head == "=":
            self._read_value(item)
        elif head == "not":
            if len(item) != 2 or isinstance(item[1], str) or not item[1]:
                raise source.error(item.start, "expected '(not (ATOM))'; complete it or delete it")
            self._read_atom(item[1])
            self._false[tuple(str(word) for word in item[1])] = item
        elif head == "at" and len(item) == 3 and is_number(str(item[1])):
            if isinstance(item[2], Form):
                raise source.error(
                    item.start,
                    "timed initial literals '(at TIME ...)': not supported; remove them",
                    UnsupportedPddlError,
                )
            self.true[self._read_atom(item)] = None
        elif head == "and":
            raise source.error(item.start, "'and' in :init; list its atoms directly in (:init ...)")
        elif head in ("oneof", "unknown", "probabilistic") and head not in self._symbols.predicates:
            raise source.error(
                item.start,
                f"uncertain initial state ({quote(head)}): not supported; remove it",
                UnsupportedPddlError,
            )
        else:
            self.true[self._read_atom(item)] = None

    def _read_atom(self, form: Form) -> tuple[str, ...]:
        """Raises unless this is a declared predicate with objects."""
        conditions = ConditionReader(self._source, self._symbols)
        atom = conditions.atom(_holding(form), 0, NO_VARIABLES, "an atom")
        return (atom.predicate, *atom.args)

    def _read_value(self, form: Form) -> None:
        """Read "(= (function objects) number)"."""
        source, functions = self._source, self._symbols.functions
        if len(form) != 3:
            raise source.error(form.start, "expected '(= (FUNCTION ...) NUMBER)'; complete it")
        term = form[1]
        if isinstance(term, str) and term not in functions:
            raise source.error(
                form.start,
                f"'(= {term} ...)' in :init does not assign a number to a function; delete it",
            )
        if isinstance(term, str):
            term = Form([term])
            term.start = form.start
        if not term or isinstance(term[0], Form) or term[0] not in functions:
            name = term[0] if term and isinstance(term[0], str) else "()"
            hint = did_you_mean(name, functions)
            message = f"unknown function {quote(name)}; declare it in (:functions ...){hint}"
            if hint or name == "()":
                raise item_error(source, form, 1, message)
            # No action can use it. Such values are left over from another version of the domain.
            warn_once(source, form, 1, f"{message}; its value is left out")
            read_number(source, form, 2)
            return
        assert isinstance(term[0], str)
        args = ConditionReader(source, self._symbols).arguments(
            term, functions[term[0]], NO_VARIABLES
        )
        key = (term[0], *args)
        if isinstance(form[2], str) and form[2] in self._symbols.objects and not is_number(form[2]):
            raise item_error(
                source,
                form,
                2,
                f"object {quote(form[2])} as the value of a function (object fluent): not "
                "supported; use a predicate instead",
                UnsupportedPddlError,
            )
        value = read_number(source, form, 2)
        if value < 0 and (term[0] in self._cost_functions or term[0] == TOTAL_COST):
            raise item_error(source, form, 2, f"negative cost {form[2]}; costs must be 0 or more")
        if self.function_values.setdefault(key, value) != value:
            raise source.error(
                form.start,
                f"({' '.join(key)}) has two values, {self.function_values[key]} and {value}; "
                "delete one",
            )


def _holding(form: Form) -> Form:
    """A list around `form`, for readers that take a list and an index."""
    parent = Form([form])
    parent.start = form.start
    return parent

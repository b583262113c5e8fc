"""Domain files."""

from __future__ import annotations

from dataclasses import replace

from hstar.pddl import model
from hstar.pddl.conditions import NO_VARIABLES, ConditionReader
from hstar.pddl.declarations import (
    TOTAL_COST,
    read_functions,
    read_predicates,
    read_typed_list,
    read_types,
)
from hstar.pddl.effects import EffectReader
from hstar.pddl.errors import quote
from hstar.pddl.model import Formula, Types, Variables, types_text
from hstar.pddl.reader import Form, read_file
from hstar.pddl.source import Source

_SECTIONS = (":requirements", ":types", ":constants", ":predicates", ":functions", ":action")
_ACTION_PARTS = (":parameters", ":precondition", ":effect")


def read_domain(source: Source) -> model.Domain:
    name, found = read_file(source, "domain", _SECTIONS)
    sections = {word: found.get(word, [Form([word], source, 0)])[0] for word in _SECTIONS}
    types = read_types(sections[":types"])
    predicates = read_predicates(sections[":predicates"], types)
    functions = read_functions(sections[":functions"], types)
    functions.setdefault(TOTAL_COST, model.Predicate(TOTAL_COST, ()))
    constants = read_objects(sections[":constants"], "constant", types, {})
    requirements = sections[":requirements"]  # real files lack some and have too many
    for index, item in enumerate(requirements):
        if isinstance(item, Form) or item[0] != ":":
            what = "a requirement such as ':strips'"
            raise requirements.expected(index, what, "requirements start with ':'")
    domain = model.Domain(name, types, constants, predicates, functions, ())
    conditions = ConditionReader(domain, constants, "(:constants ...)")
    actions: dict[str, model.Action] = {}
    for form in found.get(":action", ()):
        action = _read_action(conditions, form)
        if action.name in actions:
            raise form.error(1, f"action {quote(action.name)} is declared twice; rename one")
        actions[action.name] = action
    return replace(domain, actions=tuple(actions.values()))


def read_objects(
    form: Form, what: str, types: dict[str, Types], constants: dict[str, Types]
) -> dict[str, Types]:
    """Read (:constants ...) or (:objects ...) into name -> types, after the given constants.

    Real problem files declare constants again as objects; that is fine if the types agree.
    """
    objects = dict(constants)
    for name, own, position in read_typed_list(form, 1, what, types):
        if objects.setdefault(name, own) != own:
            before = f"it is a constant of type {types_text(objects[name])} in the domain"
            message = f"object {quote(name)} has type {types_text(own)} here, but {before}"
            raise form.error(position, f"{message}; delete it here or rename it")
    return objects


def _read_action(conditions: ConditionReader, form: Form) -> model.Action:
    if len(form) < 2 or isinstance(form[1], Form) or form[1][0] in ":?":
        raise form.error(1, "expected the name of the action; write '(:action NAME ...)'")
    name = form[1]
    parts: dict[str, int] = {}  # keyword -> index of what follows it
    for index in range(2, len(form), 2):
        keyword = form[index]
        if isinstance(keyword, Form) or keyword not in _ACTION_PARTS:
            what = f"one of {', '.join(_ACTION_PARTS)} in action {quote(name)}"
            raise form.expected(index, what, "check the parentheses before it")
        if keyword in parts:
            raise form.error(index, f"a second '{keyword}' in action {quote(name)}; join the two")
        if index + 1 == len(form) or form[index + 1] in _ACTION_PARTS:
            message = f"nothing follows '{keyword}' in action {quote(name)}; add a list"
            raise form.error(index, message)
        parts[keyword] = index + 1

    variables: Variables = ()
    scope = NO_VARIABLES
    precondition: Formula = model.TRUTH
    if ":parameters" in parts:
        variables, scope = conditions.bind(form, parts[":parameters"], NO_VARIABLES)
    if ":precondition" in parts:
        precondition = conditions.condition(form, parts[":precondition"], scope)
    effects = EffectReader(conditions)
    if ":effect" in parts:
        effects.read(form, parts[":effect"], scope)
    return model.Action(name, variables, precondition, tuple(effects.effects), tuple(effects.cost))

"""Domain files."""

from __future__ import annotations

from hstar.pddl.conditions import NO_VARIABLES, ConditionReader, Symbols
from hstar.pddl.declarations import (
    ROOT,
    TOTAL_COST,
    read_functions,
    read_predicates,
    read_typed_list,
    read_types,
)
from hstar.pddl.effects import EffectReader
from hstar.pddl.errors import UnsupportedPddlError, quote
from hstar.pddl.model import (
    TRUTH,
    Action,
    Domain,
    Formula,
    Predicate,
    TypeTree,
    Variable,
    types_text,
)
from hstar.pddl.reader import FileReader, Form, describe, item_error
from hstar.pddl.source import Source

_SECTIONS = (":requirements", ":types", ":constants", ":predicates", ":functions", ":action")
UNSUPPORTED_SECTIONS = {
    ":derived": "axioms (derived predicates, ':derived')",
    ":axiom": "axioms (':axiom')",
    ":durative-action": "durative actions (':durative-action')",
    ":constraints": "trajectory constraints (':constraints')",
    ":process": "processes (':process')",
    ":event": "events (':event')",
    ":task": "hierarchical tasks (':task')",
    ":method": "hierarchical methods (':method')",
    ":htn": "hierarchical task networks (':htn')",
}
_ACTION_PARTS = (":parameters", ":precondition", ":effect")


def read_domain(source: Source) -> Domain:
    """Read a domain file; the sections may come in any order."""
    reader = FileReader(source, "domain")
    name = reader.read_name()
    sections: dict[str, Form] = {}
    action_forms: list[Form] = []
    for section in reader.read_sections():
        keyword = str(section[0])
        if keyword == ":action":
            action_forms.append(section)
        else:
            add_section(source, sections, section, _SECTIONS)

    types: dict[str, tuple[str, ...]] = {ROOT: ()}
    if ":types" in sections:
        types = read_types(source, sections[":types"])
    predicates: dict[str, Predicate] = {}
    if ":predicates" in sections:
        predicates = read_predicates(source, sections[":predicates"], types)
    functions: dict[str, Predicate] = {}
    if ":functions" in sections:
        functions = read_functions(source, sections[":functions"], types)
    functions.setdefault(TOTAL_COST, Predicate(TOTAL_COST, ()))
    symbols = Symbols(
        types=types,
        tree=TypeTree(types),
        objects=read_objects(source, sections.get(":constants"), "constant", types, {}),
        predicates=predicates,
        functions=functions,
        objects_are_declared_in="(:constants ...)",
    )
    conditions = ConditionReader(source, symbols)
    actions: dict[str, Action] = {}
    for form in action_forms:
        action = _read_action(conditions, form)
        if action.name in actions:
            raise item_error(
                source, form, 1, f"action {quote(action.name)} is declared twice; rename one"
            )
        actions[action.name] = action
    return Domain(
        name=name,
        types=types,
        constants=symbols.objects,
        predicates=predicates,
        functions=functions,
        actions=tuple(actions.values()),
        requirements=_read_requirements(source, sections.get(":requirements")),
    )


def add_section(
    source: Source, sections: dict[str, Form], section: Form, known: tuple[str, ...]
) -> None:
    """Store a section under its keyword; refuse unknown, unsupported and repeated sections."""
    keyword = str(section[0])
    if keyword in UNSUPPORTED_SECTIONS:
        raise source.error(
            section.start,
            f"{UNSUPPORTED_SECTIONS[keyword]}: not supported; remove them from the model",
            UnsupportedPddlError,
        )
    if keyword not in known:
        raise item_error(
            source,
            section,
            0,
            f"unknown section {quote(keyword)}; the sections here are {', '.join(known)}",
        )
    if keyword in sections:
        line, column = source.place(sections[keyword].start)
        raise source.error(
            section.start,
            f"a second '{keyword}' section (the first is at {line}:{column}); join the two",
        )
    sections[keyword] = section


def read_objects(
    source: Source,
    form: Form | None,
    what: str,
    types: dict[str, tuple[str, ...]],
    constants: dict[str, tuple[str, ...]],
) -> dict[str, tuple[str, ...]]:
    """Read (:constants ...) or (:objects ...) into name -> types, after the given constants.

    Real problem files declare constants again as objects; that is fine if the types agree.
    """
    objects = dict(constants)
    seen: set[str] = set()
    if form is None:
        return objects
    for declared in read_typed_list(source, form, 1, what, known_types=types):
        if declared.name in seen:
            raise item_error(
                source,
                form,
                declared.position,
                f"{what} {quote(declared.name)} is declared twice; delete or rename one",
            )
        seen.add(declared.name)
        if objects.setdefault(declared.name, declared.types) != declared.types:
            raise item_error(
                source,
                form,
                declared.position,
                f"object {quote(declared.name)} has type {types_text(declared.types)} here, but "
                f"it is a constant of type {types_text(objects[declared.name])} in the domain; "
                "delete it here or rename it",
            )
    return objects


def _read_requirements(source: Source, form: Form | None) -> tuple[str, ...]:
    """Requirements are kept but not used: in real files some are missing, others superfluous."""
    if form is None:
        return ()
    for index, item in enumerate(form):
        if isinstance(item, Form) or item[0] != ":":
            raise item_error(
                source,
                form,
                index,
                f"expected a requirement such as ':strips', found {describe(item)}; "
                "requirements start with ':'",
            )
    return tuple(str(item) for item in form[1:])


def _read_action(conditions: ConditionReader, form: Form) -> Action:
    if len(form) < 2 or isinstance(form[1], Form) or form[1][0] in ":?":
        raise conditions.error(
            form, 1, "expected the name of the action; write '(:action NAME ...)'"
        )
    name = form[1]
    parts: dict[str, int] = {}  # keyword -> index of what follows it
    for index in range(2, len(form), 2):
        keyword = form[index]
        if keyword not in _ACTION_PARTS:
            raise conditions.error(
                form,
                index,
                f"expected one of {', '.join(_ACTION_PARTS)} in action {quote(name)}, "
                f"found {describe(keyword)}; check the parentheses before it",
            )
        assert isinstance(keyword, str)
        if keyword in parts:
            raise conditions.error(
                form, index, f"a second '{keyword}' in action {quote(name)}; join the two"
            )
        if index + 1 == len(form) or form[index + 1] in _ACTION_PARTS:
            raise conditions.error(
                form, index, f"nothing follows '{keyword}' in action {quote(name)}; add a list"
            )
        parts[keyword] = index + 1

    variables: tuple[Variable, ...] = ()
    scope = NO_VARIABLES
    if ":parameters" in parts:
        variables, scope = conditions.bind(form, parts[":parameters"], NO_VARIABLES)
    precondition: Formula = TRUTH
    if ":precondition" in parts:
        precondition = conditions.condition(form, parts[":precondition"], scope)
    effects = EffectReader(conditions)
    if ":effect" in parts:
        effects.read(form, parts[":effect"], scope)
    return Action(name, variables, precondition, tuple(effects.effects), tuple(effects.cost))

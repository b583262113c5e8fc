"""The lists that declare names: "a b - block c - (either x y)", types, predicates, functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from typing import TypeAlias

from hstar.pddl.errors import UnsupportedPddlError, did_you_mean, quote
from hstar.pddl.model import Predicate, Types, Variable, types_text
from hstar.pddl.reader import Form, describe

ROOT = "object"
TOTAL_COST = "total-cost"

# Words that begin a condition or an effect, so they cannot be names.
RESERVED = frozenset(("and", "or", "not", "imply", "forall", "exists", "when"))


TypedName: TypeAlias = tuple[str, Types, int]  # the number is its position in a list


def read_typed_list(
    form: Form, first: int, what: str, known_types: dict[str, Types], *, distinct: bool = True
) -> list[TypedName]:
    """Read "a b - t c" from item `first` on; names without a type are objects.

    `what` says in messages what is being declared. Every type must be in `known_types`.
    """
    names: list[TypedName] = []
    for pending, types, type_index in _typed_groups(form, first, what):
        for type_name in types:
            if type_name not in known_types:
                message = unknown("type", type_name, known_types, "(:types ...)")
                raise form.error(type_index, message)
        names.extend((str(form[index]), types, index) for index in pending)
    seen: set[str] = set()
    for name, _, position in names if distinct else ():
        if name in seen:
            message = f"{what} {quote(name)} is declared twice; delete or rename one"
            raise form.error(position, message)
        seen.add(name)
    return names


def read_variables(parent: Form, index: int, known_types: dict[str, Types]) -> list[TypedName]:
    """Read the list of distinct variables that an action or a quantifier has at `parent[index]`."""
    form = parent[index] if index < len(parent) else ""
    if isinstance(form, str):
        example = "write for example '(?x - block ?y)', or '()' for none"
        raise parent.error(index, f"expected a list of variables; {example}")
    return read_typed_list(form, 0, "variable", known_types)


def read_types(form: Form) -> dict[str, Types]:
    """Read (:types ...) into type -> parents, including the root and undeclared supertypes."""
    types: dict[str, Types] = {ROOT: ()}
    declared_at: dict[str, int] = {}
    mentioned: dict[str, None] = {}
    for pending, parents, _ in _typed_groups(form, 1, "type"):
        mentioned.update(dict.fromkeys(parents))
        for index in pending:
            name = str(form[index])
            earlier = types.get(name, ()) if name in declared_at else ()
            if name in declared_at and earlier in (parents, ()):
                form.warn_once(index, f"type {quote(name)} is declared twice; delete one")
            declared_at.setdefault(name, index)
            if name != ROOT:
                # Real files give a type a second parent by declaring it again.
                types[name] = tuple(dict.fromkeys(earlier + parents))
            elif parents != (ROOT,):
                wrong = f"is above all types and cannot be below {types_text(parents)}"
                raise form.error(index, f"type '{ROOT}' {wrong}; delete it or rename it")
    for parent in mentioned:
        types.setdefault(parent, (ROOT,))
    try:
        TopologicalSorter(types).prepare()
    except CycleError as error:
        cycle = error.args[1][::-1]
        message = f"types form a cycle: {' - '.join(cycle[:8])}; no type can be its own supertype"
        raise form.error(declared_at[cycle[0]], message) from None
    return types


def read_predicates(form: Form, known_types: dict[str, Types]) -> dict[str, Predicate]:
    predicates: dict[str, Predicate] = {}
    for index, item in enumerate(form[1:], 1):
        if isinstance(item, Form) and item and item[0] == "=":
            continue  # Some files list the built-in equality.
        _declare(form, index, "predicate", known_types, predicates)
    return predicates


def read_functions(form: Form, known_types: dict[str, Types]) -> dict[str, Predicate]:
    """Read (:functions ...) by name; all of them must be numeric."""
    functions: dict[str, Predicate] = {}
    index = 1
    while index < len(form):
        if form[index] == "-":
            if index == 1 or form[index - 1] == "-" or index + 1 == len(form):
                message = "'-' must stand between functions and their type"
                raise form.error(index, f"{message}; write '(f ?x) - number'")
            if form[index + 1] != "number":
                what = f"functions of type {describe(form[index + 1])} (object fluents)"
                message = f"{what} are not supported; only '- number' is"
                raise form.error(index + 1, message, UnsupportedPddlError)
            index += 2
            continue
        function = _declare(form, index, "function", known_types, functions)
        if function.name == TOTAL_COST and function.parameters:
            raise form.error(index, f"'{TOTAL_COST}' has no parameters; write '({TOTAL_COST})'")
        index += 1
    return functions


def unknown(what: str, name: str, known: Iterable[str], declare_in: str) -> str:
    hint = did_you_mean(name, known, cutoff=0.75)
    return f"unknown {what} {quote(name)}; declare it in {declare_in}{hint}"


def _declare(
    form: Form, index: int, what: str, known_types: dict[str, Types], known: dict[str, Predicate]
) -> Predicate:
    """Add the declaration `form[index]` to the known ones.

    A repetition is harmless; a second one with other types is an error.
    """
    item = form[index]
    if isinstance(item, str) or not item or isinstance(item[0], Form):
        raise form.expected(index, f"a {what}", "write for example '(name ?x - object)'")
    name = item[0]
    if name in RESERVED or name[0] in "?:":
        raise item.error(0, f"{quote(name)} cannot be the name of a {what}; rename it")
    variables = read_typed_list(item, 1, "variable", known_types, distinct=False)
    new = Predicate(name, tuple(Variable(declared, types) for declared, types, _ in variables))
    earlier = known.setdefault(new.name, new)
    if earlier is not new:
        message = f"{what} {quote(name)} is declared twice; delete or rename one"
        if [one.types for one in earlier.parameters] != [one.types for one in new.parameters]:
            raise form.error(index, message)
        form.warn_once(index, message)
    return new


def _typed_groups(form: Form, first: int, what: str) -> Iterator[tuple[list[int], Types, int]]:
    """Yield (indices of names, their types, index of the type) for each "- type" and the rest."""
    pending: list[int] = []
    items = iter(range(first, len(form)))
    for index in items:
        item = form[index]
        if item == "-":
            if not pending:
                raise form.error(index, f"'-' without a {what} before it; write '{what} - type'")
            if next(items, None) is None:
                raise form.error(index, "no type follows '-'; add the type or delete the '-'")
            yield pending, _read_type(form, index + 1), index + 1
            pending = []
            continue
        if isinstance(item, Form):
            raise form.expected(index, f"a name ({what})", "check the parentheses before it")
        if what == "variable" and (item[0] != "?" or len(item) == 1):
            raise form.expected(index, "a variable", "variables are written '?name'")
        if what != "variable" and item[0] in "?:":
            message = f"{quote(item)} cannot be a name ({what})"
            raise form.error(index, f"{message}; names do not start with '{item[0]}'")
        pending.append(index)
    if pending:
        yield pending, (ROOT,), pending[0]


def _read_type(form: Form, index: int) -> Types:
    item = form[index]
    if isinstance(item, str):
        if item == "-" or item[0] in "?:":
            raise form.expected(index, "a type after '-'", "add the type")
        return (item,)
    if len(item) < 2 or item[0] != "either":
        advice = "write a name or '(either type1 type2)'"
        raise form.expected(index, "a type after '-'", advice)
    for position, name in enumerate(item[1:], 1):
        if isinstance(name, Form) or name[0] in "?:":
            raise item.expected(position, "a type", "write a name")
    return tuple(dict.fromkeys(str(name) for name in item[1:]))

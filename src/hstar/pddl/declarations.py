"""The lists that declare names: "a b - block c - (either x y)", types, predicates, functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hstar.pddl.errors import UnsupportedPddlError, quote
from hstar.pddl.model import Predicate, Variable, types_text
from hstar.pddl.reader import Form, describe, item_error, warn_once
from hstar.pddl.source import Source

ROOT = "object"
TOTAL_COST = "total-cost"

# Words that begin a condition or an effect, so they cannot be names.
_RESERVED = frozenset(("and", "or", "not", "imply", "forall", "exists", "when"))


class TypedName(NamedTuple):
    """A declared name, its types, and its position in the list that declares it."""

    name: str
    types: tuple[str, ...]
    position: int


def read_typed_list(
    source: Source, form: Form, first: int, what: str, *, known_types: dict[str, tuple[str, ...]]
) -> list[TypedName]:
    """Read "a b - t c" from item `first` on; names without a type are objects.

    `what` says in messages what is being declared. Every type must be in `known_types`.
    """
    names: list[TypedName] = []
    for pending, types, type_index in _typed_groups(source, form, first, what):
        for type_name in types:
            if type_name not in known_types:
                raise item_error(
                    source,
                    form,
                    type_index,
                    f"unknown type {quote(type_name)}; "
                    f"declare it in (:types ...){did_you_mean(type_name, known_types)}",
                )
        names.extend(TypedName(str(form[index]), types, index) for index in pending)
    return names


def read_variables(
    source: Source, parent: Form, index: int, known_types: dict[str, tuple[str, ...]]
) -> list[TypedName]:
    """Read the list of distinct variables that an action or a quantifier has at `parent[index]`."""
    if index >= len(parent) or isinstance(parent[index], str):
        raise item_error(
            source,
            parent,
            index,
            "expected a list of variables; write for example '(?x - block ?y)', or '()' for none",
        )
    form = parent[index]
    assert isinstance(form, Form)
    variables = _read_variables_from(source, form, 0, known_types)
    seen: set[str] = set()
    for variable in variables:
        if variable.name in seen:
            raise item_error(
                source,
                form,
                variable.position,
                f"variable {quote(variable.name)} is declared twice in this list; rename one",
            )
        seen.add(variable.name)
    return variables


def read_types(source: Source, form: Form) -> dict[str, tuple[str, ...]]:
    """Read (:types ...) into type -> parents, including the root and undeclared supertypes."""
    types: dict[str, tuple[str, ...]] = {ROOT: ()}
    declared_at: dict[str, int] = {}
    mentioned: dict[str, int] = {}
    for pending, parents, type_index in _typed_groups(source, form, 1, "type"):
        for parent in parents:
            mentioned.setdefault(parent, type_index)
        for index in pending:
            name = str(form[index])
            earlier = types.get(name, ()) if name in declared_at else ()
            if name in declared_at and earlier in (parents, ()):
                warn_once(source, form, index, f"type {quote(name)} is declared twice; delete one")
            declared_at.setdefault(name, index)
            if name != ROOT:
                # Real files give a type a second parent by declaring it again.
                types[name] = tuple(dict.fromkeys(earlier + parents))
            elif parents != (ROOT,):
                raise item_error(
                    source,
                    form,
                    index,
                    f"type '{ROOT}' is above all types and cannot be below {types_text(parents)}; "
                    "delete it or rename it",
                )
    for parent in mentioned:
        types.setdefault(parent, (ROOT,))
    _refuse_cycle(source, form, types, declared_at)
    return types


def read_predicates(
    source: Source, form: Form, known_types: dict[str, tuple[str, ...]]
) -> dict[str, Predicate]:
    """Read (:predicates ...) by name."""
    predicates: dict[str, Predicate] = {}
    for index in range(1, len(form)):
        item = form[index]
        if isinstance(item, Form) and item and item[0] == "=":
            continue  # Some files list the built-in equality.
        predicate = _read_signature(source, form, index, "predicate", known_types)
        _declare(source, form, index, "predicate", predicates, predicate)
    return predicates


def read_functions(
    source: Source, form: Form, known_types: dict[str, tuple[str, ...]]
) -> dict[str, Predicate]:
    """Read (:functions ...) by name; all of them must be numeric."""
    functions: dict[str, Predicate] = {}
    index = 1
    while index < len(form):
        if form[index] == "-":
            if index == 1 or form[index - 1] == "-" or index + 1 == len(form):
                raise item_error(
                    source,
                    form,
                    index,
                    "'-' must stand between functions and their type; write '(f ?x) - number'",
                )
            if form[index + 1] != "number":
                raise item_error(
                    source,
                    form,
                    index + 1,
                    f"functions of type {describe(form[index + 1])} (object fluents) are not "
                    "supported; only '- number' is",
                    UnsupportedPddlError,
                )
            index += 2
            continue
        function = _read_signature(source, form, index, "function", known_types)
        if function.name == TOTAL_COST and function.parameters:
            raise item_error(
                source, form, index, f"'{TOTAL_COST}' has no parameters; write '({TOTAL_COST})'"
            )
        _declare(source, form, index, "function", functions, function)
        index += 1
    return functions


def _declare(
    source: Source, form: Form, index: int, what: str, known: dict[str, Predicate], new: Predicate
) -> None:
    """Add a declaration. A repetition is harmless; a second one with other types is an error."""
    earlier = known.setdefault(new.name, new)
    if earlier is new:
        return
    message = f"{what} {quote(new.name)} is declared twice; delete or rename one"
    if [one.types for one in earlier.parameters] != [one.types for one in new.parameters]:
        raise item_error(source, form, index, message)
    warn_once(source, form, index, message)


def did_you_mean(name: str, known: Mapping[str, object]) -> str:
    """A hint for a message: the closest known name, if one is close."""
    import difflib  # slow to load, and only errors need it

    close = difflib.get_close_matches(name[:200], list(known)[:5000], n=1, cutoff=0.75)
    return f" (did you mean {quote(close[0])}?)" if close else ""


def _typed_groups(
    source: Source, form: Form, first: int, what: str
) -> Iterator[tuple[list[int], tuple[str, ...], int]]:
    """Yield (indices of names, their types, index of the type) for each "- type" and the rest."""
    pending: list[int] = []
    index = first
    while index < len(form):
        item = form[index]
        if item == "-":
            if not pending:
                raise item_error(
                    source, form, index, f"'-' without a {what} before it; write '{what} - type'"
                )
            if index + 1 >= len(form):
                raise item_error(
                    source, form, index, "no type follows '-'; add the type or delete the '-'"
                )
            yield pending, _read_type(source, form, index + 1), index + 1
            pending = []
            index += 2
            continue
        if isinstance(item, Form):
            raise item_error(
                source,
                form,
                index,
                f"expected a name ({what}), found {describe(item)}; "
                "check the parentheses before it",
            )
        if what == "variable" and (item[0] != "?" or len(item) == 1):
            raise item_error(
                source,
                form,
                index,
                f"expected a variable, found {quote(item)}; variables are written '?name'",
            )
        if what != "variable" and item[0] in "?:":
            raise item_error(
                source,
                form,
                index,
                f"{quote(item)} cannot be a name ({what}); names do not start with '{item[0]}'",
            )
        pending.append(index)
        index += 1
    if pending:
        yield pending, (ROOT,), pending[0]


def _read_type(source: Source, form: Form, index: int) -> tuple[str, ...]:
    item = form[index]
    if isinstance(item, str):
        if item == "-" or item[0] in "?:":
            raise item_error(
                source, form, index, f"expected a type after '-', found {quote(item)}; add the type"
            )
        return (item,)
    if len(item) < 2 or item[0] != "either":
        raise item_error(
            source,
            form,
            index,
            f"expected a type after '-', found {describe(item)}; "
            "write a name or '(either type1 type2)'",
        )
    for position, name in enumerate(item[1:], 1):
        if isinstance(name, Form) or name[0] in "?:":
            raise item_error(
                source, item, position, f"expected a type, found {describe(name)}; write a name"
            )
    return tuple(dict.fromkeys(str(name) for name in item[1:]))


def _read_variables_from(
    source: Source, form: Form, first: int, known_types: dict[str, tuple[str, ...]]
) -> list[TypedName]:
    return read_typed_list(source, form, first, "variable", known_types=known_types)


def _read_signature(
    source: Source, form: Form, index: int, what: str, known_types: dict[str, tuple[str, ...]]
) -> Predicate:
    item = form[index]
    if isinstance(item, str) or not item or isinstance(item[0], Form):
        raise item_error(
            source,
            form,
            index,
            f"expected a {what}, found {describe(item)}; write for example '(name ?x - object)'",
        )
    name = item[0]
    if name in _RESERVED or name[0] in "?:":
        raise item_error(
            source, item, 0, f"{quote(name)} cannot be the name of a {what}; rename it"
        )
    variables = _read_variables_from(source, item, 1, known_types)
    return Predicate(name, tuple(Variable(v.name, v.types) for v in variables))


def _refuse_cycle(
    source: Source, form: Form, types: dict[str, tuple[str, ...]], declared_at: dict[str, int]
) -> None:
    """Raise if a type is its own supertype: remove types without parents until none is left."""
    waiting_for = {name: len(set(parents)) for name, parents in types.items()}
    children: dict[str, list[str]] = {}
    for name, parents in types.items():
        for parent in set(parents):
            children.setdefault(parent, []).append(name)
    ready = [name for name, count in waiting_for.items() if count == 0]
    while ready:
        name = ready.pop()
        del waiting_for[name]
        for child in children.get(name, ()):
            waiting_for[child] -= 1
            if waiting_for[child] == 0:
                ready.append(child)
    if not waiting_for:
        return
    # The remaining types are on a cycle or below one; following parents upwards finds the cycle.
    seen: list[str] = []
    name = next(iter(waiting_for))
    while name not in seen[-1000:]:
        seen.append(name)
        name = next(parent for parent in types[name] if parent in waiting_for)
    cycle = [*seen[seen.index(name) :], name]
    raise item_error(
        source,
        form,
        declared_at[name],
        f"types form a cycle: {' - '.join(cycle[:8])}; no type can be its own supertype",
    )

"""The goal of a problem as literals, for models that read goals."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from hstar.pddl import model
from hstar.pddl.errors import UnsupportedPddlError, quote

Literal = tuple[tuple[str, ...], bool]  # ("on", "a", "b"), wanted true


def goal_literals(problem: model.Problem) -> Iterable[Literal]:
    """The goal as literals. Raises UnsupportedPddlError if it is no conjunction of literals. What
    holds or fails in all states alike is left out: it tells a network nothing."""

    def walk(formula: model.Formula, wanted: bool) -> Iterable[Literal]:
        match formula:
            case _ if _constant(formula) is not None:
                return
            case model.Atom(predicate, args):
                yield (predicate, *args), wanted
            case model.Not(inner):
                yield from walk(inner, not wanted)
            case model.And(parts) | model.Or(parts):
                # A wanted disjunction is a choice, and so is an unwanted conjunction, unless all
                # parts but one are settled.
                open_parts = [part for part in parts if _constant(part) is None]
                if isinstance(formula, model.And) != wanted and len(open_parts) > 1:
                    raise UnsupportedPddlError(
                        "networks read goals that are conjunctions of literals, but this goal "
                        f"contains a choice: {quote(str(formula))}; use a built-in heuristic",
                        problem.path,
                    )
                for part in open_parts:
                    yield from walk(part, wanted)
            case model.Forall(variables, body) | model.Exists(variables, body):
                domains = [problem.objects_of(variable.types) for variable in variables]
                names = [variable.name for variable in variables]
                parts = tuple(
                    model.substitute(body, dict(zip(names, objects, strict=True)))
                    for objects in itertools.product(*domains)
                )
                whole = model.And if isinstance(formula, model.Forall) else model.Or
                yield from walk(whole(parts), wanted)

    return walk(problem.goal, True)


def _constant(formula: model.Formula) -> bool | None:
    """The truth of a formula without variables, if it is the same in all states at a glance."""
    match formula:
        case model.Truth() | model.Falsity():
            return isinstance(formula, model.Truth)
        case model.Equal(left, right):
            return left == right
        case model.Not(inner):
            value = _constant(inner)
            return None if value is None else not value
        case model.And(parts) | model.Or(parts):
            values = {_constant(part) for part in parts}
            decisive = isinstance(formula, model.Or)  # one true part decides a disjunction
            if decisive in values:
                return decisive
            return None if None in values else not decisive
        case _:
            return None

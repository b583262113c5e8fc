"""The goal of a problem as literals, for models that read goals."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from hstar.pddl.errors import UnsupportedPddlError, quote
from hstar.pddl.model import (
    And,
    Atom,
    Equal,
    Exists,
    Falsity,
    Forall,
    Formula,
    Not,
    Or,
    Problem,
    Truth,
    substitute,
)

Literal = tuple[tuple[str, ...], bool]  # ("on", "a", "b"), wanted true


def goal_literals(problem: Problem) -> Iterable[Literal]:
    """The goal as literals. Raises UnsupportedPddlError if it is no conjunction of literals.

    What holds or fails in all states alike is left out: it tells a network nothing.
    """

    def walk(formula: Formula, wanted: bool) -> Iterable[Literal]:
        match formula:
            case _ if _constant(formula) is not None:
                return
            case Atom(predicate, args):
                yield (predicate, *args), wanted
            case Not(inner):
                yield from walk(inner, not wanted)
            case And(parts) | Or(parts):
                # A wanted disjunction is a choice, and so is an unwanted conjunction, unless all
                # parts but one are settled.
                open_parts = [part for part in parts if _constant(part) is None]
                if isinstance(formula, And) != wanted and len(open_parts) > 1:
                    raise choice(formula)
                for part in open_parts:
                    yield from walk(part, wanted)
            case Forall(variables, body) | Exists(variables, body):
                domains = [problem.objects_of(variable.types) for variable in variables]
                parts = tuple(
                    substitute(body, {v.name: n for v, n in zip(variables, names, strict=True)})
                    for names in itertools.product(*domains)
                )
                yield from walk(And(parts) if isinstance(formula, Forall) else Or(parts), wanted)

    def choice(formula: Formula) -> UnsupportedPddlError:
        return UnsupportedPddlError(
            "networks read goals that are conjunctions of literals, but this goal contains a "
            f"choice: {quote(str(formula))}; use a built-in heuristic",
            problem.path,
        )

    return walk(problem.goal, True)


def _constant(formula: Formula) -> bool | None:
    """The truth of a formula without variables, if it is the same in all states at a glance."""
    match formula:
        case Truth() | Falsity():
            return isinstance(formula, Truth)
        case Equal(left, right):
            return left == right
        case Not(inner):
            value = _constant(inner)
            return None if value is None else not value
        case And(parts) | Or(parts):
            values = {_constant(part) for part in parts}
            decisive = isinstance(formula, Or)  # one true part decides a disjunction
            if decisive in values:
                return decisive
            return None if None in values else not decisive
        case _:
            return None

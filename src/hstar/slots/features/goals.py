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
            case model.Atom(predicate, args):
                yield (predicate, *args), wanted
            case model.Not(inner):
                yield from walk(inner, not wanted)
            case model.Junction(parts):
                # A wanted disjunction is a choice, and so is an unwanted conjunction.
                if isinstance(formula, model.And) != wanted:
                    raise UnsupportedPddlError(
                        "networks read goals that are conjunctions of literals, but this goal "
                        f"contains a choice: {quote(str(formula))}; use a built-in heuristic",
                        problem.path,
                    )
                for part in parts:
                    yield from walk(part, wanted)

    return walk(_settled(problem.goal, problem), True)


def _settled(formula: model.Formula, problem: model.Problem) -> model.Formula:
    """Without quantifiers, and with all worked out that is the same in all states at a glance."""
    match formula:
        case model.Equal(left, right):
            return model.TRUTH if left == right else model.FALSITY
        case model.Not(inner):
            return model.negation(_settled(inner, problem))
        case model.Junction(parts):
            join = model.conjunction if isinstance(formula, model.And) else model.disjunction
            return join([_settled(part, problem) for part in parts])
        case model.Quantified(variables, body):
            domains = [problem.objects_of(variable.types) for variable in variables]
            names = [variable.name for variable in variables]
            bindings = (dict(zip(names, one, strict=True)) for one in itertools.product(*domains))
            join = model.conjunction if isinstance(formula, model.Forall) else model.disjunction
            return join([_settled(model.substitute(body, one), problem) for one in bindings])
        case _:
            return formula

"""Larger problems from small ones: several problems side by side in one.

The union has the objects of all its parts, renamed apart, and what is true in any of them; its goal
is all of their goals. Constants of the domain and atoms without objects, such as (handempty), stay
shared. One plan after the other is often a plan for the union, but it need not be: what a plan
leaves behind may be in the way of the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hstar.pddl.model import Formula, Problem, Types, conjunction, substitute

SEPARATOR = "/"  # names in PDDL files have none, so no new name is taken


def union(problems: Sequence[Problem]) -> Problem:
    """The problems, all of one domain, side by side."""
    first = problems[0]
    constants = first.domain.constants
    objects: dict[str, Types] = dict(constants)
    init: dict[tuple[str, ...], None] = {}
    function_values: dict[tuple[str, ...], int | float] = {}
    goals: list[Formula] = []
    for number, part in enumerate(problems):
        own = {name: types for name, types in part.objects.items() if name not in constants}
        renamed = {name: f"{name}{SEPARATOR}{number}" for name in own}
        objects |= {renamed[name]: types for name, types in own.items()}
        init |= {_rename(atom, renamed): None for atom in part.init}
        function_values |= {
            _rename(term, renamed): value for term, value in part.function_values.items()
        }
        goals.append(substitute(part.goal, renamed))
    return Problem(
        " + ".join(part.name for part in problems),
        first.domain,
        objects,
        list(init),
        function_values,
        conjunction(goals),
        first.uses_metric,
        first.path,
    )


def _rename(atom: tuple[str, ...], renamed: Mapping[str, str]) -> tuple[str, ...]:
    return (atom[0], *(renamed.get(name, name) for name in atom[1:]))

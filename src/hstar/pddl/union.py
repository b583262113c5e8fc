"""Larger problems from small ones: several problems side by side in one.

The union has the objects of all its parts, renamed apart, and what is true in any of them; its goal
is all of their goals. Constants of the domain and atoms without objects, such as (handempty), stay
shared. One plan after the other is often a plan for the union, but it need not be: what a plan
leaves behind may be in the way of the next.
"""

from __future__ import annotations

from collections.abc import Sequence

from hstar.pddl.model import Problem, conjunction, substitute

SEPARATOR = "/"  # names in PDDL files have none, so no new name is taken


def union(problems: Sequence[Problem]) -> Problem:
    """The problems, all of one domain, side by side."""
    first = problems[0]
    constants = first.domain.constants
    objects, init, function_values, goals = dict(constants), {}, {}, []
    for number, part in enumerate(problems):
        renamed = {
            name: f"{name}{SEPARATOR}{number}" for name in part.objects if name not in constants
        }

        def rename(atom: tuple[str, ...], renamed: dict[str, str] = renamed) -> tuple[str, ...]:
            return (atom[0], *(renamed.get(name, name) for name in atom[1:]))

        objects |= {renamed[name]: types for name, types in part.objects.items() if name in renamed}
        init |= dict.fromkeys(map(rename, part.init))
        function_values |= {rename(term): value for term, value in part.function_values.items()}
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

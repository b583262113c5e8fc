"""Larger problems from small ones: several problems side by side in one.

The union has the objects of all its parts, renamed apart, and what is true in any of them; its goal
is all of their goals. Constants of the domain and atoms without objects, such as (handempty), stay
shared. One plan after the other is often a plan for the union, but it need not be: what a plan
leaves behind may be in the way of the next.

Where all problems have one ferry, say, which is nothing but the one atom (at-ferry ?l), a union
would have two of them. To keep it one, the parts can be joined where the ferry is: these locations
become the same object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from hstar.pddl.model import Formula, Problem, Types, conjunction, substitute

SEPARATOR = "/"  # names in PDDL files have none, so no new name is taken


def union(problems: Sequence[Problem], single: Collection[str] = ()) -> Problem:
    """The problems, all of one domain, side by side. The predicates `single` have one atom in each;
    the parts are joined at the objects of these atoms, so that the union has only one, too."""
    first = problems[0]
    constants = first.domain.constants
    objects: dict[str, Types] = dict(constants)
    init: dict[tuple[str, ...], None] = {}
    function_values: dict[tuple[str, ...], int | float] = {}
    goals: list[Formula] = []
    for number, part in enumerate(problems):
        own = {name: types for name, types in part.objects.items() if name not in constants}
        renamed = {name: f"{name}{SEPARATOR}{number}" for name in own}
        for mine, joint in _joints(part, first, single):
            if mine in own and own[mine] == first.objects[joint]:
                renamed[mine] = f"{joint}{SEPARATOR}0"
        objects |= {renamed[name]: types for name, types in own.items()}
        init |= {_rename(atom, renamed): None for atom in part.init}
        function_values |= {
            _rename(term, renamed): value for term, value in part.function_values.items()
        }
        goals.append(substitute(part.goal, renamed))
    name, goal = " + ".join(part.name for part in problems), conjunction(goals)
    held = objects, list(init), function_values, goal
    return Problem(name, first.domain, *held, first.uses_metric, first.path)


def single_predicates(problems: Sequence[Problem]) -> list[str]:
    """Those with objects that actions change and that hold of one tuple in each initial state."""
    domain = problems[0].domain
    changed = {effect.atom.predicate for action in domain.actions for effect in action.effects}
    counts = [Counter(atom[0] for atom in problem.init) for problem in problems]
    return [
        name
        for name, predicate in domain.predicates.items()
        if name in changed and predicate.parameters and all(count[name] == 1 for count in counts)
    ]


def _joints(part: Problem, first: Problem, single: Collection[str]) -> Iterator[tuple[str, str]]:
    """Objects of a part, and those of the first that they become. Constants stay what they are."""
    where = {atom[0]: atom[1:] for atom in first.init if atom[0] in single}
    for atom in part.init:
        if atom[0] in where:
            for mine, joint in zip(atom[1:], where[atom[0]], strict=True):
                if joint not in first.domain.constants:
                    yield mine, joint


def _rename(atom: tuple[str, ...], renamed: Mapping[str, str]) -> tuple[str, ...]:
    return (atom[0], *(renamed.get(name, name) for name in atom[1:]))

"""A canonical form of problems: the same for problems that differ only in object names.

Colour refinement (Weisfeiler and Leman 1968) on the objects: all objects of a type start with one
colour. Then, repeatedly, the new colour of an object is its old one together with its atoms,
written with colours in place of names, until no colour class splits any more. The atoms, written in
the final colours, depend neither on names nor on any order.

Problems that differ only in names, or in objects that no atom mentions, therefore always get the
same form. Problems that truly differ get the same form only in the rare cases that refinement
cannot tell apart, such as a ring of six and two rings of three. For keeping splits apart, that errs
on the safe side.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

from hstar.domains.generated_problem import GeneratedProblem


def canonical_form(instance: GeneratedProblem) -> str:
    """A digest (hexadecimal) that is the same for all renamings of the objects."""
    atoms = [(f"init {atom[0]}", atom[1:]) for atom in instance.init]
    atoms += [(f"goal {atom[0]}", atom[1:]) for atom in instance.goal]
    used = {arg for _, args in atoms for arg in args}
    types = {
        name: kind for kind, names in instance.objects.items() for name in names if name in used
    }
    colours = _ranks(types)
    while True:
        looks = [(label, *[colours[arg] for arg in args]) for label, args in atoms]
        rank = {look: place for place, look in enumerate(sorted(set(looks)))}
        around: dict[str, list[tuple[int, int]]] = {name: [] for name in types}
        for (_, args), look in zip(atoms, looks, strict=True):
            for position, arg in enumerate(args):
                around[arg].append((rank[look], position))
        finer = _ranks({name: (colours[name], tuple(sorted(around[name]))) for name in types})
        if len(set(finer.values())) == len(set(colours.values())):
            break
        colours = finer
    members = Counter((types[name], colours[name]) for name in types)
    description = repr((sorted(members.items()), sorted(Counter(looks).items())))
    return hashlib.sha256(description.encode()).hexdigest()


def _ranks(values: Mapping[str, Any]) -> dict[str, int]:
    """The rank of each name's value among the distinct values, so that names do not matter."""
    order = {value: place for place, value in enumerate(sorted(set(values.values())))}
    return {name: order[value] for name, value in values.items()}

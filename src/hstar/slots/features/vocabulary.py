"""The channels of a domain: which predicates, types and constants a network can tell apart.

Every predicate of arity r gives two channels over r-tuples of objects, "state" (true in the state)
and "goal" (wanted by the goal; -1 where the goal wants it false). Unary channels for each "type"
and each "constant" of the domain follow, because actions can tell those apart.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from hstar.pddl.errors import quote
from hstar.pddl.model import Domain

WIDEST = 3  # arguments of a predicate that a network can see


@dataclass(frozen=True)
class Vocabulary:
    """Predicates are sorted by name; those wider than `breadth` are `omitted`."""

    breadth: int
    predicates: tuple[tuple[str, int], ...]
    omitted: tuple[str, ...]
    types: tuple[str, ...]
    constants: tuple[str, ...]

    def __post_init__(self) -> None:
        if not 0 <= self.breadth <= WIDEST:
            raise ValueError(f"breadth must be a number from 0 to {WIDEST}, not {self.breadth}")

    @staticmethod
    def of(domain: Domain, breadth: int = 3, types: bool = True) -> Vocabulary:
        arities = sorted((name, len(p.parameters)) for name, p in domain.predicates.items())
        return Vocabulary(
            breadth=breadth,
            predicates=tuple((name, arity) for name, arity in arities if arity <= breadth),
            omitted=tuple(name for name, arity in arities if arity > breadth),
            types=tuple(sorted(set(domain.types) - {"object"})) if types else (),
            constants=tuple(sorted(domain.constants)),
        )

    @staticmethod
    def from_dict(fields: dict[str, Any]) -> Vocabulary:
        return Vocabulary(
            breadth=int(fields["breadth"]),
            predicates=tuple((str(name), int(arity)) for name, arity in fields["predicates"]),
            omitted=tuple(fields["omitted"]),
            types=tuple(fields["types"]),
            constants=tuple(fields["constants"]),
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def channels(self) -> list[int]:
        """How many channels each arity 0..breadth has."""
        arities = [arity for arity, _ in self._numbered.values()]
        return [arities.count(arity) for arity in range(self.breadth + 1)]

    def channel(self, kind: str, name: str) -> tuple[int, int] | None:
        """(arity, number) of the channel of a name; None for one left out."""
        return self._numbered.get((kind, name))

    @cached_property
    def _numbered(self) -> dict[tuple[str, str], tuple[int, int]]:
        named = [(kind, *predicate) for kind in ("state", "goal") for predicate in self.predicates]
        if self.breadth >= 1:
            named += [("type", name, 1) for name in self.types]
            named += [("constant", name, 1) for name in self.constants]
        counts = [0] * (self.breadth + 1)
        numbered = {}
        for kind, name, arity in named:
            numbered[kind, name] = arity, counts[arity]
            counts[arity] += 1
        return numbered

    def check(self, domain: Domain) -> None:
        """Raises ValueError if problems of this domain do not have these channels."""
        known = {**dict(self.predicates), **dict.fromkeys(self.omitted, -1)}
        check_names(domain, "predicate", known, domain.predicates)
        check_names(domain, "constant", self.constants, domain.constants)
        if self.types:
            check_names(domain, "type", self.types, set(domain.types) - {"object"})
        for name, predicate in domain.predicates.items():
            if known[name] not in (-1, len(predicate.parameters)):
                raise ValueError(
                    f"predicate {quote(name)} has {len(predicate.parameters)} parameters in domain "
                    f"{quote(domain.name)}, {known[name]} where the model was trained"
                )


def check_names(domain: Domain, kind: str, ours: Iterable[str], theirs: Iterable[str]) -> None:
    """Raises ValueError unless a domain has the names that a model was trained with."""
    lacking, more = set(ours).difference(theirs), set(theirs).difference(ours)
    if lacking or more:
        verb, trained = ("lacks", "was") if lacking else ("has", "was not")
        raise ValueError(
            f"domain {quote(domain.name)} {verb} the {kind} {quote(min(lacking or more))}, which "
            f"the model {trained} trained with"
        )


def domain_hash(domain: Domain) -> str:
    """Identifies what heuristics depend on: predicates, types, constants and actions."""
    parts = {
        "predicates": sorted(map(str, domain.predicates.values())),
        "types": sorted((name, sorted(parents)) for name, parents in domain.types.items()),
        "constants": sorted((name, sorted(types)) for name, types in domain.constants.items()),
        "actions": sorted(map(str, domain.actions)),
    }
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

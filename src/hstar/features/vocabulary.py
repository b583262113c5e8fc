"""The channels of a domain: which predicates, types and constants a network can tell apart.

Every predicate of arity r gives two channels over r-tuples of objects, "true in the state" and
"wanted by the goal" (-1 where the goal wants it false). Unary channels for the types and one for
each constant of the domain follow, because actions can tell those apart.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from hstar.pddl.errors import quote
from hstar.pddl.model import Domain


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The channels of a domain. Predicates are sorted by name; those wider than `breadth` are
    left out (`omitted`)."""

    breadth: int
    predicates: tuple[tuple[str, int], ...]
    omitted: tuple[str, ...]
    types: tuple[str, ...]
    constants: tuple[str, ...]

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
        counts = [0] * (self.breadth + 1)
        for _, arity in self.predicates:
            counts[arity] += 2
        if self.breadth >= 1:
            counts[1] += len(self.types) + len(self.constants)
        return counts

    def state_channel(self, predicate: str) -> tuple[int, int] | None:
        """(arity, channel) of "true in the state"; None for a predicate left out."""
        arity = dict(self.predicates).get(predicate)
        if arity is None:
            return None
        same = [name for name, other in self.predicates if other == arity]
        return arity, same.index(predicate)

    def goal_channel(self, predicate: str) -> tuple[int, int] | None:
        """(arity, channel) of "wanted by the goal"; None for a predicate left out."""
        found = self.state_channel(predicate)
        if found is None:
            return None
        arity, channel = found
        return arity, channel + sum(other == arity for _, other in self.predicates)

    def unary_channel(self, name: str, kind: str) -> int:
        """The channel of a type (kind "type") or of a constant (kind "constant")."""
        first = 2 * sum(arity == 1 for _, arity in self.predicates)
        if kind == "type":
            return first + self.types.index(name)
        return first + len(self.types) + self.constants.index(name)

    def check(self, domain: Domain) -> None:
        """Raises ValueError if problems of this domain do not have these channels."""
        known = {**dict(self.predicates), **dict.fromkeys(self.omitted, -1)}
        for name, predicate in domain.predicates.items():
            if name not in known:
                raise ValueError(
                    f"domain {quote(domain.name)} has the predicate {quote(name)}, which the model "
                    "was not trained with"
                )
            if known[name] not in (-1, len(predicate.parameters)):
                raise ValueError(
                    f"predicate {quote(name)} has {len(predicate.parameters)} parameters in domain "
                    f"{quote(domain.name)}, {known[name]} where the model was trained"
                )
        for kind, ours, theirs in (
            ("predicate", known, domain.predicates),
            ("type", self.types, domain.types),
            ("constant", self.constants, domain.constants),
        ):
            for name in ours:
                if name not in theirs:
                    raise ValueError(
                        f"domain {quote(domain.name)} lacks the {kind} {quote(name)}, which the "
                        "model was trained with"
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

"""PDDL domains and problems before grounding.

All names are lower-case strings. A term that starts with "?" is a variable, any other is an object
or constant. The parser guarantees that every name is declared, that arities fit, and that no
quantifier binds a variable that is already bound around it (it renames instead), so substitution
cannot capture variables. `str` of a formula is PDDL again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

Types: TypeAlias = tuple[str, ...]  # several mean "(either ...)"


@dataclass(frozen=True, slots=True)
class Constant:
    """A condition that holds always or never; PDDL writes "(and)" or "(or)"."""

    value: bool

    def __str__(self) -> str:
        return "(and)" if self.value else "(or)"


TRUTH = Constant(True)
FALSITY = Constant(False)


@dataclass(frozen=True, slots=True)
class Atom:
    """An atom, or in costs a static numeric function of the problem: "(distance ?from ?to)"."""

    predicate: str
    args: tuple[str, ...]

    def __str__(self) -> str:
        return f"({' '.join((self.predicate, *self.args))})"


@dataclass(frozen=True, slots=True)
class Equal:
    left: str
    right: str

    def __str__(self) -> str:
        return f"(= {self.left} {self.right})"


@dataclass(frozen=True, slots=True)
class Not:
    """Negation; "(imply a b)" is stored as Or(Not(a), b)."""

    formula: Formula

    def __str__(self) -> str:
        return f"(not {self.formula})"


@dataclass(frozen=True, slots=True)
class Junction:
    word: ClassVar[str]
    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return f"({self.word} {' '.join(map(str, self.parts))})"


class And(Junction):
    __slots__ = ()
    word = "and"


class Or(Junction):
    __slots__ = ()
    word = "or"


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    types: Types

    def __str__(self) -> str:
        return f"{self.name} - {types_text(self.types)}"


Variables: TypeAlias = tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class Quantified:
    word: ClassVar[str]
    variables: Variables
    body: Formula

    def __str__(self) -> str:
        return f"({self.word} ({' '.join(map(str, self.variables))}) {self.body})"


class Forall(Quantified):
    __slots__ = ()
    word = "forall"


class Exists(Quantified):
    __slots__ = ()
    word = "exists"


Formula: TypeAlias = Constant | Atom | Equal | Not | And | Or | Forall | Exists


@dataclass(frozen=True, slots=True)
class Predicate:
    """The declaration of a predicate or of a numeric function."""

    name: str
    parameters: Variables

    def __str__(self) -> str:
        return f"({' '.join((self.name, *map(str, self.parameters)))})"


@dataclass(frozen=True, slots=True)
class Effect:
    """For every binding of `variables` that makes `condition` true, `atom` becomes `positive`."""

    variables: Variables
    condition: Formula
    atom: Atom
    positive: bool


CostTerm: TypeAlias = int | float | Atom


@dataclass(frozen=True, slots=True)
class Action:
    """`cost` is a sum of terms; it is empty when the action does not change total-cost."""

    name: str
    parameters: Variables
    precondition: Formula
    effects: tuple[Effect, ...]
    cost: tuple[CostTerm, ...]


class TypeTree:
    """Which types lie below which. Sets are computed on demand, because most are never needed."""

    def __init__(self, parents: dict[str, Types]) -> None:
        self._children: dict[str, list[str]] = {}
        self._subtypes: dict[str, frozenset[str]] = {}
        for name, supertypes in parents.items():
            for supertype in supertypes:
                self._children.setdefault(supertype, []).append(name)

    def subtypes(self, name: str) -> frozenset[str]:
        """The type itself and everything below it."""
        known = self._subtypes.get(name)
        if known is None:
            reached, waiting = {name}, [name]
            while waiting:
                new = set(self._children.get(waiting.pop(), ())) - reached
                reached |= new
                waiting.extend(new)
            known = self._subtypes[name] = frozenset(reached)
        return known

    def has_type(self, types: Types, wanted: Types) -> bool:
        """Whether something declared with `types` may be used where one of `wanted` is required."""
        return any(one in self.subtypes(other) for other in wanted for one in types)

    def select(self, objects: dict[str, Types], wanted: Types) -> list[str]:
        """The names in `objects` that have one of the wanted types."""
        fitting = frozenset().union(*map(self.subtypes, wanted))
        return [name for name, types in objects.items() if not fitting.isdisjoint(types)]


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """A planning domain. `types` maps a type to its parents; "object" is the root, with none."""

    name: str
    types: dict[str, Types]
    constants: dict[str, Types]
    predicates: dict[str, Predicate]
    functions: dict[str, Predicate]
    actions: tuple[Action, ...]
    type_tree: TypeTree = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "type_tree", TypeTree(self.types))


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A planning problem and its domain.

    `objects` holds the constants of the domain first, then the objects, in file order. `init` holds
    each true atom once, as ("on", "a", "b"). When `uses_metric` is False every action costs 1.
    `path` is the file it was read from.
    """

    name: str
    domain: Domain
    objects: dict[str, Types]
    init: list[tuple[str, ...]]
    function_values: dict[tuple[str, ...], int | float]
    goal: Formula
    uses_metric: bool
    path: str
    _objects_of: dict[Types, list[str]] = field(init=False, repr=False, default_factory=dict)

    def objects_of(self, types: Types) -> list[str]:
        """The objects of any of these types, in the order of `objects`; do not change the list."""
        known = self._objects_of.get(types)
        if known is None:
            known = self._objects_of[types] = self.domain.type_tree.select(self.objects, types)
        return known


def types_text(types: Types) -> str:
    return types[0] if len(types) == 1 else f"(either {' '.join(types)})"


def negation(formula: Formula) -> Formula:
    """Not(formula), without double negations."""
    match formula:
        case Not(inner):
            return inner
        case Constant(value):
            return Constant(not value)
        case _:
            return Not(formula)


def conjunction(parts: list[Formula]) -> Formula:
    """And(parts), with nested conjunctions spliced in and constants worked out."""
    return _join(And, parts, TRUTH, FALSITY)


def disjunction(parts: list[Formula]) -> Formula:
    """Or(parts), with nested disjunctions spliced in and constants worked out."""
    return _join(Or, parts, FALSITY, TRUTH)


def _join(
    kind: type[And] | type[Or], parts: list[Formula], neutral: Formula, decisive: Formula
) -> Formula:
    flat: list[Formula] = []
    for part in parts:
        if part == decisive:
            return part
        if isinstance(part, kind):
            flat.extend(part.parts)
        elif part != neutral:
            flat.append(part)
    if len(flat) > 1:
        return kind(tuple(flat))
    return flat[0] if flat else neutral


def subformulas(formula: Formula) -> Iterator[Formula]:
    waiting = [formula]
    while waiting:
        part = waiting.pop()
        yield part
        match part:
            case Not(inner) | Quantified(_, inner):
                waiting.append(inner)
            case Junction(parts):
                waiting.extend(parts)


def substitute(formula: Formula, renaming: Mapping[str, str]) -> Formula:
    """The formula with terms replaced; quantified variables must not be among them."""
    match formula:
        case Atom(predicate, args):
            return Atom(predicate, tuple(renaming.get(arg, arg) for arg in args))
        case Equal(left, right):
            return Equal(renaming.get(left, left), renaming.get(right, right))
        case Not(inner):
            return Not(substitute(inner, renaming))
        case And(parts):
            return conjunction([substitute(part, renaming) for part in parts])
        case Or(parts):
            return disjunction([substitute(part, renaming) for part in parts])
        case Quantified(variables, body):
            return type(formula)(variables, substitute(body, renaming))
        case _:
            return formula

"""Which conditions hold in a state, and for which objects.

A quantifier does not try all objects: the true atoms show which objects can matter. To find the
bindings that make a conjunction true, its atoms with unbound variables are matched with the true
atoms one after the other, the rarest first. Only variables that occur in no atom try all their
objects. "For all x: f" is tested as: no x makes f false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

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
    Truth,
    Variable,
)

Binding = dict[str, str]
GroundAtom = tuple[str, ...]  # ("on", "a", "b")
_Literal = tuple[Formula, bool]  # a condition and the value it should have


class AtomSet:
    """The true atoms, indexed by predicate and by the object at one position."""

    __slots__ = ("_by_object", "_by_predicate")

    def __init__(self, atoms: list[GroundAtom]) -> None:
        self._by_predicate: dict[str, set[GroundAtom]] = {}
        # Built lazily, only for the (predicate, position) pairs that are looked up.
        self._by_object: dict[tuple[str, int], dict[str, set[GroundAtom]]] = {}
        for atom in atoms:
            self.add(atom)

    def __contains__(self, atom: GroundAtom) -> bool:
        return atom in self._by_predicate.get(atom[0], ())

    def add(self, atom: GroundAtom) -> None:
        self._by_predicate.setdefault(atom[0], set()).add(atom)
        for place in range(1, len(atom)):
            index = self._by_object.get((atom[0], place))
            if index is not None:
                index.setdefault(atom[place], set()).add(atom)

    def discard(self, atom: GroundAtom) -> None:
        self._by_predicate.get(atom[0], set()).discard(atom)
        for place in range(1, len(atom)):
            index = self._by_object.get((atom[0], place))
            if index is not None:
                index.get(atom[place], set()).discard(atom)

    def candidates(self, atom: Atom, binding: Binding) -> set[GroundAtom] | frozenset[GroundAtom]:
        """The smallest known set of true atoms that includes all matches; do not change it."""
        best = self._by_predicate.get(atom.predicate)
        if best is None:
            return frozenset()
        for place, term in enumerate(atom.args, 1):
            name = binding.get(term, term)
            if name.startswith("?"):
                continue
            found = self._with_object(atom.predicate, place).get(name)
            if found is None:
                return frozenset()
            if len(found) < len(best):
                best = found
        return best

    def _with_object(self, predicate: str, place: int) -> dict[str, set[GroundAtom]]:
        index = self._by_object.get((predicate, place))
        if index is None:
            index = self._by_object[predicate, place] = {}
            for atom in self._by_predicate[predicate]:
                index.setdefault(atom[place], set()).add(atom)
        return index


class Conditions:
    """Tests conditions on the atoms that are true in the current state."""

    def __init__(self, atoms: AtomSet, objects_of: Callable[[tuple[str, ...]], list[str]]) -> None:
        self._atoms = atoms
        self._objects_of = objects_of
        self._members: dict[tuple[str, ...], frozenset[str]] = {}
        self._free: dict[int, tuple[Formula, frozenset[str]]] = {}

    def objects(self, types: tuple[str, ...]) -> frozenset[str]:
        """The objects of any of these types."""
        known = self._members.get(types)
        if known is None:
            known = self._members[types] = frozenset(self._objects_of(types))
        return known

    def holds(self, formula: Formula, binding: Binding) -> bool:
        """Whether a condition is true. Plain loops, so that a level takes only one stack frame."""
        match formula:
            case Atom():
                return ground(formula, binding) in self._atoms
            case And(parts):
                for part in parts:  # noqa: SIM110
                    if not self.holds(part, binding):
                        return False
                return True
            case Not(inner):
                return not self.holds(inner, binding)
            case Truth():
                return True
            case Falsity():
                return False
            case Equal(left, right):
                return binding.get(left, left) == binding.get(right, right)
            case Or(parts):
                for part in parts:  # noqa: SIM110
                    if self.holds(part, binding):
                        return True
                return False
            case Forall(variables, body):
                return next(self.bindings(variables, body, binding, False), None) is None
            case Exists(variables, body):
                return next(self.bindings(variables, body, binding), None) is not None

    def bindings(
        self,
        variables: tuple[Variable, ...],
        condition: Formula,
        binding: Binding,
        wanted: bool = True,
    ) -> Iterator[Binding]:
        """`binding` extended by objects for `variables`, in all ways that make the condition as
        wanted. Each comes once."""
        unbound = {variable.name: variable.types for variable in variables}
        waiting: list[_Literal] = []
        for part, value in _conjuncts(condition, wanted):
            if unbound.keys() & self._variables(part):
                waiting.append((part, value))
            elif self.holds(part, binding) != value:
                return
        yield from self._extend(unbound, waiting, binding)

    def _extend(
        self, unbound: dict[str, tuple[str, ...]], waiting: list[_Literal], binding: Binding
    ) -> Iterator[Binding]:
        if not unbound:
            yield binding
            return
        atom: Atom | None = None
        fewest: set[GroundAtom] | frozenset[GroundAtom] = frozenset()
        for part, value in waiting:
            if value and isinstance(part, Atom):
                found = self._atoms.candidates(part, binding)
                if atom is None or len(found) < len(fewest):
                    atom, fewest = part, found
                    if not found:
                        return
        if atom is None:
            name = next(iter(unbound))
            choices: Iterator[Binding] = ({name: one} for one in self._objects_of(unbound[name]))
        else:
            choices = self._matches(atom, fewest, unbound, binding)
        for chosen in choices:
            extended = {**binding, **chosen}
            rest = {name: types for name, types in unbound.items() if name not in chosen}
            left: list[_Literal] = []
            for part, value in waiting:
                if rest.keys() & self._variables(part):
                    left.append((part, value))
                elif self.holds(part, extended) != value:
                    break
            else:
                yield from self._extend(rest, left, extended)

    def _matches(
        self,
        atom: Atom,
        candidates: set[GroundAtom] | frozenset[GroundAtom],
        unbound: dict[str, tuple[str, ...]],
        binding: Binding,
    ) -> Iterator[Binding]:
        """The objects that turn an atom into one of the candidates."""
        for candidate in candidates:
            chosen: Binding = {}
            for term, name in zip(atom.args, candidate[1:], strict=True):
                if term not in unbound:
                    if binding.get(term, term) != name:
                        break
                elif chosen.setdefault(term, name) != name or name not in self.objects(
                    unbound[term]
                ):
                    break
            else:
                yield chosen

    def _variables(self, formula: Formula) -> frozenset[str]:
        """The free variables of a condition; cached with it, so that its id stays unique."""
        known = self._free.get(id(formula))
        if known is None:
            known = self._free[id(formula)] = (formula, free_variables(formula))
        return known[1]


def ground(atom: Atom, binding: Binding) -> GroundAtom:
    """An atom with objects for its variables."""
    return (atom.predicate, *[binding.get(arg, arg) for arg in atom.args])


def free_variables(formula: Formula) -> frozenset[str]:
    """The variables that no quantifier of the formula binds."""
    found: set[str] = set()
    waiting: list[Formula] = [formula]
    while waiting:
        match waiting.pop():
            case Atom(_, args):
                found.update(arg for arg in args if arg.startswith("?"))
            case Equal(left, right):
                found.update(term for term in (left, right) if term.startswith("?"))
            case Not(inner):
                waiting.append(inner)
            case And(parts) | Or(parts):
                waiting.extend(parts)
            case Forall(variables, body) | Exists(variables, body):
                # No quantifier binds a variable that is bound around it, so names are unique.
                found.update(free_variables(body) - {variable.name for variable in variables})
    return frozenset(found)


def _conjuncts(formula: Formula, wanted: bool) -> Iterator[_Literal]:
    """What must hold at once for a condition to be as wanted."""
    waiting: list[_Literal] = [(formula, wanted)]
    while waiting:
        part, value = waiting.pop()
        match part:
            case Not(inner):
                waiting.append((inner, not value))
            case And(parts) if value:
                waiting.extend((one, True) for one in reversed(parts))
            case Or(parts) if not value:
                waiting.extend((one, False) for one in reversed(parts))
            case _:
                yield part, value

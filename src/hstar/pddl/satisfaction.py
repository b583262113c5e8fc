"""Which conditions hold in a state, and for which objects.

A quantifier does not try all objects: the true atoms show which objects can matter. To find the
bindings that make a conjunction true, its atoms with unbound variables are matched with the true
atoms one after the other, the rarest first. Only variables that occur in no atom try all their
objects. "For all x: f" is tested as: no x makes f false.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Set
from functools import cache

from hstar.pddl import model
from hstar.pddl.model import Formula, Types, Variables

Binding = dict[str, str]
GroundAtom = tuple[str, ...]  # ("on", "a", "b")
_Literal = tuple[Formula, bool]  # a condition and the value it should have


class LiftedState:
    """The true atoms, indexed by predicate and by the object at one position."""

    def __init__(self, atoms: list[GroundAtom], objects_of: Callable[[Types], list[str]]) -> None:
        self._objects_of = objects_of
        self.objects = cache(lambda types: frozenset(objects_of(types)))
        self._free: dict[int, tuple[Formula, frozenset[str]]] = {}
        self._by_predicate: dict[str, set[GroundAtom]] = {}
        # Built lazily, only for the (predicate, position) pairs that are looked up.
        self._by_object: dict[tuple[str, int], defaultdict[str, set[GroundAtom]]] = {}
        for atom in atoms:
            self._by_predicate.setdefault(atom[0], set()).add(atom)

    def add(self, atom: GroundAtom) -> None:
        for group in self._groups(atom):
            group.add(atom)

    def discard(self, atom: GroundAtom) -> None:
        for group in self._groups(atom):
            group.discard(atom)

    def _groups(self, atom: GroundAtom) -> Iterator[set[GroundAtom]]:
        """The sets that the atom belongs to."""
        yield self._by_predicate.setdefault(atom[0], set())
        for place, name in enumerate(atom[1:], 1):
            index = self._by_object.get((atom[0], place))
            if index is not None:
                yield index[name]

    def _candidates(self, atom: model.Atom, binding: Binding) -> Set[GroundAtom]:
        """The smallest known set of true atoms that includes all matches."""
        best: Set[GroundAtom] = self._by_predicate.get(atom.predicate, frozenset())
        for place, term in enumerate(atom.args, 1):
            name = binding.get(term, term)
            if not name.startswith("?"):
                found = self._with_object(atom.predicate, place).get(name)
                best = min(best, found or frozenset[GroundAtom](), key=len)
        return best

    def _with_object(self, predicate: str, place: int) -> dict[str, set[GroundAtom]]:
        index = self._by_object.get((predicate, place))
        if index is None:
            index = self._by_object[predicate, place] = defaultdict(set)
            for atom in self._by_predicate.get(predicate, ()):
                index[atom[place]].add(atom)
        return index

    def holds(self, formula: Formula, binding: Binding) -> bool:
        """Whether a condition is true. Plain loops, so that a level takes only one stack frame."""
        match formula:
            case model.Atom():
                return ground(formula, binding) in self._by_predicate.get(formula.predicate, ())
            case model.And(parts):
                for part in parts:  # noqa: SIM110
                    if not self.holds(part, binding):
                        return False
                return True
            case model.Not(inner):
                return not self.holds(inner, binding)
            case model.Constant(value):
                return value
            case model.Equal(left, right):
                return binding.get(left, left) == binding.get(right, right)
            case model.Or(parts):
                for part in parts:  # noqa: SIM110
                    if self.holds(part, binding):
                        return True
                return False
            case model.Forall(variables, body):
                return next(self.bindings(variables, body, binding, False), None) is None
            case model.Exists(variables, body):
                return next(self.bindings(variables, body, binding, True), None) is not None

    def bindings(
        self, variables: Variables, condition: Formula, binding: Binding, wanted: bool
    ) -> Iterator[Binding]:
        """`binding` extended by objects for `variables`, in all ways that make the condition as
        wanted. Each comes once."""
        unbound = {variable.name: variable.types for variable in variables}
        return self._extend(unbound, list(_conjuncts(condition, wanted)), binding)

    def _extend(
        self, unbound: dict[str, Types], literals: list[_Literal], binding: Binding
    ) -> Iterator[Binding]:
        """The bindings that make all literals true."""
        waiting: list[_Literal] = []
        for part, value in literals:
            if unbound.keys() & self._variables(part):
                waiting.append((part, value))
            elif self.holds(part, binding) != value:
                return
        if not unbound:
            yield binding
            return
        atoms = [part for part, value in waiting if value and isinstance(part, model.Atom)]
        if atoms:
            found = [(self._candidates(atom, binding), atom) for atom in atoms]
            fewest, atom = min(found, key=lambda pair: len(pair[0]))
            choices = self._matches(atom, fewest, unbound, binding)
        else:
            name = next(iter(unbound))
            choices = ({name: one} for one in self._objects_of(unbound[name]))
        for chosen in choices:
            rest = {name: types for name, types in unbound.items() if name not in chosen}
            yield from self._extend(rest, waiting, binding | chosen)

    def _matches(
        self,
        atom: model.Atom,
        candidates: Set[GroundAtom],
        unbound: dict[str, Types],
        binding: Binding,
    ) -> Iterator[Binding]:
        """The objects that turn an atom into one of the candidates."""
        for candidate in candidates:
            chosen: Binding = {}
            for term, name in zip(atom.args, candidate[1:], strict=True):
                types = unbound.get(term)
                if types is None:
                    fits = binding.get(term, term) == name
                else:
                    fits = name in self.objects(types) and chosen.setdefault(term, name) == name
                if not fits:
                    break
            else:
                yield chosen

    def _variables(self, formula: Formula) -> frozenset[str]:
        """The free variables of a condition; cached with it, so that its id stays unique."""
        known = self._free.get(id(formula))
        if known is None:
            known = self._free[id(formula)] = (formula, free_variables(formula))
        return known[1]


def ground(atom: model.Atom, binding: Binding) -> GroundAtom:
    return (atom.predicate, *[binding.get(arg, arg) for arg in atom.args])


def free_variables(formula: Formula) -> frozenset[str]:
    found: set[str] = set()
    bound: set[str] = set()  # never free elsewhere: the parser renames what is bound already
    for part in model.subformulas(formula):
        match part:
            case model.Atom(_, args):
                found.update(arg for arg in args if arg.startswith("?"))
            case model.Equal(left, right):
                found.update(term for term in (left, right) if term.startswith("?"))
            case model.Quantified(variables, _):
                bound.update(variable.name for variable in variables)
    return frozenset(found - bound)


def _conjuncts(formula: Formula, wanted: bool) -> Iterator[_Literal]:
    """What must hold at once for a condition to be as wanted."""
    waiting: list[_Literal] = [(formula, wanted)]
    while waiting:
        part, value = waiting.pop()
        match part:
            case model.Not(inner):
                waiting.append((inner, not value))
            case model.And(parts) if value:
                waiting.extend((one, True) for one in reversed(parts))
            case model.Or(parts) if not value:
                waiting.extend((one, False) for one in reversed(parts))
            case _:
                yield part, value

"""Random small PDDL tasks as text: every language feature the grounder must get right, by seed.

Uniformly random actions give dull tasks (nothing applicable, or everything true after two steps),
so most of the actions are *movers*: they delete one atom and add another of the same predicate
that differs in one argument. Movers give long shortest paths and mutex groups. Fluent predicates
are kept to few ground atoms, which bounds most state spaces by a few hundred states.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass

MAX_FLUENT_ATOMS = 14


@dataclass(frozen=True)
class RandomTask:
    """A domain and a problem as text, and the features a test may want to select by."""

    seed: int
    domain: str
    problem: str
    negation: bool  # negative, disjunctive or quantified conditions may occur
    conditional: bool  # conditional or quantified effects may occur
    costs: bool


@dataclass(frozen=True)
class Pred:
    name: str
    types: tuple[str, ...]
    fluent: bool


def random_task(
    seed: int,
    *,
    negation: bool | None = None,
    conditional: bool | None = None,
    costs: bool | None = None,
) -> RandomTask:
    """The task of a seed; None lets the seed decide about a feature."""
    rng = random.Random(seed)
    drawn = (rng.random() < 0.6, rng.random() < 0.4, rng.random() < 0.5)
    given = (negation, conditional, costs)
    features = [d if g is None else g for d, g in zip(drawn, given, strict=True)]
    return Generator(seed, rng, *features).task()


class Generator:
    """Draws the parts of one task in order; everything random comes from ``rng``."""

    def __init__(
        self, seed: int, rng: random.Random, negation: bool, conditional: bool, costs: bool
    ) -> None:
        self.seed = seed
        self.rng = rng
        self.negation = negation
        self.conditional = conditional
        self.costs = costs
        self.parent = self.draw_types()
        self.objects = self.draw_objects()
        self.constants = [o for o in self.objects if rng.random() < 0.15]
        self.preds = self.draw_predicates()
        self.fluents = [p for p in self.preds if p.fluent]

    def task(self) -> RandomTask:
        actions = [self.action(i) for i in range(self.rng.randint(3, 4))]
        domain = "\n".join([*self.domain_head(), *actions, ")"]) + "\n"
        return RandomTask(
            self.seed, domain, self.problem(), self.negation, self.conditional, self.costs
        )

    # ------------------------------------------------------------ vocabulary

    def draw_types(self) -> dict[str, str]:
        """Type -> parent. Untyped half of the time; with types, sometimes a small hierarchy."""
        if self.rng.random() < 0.5:
            return {}
        return {"t1": "object", "t2": self.rng.choice(["object", "t1"])}

    def draw_objects(self) -> dict[str, str]:
        """Two to four objects; one of each type, but sometimes a type stays empty."""
        types = list(self.parent) or ["object"]
        drawn = types if self.rng.random() < 0.9 else []
        drawn = [*drawn, *(self.rng.choice(types) for _ in range(4))][
            : self.rng.choice([2, 3, 3, 4])
        ]
        return {f"o{i}": type_name for i, type_name in enumerate(drawn)}

    def is_a(self, type_name: str, ancestor: str) -> bool:
        while type_name != ancestor and type_name != "object":
            type_name = self.parent[type_name]
        return type_name == ancestor

    def objects_of(self, type_name: str) -> list[str]:
        return [o for o, t in self.objects.items() if self.is_a(t, type_name)]

    def ground_atoms(self, pred: Pred) -> list[tuple[str, ...]]:
        choices = (self.objects_of(t) for t in pred.types)
        return [(pred.name, *args) for args in itertools.product(*choices)]

    def draw_predicates(self) -> list[Pred]:
        """Two to four predicates; a fluent one must leave room in the budget of ground atoms."""
        types = ["object", *self.parent]
        preds: list[Pred] = []
        budget = MAX_FLUENT_ATOMS
        for i in range(self.rng.randint(2, 4)):
            arity = self.rng.choice([0, 1, 1, 2, 2])
            pred = Pred(f"p{i}", tuple(self.rng.choice(types) for _ in range(arity)), True)
            size = len(self.ground_atoms(pred))
            if size > budget or (arity == 2 and i > 0 and self.rng.random() < 0.4):
                pred = Pred(pred.name, pred.types, False)
            else:
                budget -= size
            preds.append(pred)
        if not any(p.fluent for p in preds):
            preds.append(Pred("q", ("object",), True))
        return preds

    # ------------------------------------------------------------ formulas

    def variable(self, scope: dict[str, str], type_name: str, extend: bool) -> str:
        """A term of the type: a variable in scope, a constant, or (for actions) a new parameter."""
        fitting = [v for v, t in scope.items() if self.is_a(t, type_name)]
        fitting += [c for c in self.constants if self.is_a(self.objects[c], type_name)]
        if extend and len(scope) < 3 and (not fitting or self.rng.random() < 0.4):
            fitting = [f"?x{len(scope)}"]
            scope[fitting[0]] = type_name
        return self.rng.choice(fitting) if fitting else ""

    def atom(self, scope: dict[str, str], preds: list[Pred], extend: bool = False) -> str:
        """An atom over the scope; empty if no predicate can be filled."""
        pred = self.rng.choice(preds)
        args = [self.variable(scope, t, extend) for t in pred.types]
        return f"({' '.join([pred.name, *args])})" if all(args) else ""

    def literal(self, scope: dict[str, str], extend: bool = False) -> str:
        text = self.atom(scope, self.preds, extend)
        if text and self.negation and self.rng.random() < 0.35:
            return f"(not {text})"
        return text

    def condition(self, scope: dict[str, str], extend: bool = False) -> str:
        """A literal, or with negation allowed sometimes a disjunction, quantifier or equality."""
        kind = self.rng.random() if self.negation else 1.0
        if kind < 0.12:
            parts = [p for p in (self.condition(scope), self.literal(scope)) if p]
            return f"(or {' '.join(parts)})" if parts else ""
        if kind < 0.28:
            type_name = self.rng.choice(["object", *self.parent])
            body = self.literal(scope | {"?z": type_name})
            quantifier = self.rng.choice(["exists", "forall"])
            if body and self.rng.random() < 0.3:
                guard = self.literal(scope | {"?z": type_name})
                body = f"(imply {guard} {body})" if guard else body
            return f"({quantifier} ({self.typed('?z', type_name)}) {body})" if body else ""
        if kind < 0.36 and len(scope) >= 2:
            left, right = self.rng.sample(list(scope), 2)
            return f"(not (= {left} {right}))"
        return self.literal(scope, extend)

    def typed(self, name: str, type_name: str) -> str:
        return f"{name} - {type_name}" if self.parent else name

    # ------------------------------------------------------------ actions

    def action(self, index: int) -> str:
        scope: dict[str, str] = {}
        pre: list[str] = []
        effects: list[str] = []
        movable = [p for p in self.fluents if p.types]
        if movable and (index < 2 or self.rng.random() < 0.5):
            self.move(self.rng.choice(movable), scope, pre, effects)
        pre += [self.condition(scope, extend=True) for _ in range(self.rng.choice([0, 0, 1, 1, 2]))]
        for _ in range(self.rng.randint(0 if effects else 1, 2)):
            effects.append(self.effect(scope))
        effects = [e for e in effects if e]
        if not any(not e.startswith("(not") for e in effects):
            effects.append(self.atom(scope, self.fluents, extend=True))
        if self.costs and self.rng.random() < 0.85:
            effects.append(f"(increase (total-cost) {self.cost(scope)})")
        parameters = " ".join(self.typed(v, t) for v, t in scope.items())
        return (
            f"(:action a{index}\n"
            f"  :parameters ({parameters})\n"
            f"  :precondition (and {' '.join(p for p in pre if p)})\n"
            f"  :effect (and {' '.join(e for e in effects if e)}))"
        )

    def move(self, pred: Pred, scope: dict[str, str], pre: list[str], effects: list[str]) -> None:
        """(p .. x ..) becomes (p .. y ..), perhaps only along a static binary relation."""
        args = []
        for type_name in pred.types:
            scope[f"?x{len(scope)}"] = type_name
            args.append(f"?x{len(scope) - 1}")
        changed = self.rng.randrange(len(args))
        target = f"?x{len(scope)}"
        scope[target] = pred.types[changed]
        moved = [*args[:changed], target, *args[changed + 1 :]]
        pre.append(f"({' '.join([pred.name, *args])})")
        effects.append(f"(not ({' '.join([pred.name, *args])}))")
        effects.append(f"({' '.join([pred.name, *moved])})")
        roads = [
            p
            for p in self.preds
            if not p.fluent
            and len(p.types) == 2
            and self.is_a(pred.types[changed], p.types[0])
            and self.is_a(pred.types[changed], p.types[1])
        ]
        if roads:
            pre.append(f"({roads[0].name} {args[changed]} {target})")

    def effect(self, scope: dict[str, str]) -> str:
        kind = self.rng.random() if self.conditional else 1.0
        if kind < 0.3:
            condition, change = self.condition(scope), self.change(scope)
            return f"(when {condition} {change})" if condition and change else change
        if kind < 0.5:
            type_name = self.rng.choice(["object", *self.parent])
            inner = scope | {"?w": type_name}
            condition, change = self.condition(inner), self.change(inner)
            if not change:
                return ""
            body = f"(when {condition} {change})" if condition else change
            return f"(forall ({self.typed('?w', type_name)}) {body})"
        return self.change(scope, extend=True)

    def change(self, scope: dict[str, str], extend: bool = False) -> str:
        text = self.atom(scope, self.fluents, extend)
        return f"(not {text})" if text and self.rng.random() < 0.35 else text

    def cost(self, scope: dict[str, str]) -> str:
        if scope and self.rng.random() < 0.4:
            return f"(price {self.rng.choice(list(scope))})"
        return str(self.rng.choice([0, 1, 1, 2, 3, 5]))

    # ------------------------------------------------------------ files

    def domain_head(self) -> list[str]:
        lines = [f"(define (domain random{self.seed})"]
        requirements = [":strips", ":equality"]
        requirements += [":typing"] if self.parent else []
        requirements += [":negative-preconditions", ":adl"] if self.negation else []
        requirements += [":conditional-effects"] if self.conditional else []
        requirements += [":action-costs"] if self.costs else []
        lines.append(f"(:requirements {' '.join(requirements)})")
        if self.parent:
            lines.append(f"(:types {' '.join(f'{t} - {p}' for t, p in self.parent.items())})")
        if self.constants:
            names = (self.typed(c, self.objects[c]) for c in self.constants)
            lines.append(f"(:constants {' '.join(names)})")
        declared = []
        for pred in self.preds:
            parameters = (self.typed(f"?a{i}", t) for i, t in enumerate(pred.types))
            declared.append(f"({' '.join([pred.name, *parameters])})")
        lines.append(f"(:predicates {' '.join(declared)})")
        if self.costs:
            price = self.typed("?a", "object")
            lines.append(f"(:functions (total-cost) - number (price {price}) - number)")
        return lines

    def problem(self) -> str:
        init: list[tuple[str, ...]] = []
        for pred in self.preds:
            atoms = self.ground_atoms(pred)
            share = 0.35 if pred.fluent else 0.75
            chosen = [a for a in atoms if self.rng.random() < share]
            init += chosen or atoms[:1]
        objects = (self.typed(o, t) for o, t in self.objects.items() if o not in self.constants)
        init_lines = [f"({' '.join(atom)})" for atom in init]
        if self.costs:
            init_lines.append("(= (total-cost) 0)")
            init_lines += [f"(= (price {o}) {self.rng.randint(0, 4)})" for o in self.objects]
        return "\n".join(
            [
                f"(define (problem random{self.seed}-problem) (:domain random{self.seed})",
                f"(:objects {' '.join(objects)})",
                f"(:init {' '.join(init_lines)})",
                f"(:goal {self.goal(init)})",
                "(:metric minimize (total-cost))" if self.costs else "",
                ")\n",
            ]
        )

    def goal(self, init: list[tuple[str, ...]]) -> str:
        """One to three fluent atoms, most of them false at first; sometimes a richer formula."""
        ground = [a for p in self.fluents for a in self.ground_atoms(p)]
        wanted = [a for a in ground if a not in init] or ground
        parts = [
            f"({' '.join(atom)})"
            for atom in self.rng.sample(wanted, min(len(wanted), self.rng.choice([1, 2, 2, 3])))
        ]
        if ground and self.negation and self.rng.random() < 0.4:
            parts.append(f"(not ({' '.join(self.rng.choice(ground))}))")
        if parts and self.negation and self.rng.random() < 0.2:
            parts = [f"(or {' '.join(parts)})"]
        return f"(and {' '.join(parts)})"

"""A slow, obvious planner against which the native core is checked.

Everything here is sets, dicts and textbook definitions, so that a disagreement with the core is
the core's fault until shown otherwise. There are two kinds of task, and they share nothing but
the search code:

* ``StripsTask`` (``from_task``): the grounded task the core made, read back operator by operator.
  It checks successor generation, heuristics and search *given* the grounding.
* ``LiftedTask`` (``from_problem``): the parsed PDDL, instantiated naively over all parameter
  products, with conditions evaluated recursively. It checks the grounding itself.

Heuristics follow Bonet & Geffner 2001 (hmax, hadd), Helmert & Domshlak 2009 (LM-cut).
"""

from __future__ import annotations

import heapq
import itertools
import math
import re
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from hstar.pddl import model

Fact = Hashable
State = frozenset[Any]
Transition = tuple[str, float, State]  # operator name, cost, successor
Atom = tuple[str, ...]


class StateSpaceTooLarge(Exception):
    """More reachable states than the caller wanted to wait for."""


class Space(Protocol):
    """What the searches below need to know about a task."""

    init: State

    def successors(self, state: State) -> Iterator[Transition]: ...

    def is_goal(self, state: State) -> bool: ...


# ---------------------------------------------------------------- grounded tasks


@dataclass(frozen=True)
class ConditionalEffect:
    condition: frozenset[Fact]
    add: frozenset[Fact]
    delete: frozenset[Fact]


@dataclass(frozen=True)
class Op:
    name: str
    cost: float
    pre: frozenset[Fact]
    effects: tuple[ConditionalEffect, ...]


@dataclass(frozen=True)
class StripsTask:
    """Facts, operators with conditional effects, and a conjunctive goal."""

    facts: frozenset[Fact]
    init: State
    goal: frozenset[Fact]
    ops: tuple[Op, ...]

    def is_goal(self, state: State) -> bool:
        return self.goal <= state

    def successors(self, state: State) -> Iterator[Transition]:
        for op in self.ops:
            if op.pre <= state:
                add: set[Fact] = set()
                delete: set[Fact] = set()
                for effect in op.effects:
                    if effect.condition <= state:
                        add |= effect.add
                        delete |= effect.delete
                yield op.name, op.cost, frozenset((state - delete) | add)


IMPOSSIBLE = (-1, -1)


def from_task(task: Any) -> StripsTask:
    """The core's grounded task with one fact per (variable, value)."""
    sizes = list(task.domain_sizes)
    ops = []
    for i in range(task.num_operators):
        operator = task.operator(i)
        effects = tuple(
            ConditionalEffect(
                frozenset((int(v), int(d)) for v, d in conditions),
                frozenset({(int(var), int(val))}),
                frozenset((int(var), other) for other in range(sizes[var]) if other != val),
            )
            for conditions, var, val in operator.effects
        )
        pre = frozenset((int(v), int(d)) for v, d in operator.preconditions)
        ops.append(Op(operator.name, operator.cost, pre, effects))
    facts = frozenset((var, val) for var, size in enumerate(sizes) for val in range(size))
    goal = frozenset((int(v), int(d)) for v, d in task.goal)
    if task.goal_is_false:  # the grounder saw it; nothing ever adds this fact
        goal = frozenset({IMPOSSIBLE})
    return StripsTask(facts, fdr_state(task.initial_state), goal, tuple(ops))


def fdr_state(values: Iterable[int]) -> State:
    """A row of variable values as the facts ``from_task`` uses."""
    return frozenset((var, int(val)) for var, val in enumerate(values))


def parse_atom(text: str) -> Atom:
    """``on(a, b)``, ``handempty()`` and ``handempty`` as (predicate, *arguments)."""
    return tuple(re.findall(r"[^\s(),]+", text))


# ---------------------------------------------------------------- lifted tasks


@dataclass(frozen=True)
class LiftedTask:
    """PDDL semantics straight from the formulas; a state is the set of all true ground atoms."""

    problem: model.Problem
    init: State

    def is_goal(self, state: State) -> bool:
        return holds(self.problem, self.problem.goal, state, {})

    def successors(self, state: State) -> Iterator[Transition]:
        for action in self.problem.domain.actions:
            for binding in bindings(self.problem, action.parameters, {}):
                if holds(self.problem, action.precondition, state, binding):
                    args = [binding[parameter.name] for parameter in action.parameters]
                    name = f"({' '.join([action.name, *args])})"
                    cost = action_cost(self.problem, action, binding)
                    yield name, cost, apply_action(self.problem, action, binding, state)


def from_problem(problem: model.Problem) -> LiftedTask:
    return LiftedTask(problem, frozenset(tuple(atom) for atom in problem.init))


def bindings(
    problem: model.Problem, variables: Iterable[model.Variable], outer: dict[str, str]
) -> Iterator[dict[str, str]]:
    """Every assignment of objects to variables, on top of an outer one (inner names shadow)."""
    variables = tuple(variables)
    choices = [problem.objects_of(variable.types) for variable in variables]
    for objects in itertools.product(*choices):
        yield outer | {v.name: o for v, o in zip(variables, objects, strict=True)}


def ground(atom: model.Atom, binding: dict[str, str]) -> Atom:
    return (atom.predicate, *(binding.get(term, term) for term in atom.args))


def holds(
    problem: model.Problem, formula: model.Formula, state: State, binding: dict[str, str]
) -> bool:
    match formula:
        case model.Constant(value):
            return value
        case model.Atom():
            return ground(formula, binding) in state
        case model.Equal(left, right):
            return binding.get(left, left) == binding.get(right, right)
        case model.Not(inner):
            return not holds(problem, inner, state, binding)
        case model.And(parts):
            return all(holds(problem, part, state, binding) for part in parts)
        case model.Or(parts):
            return any(holds(problem, part, state, binding) for part in parts)
        case model.Forall(variables, body):
            return all(
                holds(problem, body, state, b) for b in bindings(problem, variables, binding)
            )
        case model.Exists(variables, body):
            return any(
                holds(problem, body, state, b) for b in bindings(problem, variables, binding)
            )
    raise TypeError(f"not a formula: {formula!r}")


def apply_action(
    problem: model.Problem, action: model.Action, binding: dict[str, str], state: State
) -> State:
    """All effects at once, conditions read in the old state; adding wins over deleting."""
    add: set[Atom] = set()
    delete: set[Atom] = set()
    for effect in action.effects:
        for inner in bindings(problem, effect.variables, binding):
            if holds(problem, effect.condition, state, inner):
                (add if effect.positive else delete).add(ground(effect.atom, inner))
    return frozenset((state - delete) | add)


def action_cost(problem: model.Problem, action: model.Action, binding: dict[str, str]) -> float:
    """The sum of the action's cost terms, or 1 if the problem has no metric."""
    if not problem.uses_metric:
        return 1
    total: float = 0
    for term in action.cost:
        if isinstance(term, int | float):
            total += term
        else:
            total += problem.function_values[ground(term, binding)]
    return total


# ---------------------------------------------------------------- exact distances


@dataclass(frozen=True)
class StateSpace:
    """All reachable states in breadth-first order, their transitions, and exact goal distances."""

    transitions: dict[State, list[Transition]]
    h_star: dict[State, float]


def explore(space: Space, max_states: int = 2000) -> StateSpace:
    """Enumerates forwards, then runs uniform-cost search backwards from all goal states."""
    transitions: dict[State, list[Transition]] = {}
    queue = deque([space.init])
    seen = {space.init}
    while queue:
        state = queue.popleft()
        transitions[state] = list(space.successors(state))
        for _, _, successor in transitions[state]:
            if successor not in seen:
                if len(seen) == max_states:
                    raise StateSpaceTooLarge(f"more than {max_states} states")
                seen.add(successor)
                queue.append(successor)

    predecessors: dict[State, list[tuple[float, State]]] = {state: [] for state in transitions}
    for state, outgoing in transitions.items():
        for _, cost, successor in outgoing:
            predecessors[successor].append((cost, state))
    goals = {state: 0.0 for state in transitions if space.is_goal(state)}
    distance = dijkstra(goals, lambda state: predecessors[state])
    return StateSpace(transitions, {s: distance.get(s, math.inf) for s in transitions})


def dijkstra(
    start: dict[State, float], edges: Callable[[State], Iterable[tuple[float, State]]]
) -> dict[State, float]:
    """Cheapest path costs from weighted start nodes to everything reachable from them."""
    best = dict(start)
    ties = itertools.count()  # states are not comparable
    queue = [(cost, next(ties), node) for node, cost in start.items()]
    heapq.heapify(queue)
    while queue:
        cost, _, node = heapq.heappop(queue)
        if cost > best[node]:
            continue
        for step, target in edges(node):
            if cost + step < best.get(target, math.inf):
                best[target] = cost + step
                heapq.heappush(queue, (cost + step, next(ties), target))
    return best


# ---------------------------------------------------------------- delete relaxation


@dataclass(frozen=True)
class UnaryOp:
    """One fact added under one condition; ``op`` indexes the operator that pays for it."""

    op: int
    pre: frozenset[Fact]
    add: Fact


def relax(task: StripsTask) -> list[UnaryOp]:
    return [
        UnaryOp(i, op.pre | effect.condition, fact)
        for i, op in enumerate(task.ops)
        for effect in op.effects
        for fact in effect.add
    ]


def relaxed_costs(
    unary: list[UnaryOp],
    costs: list[float],
    state: State,
    combine: Callable[[Iterable[float]], float],
) -> dict[Fact, float]:
    """The least fixpoint of h(f) = min over achievers of cost + combine(h of preconditions)."""
    h: dict[Fact, float] = dict.fromkeys(state, 0.0)
    changed = True
    while changed:
        changed = False
        for u in unary:
            if all(p in h for p in u.pre):
                value = costs[u.op] + combine(h[p] for p in u.pre)
                if value < h.get(u.add, math.inf):
                    h[u.add] = value
                    changed = True
    return h


def maximum(values: Iterable[float]) -> float:
    return max(values, default=0.0)


def value_of(
    facts: Iterable[Fact], h: dict[Fact, float], combine: Callable[[Iterable[float]], float]
) -> float:
    return combine([h.get(fact, math.inf) for fact in facts])


def h_max(task: StripsTask, state: State) -> float:
    h = relaxed_costs(relax(task), [op.cost for op in task.ops], state, maximum)
    return value_of(task.goal, h, maximum)


def h_add(task: StripsTask, state: State) -> float:
    h = relaxed_costs(relax(task), [op.cost for op in task.ops], state, sum)
    return value_of(task.goal, h, sum)


def h_goalcount(task: StripsTask, state: State) -> float:
    return math.inf if IMPOSSIBLE in task.goal else len(task.goal - state)


def has_conditional_effects(task: StripsTask) -> bool:
    return any(effect.condition for op in task.ops for effect in op.effects)


def h_lmcut(task: StripsTask, state: State) -> float:
    """LM-cut, with the cost of an operator shared by all its unary effects.

    While hmax of the goal is positive: the justification graph has an edge from the hmax-dearest
    precondition to the added fact of every operator; the goal zone is what reaches the goal at no
    cost; the edges entering it from the zone reachable from the state are a landmark. Paying once
    per operator, not per effect, keeps this admissible under conditional effects.
    """
    goal, start = object(), object()
    unary = [UnaryOp(u.op, u.pre or frozenset({start}), u.add) for u in relax(task)]
    unary.append(UnaryOp(len(task.ops), task.goal or frozenset({start}), goal))
    costs: list[float] = [*(op.cost for op in task.ops), 0.0]
    total = 0.0
    while True:
        h = relaxed_costs(unary, costs, frozenset({*state, start}), maximum)
        if goal not in h:
            return math.inf
        if h[goal] == 0:
            return total
        reachable = [u for u in unary if all(p in h for p in u.pre)]
        # Any precondition of maximal hmax will do: admissibility does not depend on the choice.
        supporter = {u: max(u.pre, key=lambda p: (h[p], str(p))) for u in reachable}
        zone = {goal}
        while True:
            extra = {supporter[u] for u in reachable if u.add in zone and costs[u.op] == 0} - zone
            if not extra:
                break
            zone |= extra
        before: set[Fact] = {*state, start}
        cut: set[int] = set()
        queue = list(before)
        while queue:
            fact = queue.pop()
            for u in reachable:
                if supporter[u] == fact:
                    if u.add in zone:
                        cut.add(u.op)
                    elif u.add not in before:
                        before.add(u.add)
                        queue.append(u.add)
        payment = min(costs[op] for op in cut)
        total += payment
        for op in cut:
            costs[op] -= payment

"""What goal regression claims, checked on the first and the last task of each domain of a suite.

    python benchmarks/regression_evidence.py SUITES/ferber/moderate

1. Rollouts. Each set x_i of each rollout is completed to a state, and the operators of the rollout
   are replayed forwards from there: the goal must hold. The same from x_i alone: because no action
   of these domains needs an atom to be false, what works from a set works from every set that
   contains it, so this covers all completions of x_i. The replay is plain Python on the lifted
   actions; it shares nothing with the core.
2. Bounds. LM-cut with unit costs must not exceed the upper bound of a row that gives every variable
   one value. Rows are drawn from three ways to sample.
3. Mutex pairs. Of the pairs of atoms that Fast Downward's translator excludes by its variables and
   mutex groups, those that hstar does not exclude without and with h^2 are counted, by predicates.
   States at the ends of 200 random walks must hold no pair that hstar excludes.

Prints tables in Markdown and ends with 1 if a replay, a bound or a pair is wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate, combinations, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from provenance import describe_run

from hstar import _core
from hstar.pddl import Problem, model, parse
from hstar.planning.atoms import atom_name
from hstar.planning.heuristics import make_heuristic
from hstar.planning.task import Task, ground
from hstar.runtime.resources import Budget
from hstar.slots.teachers.backward import FactSets
from hstar.slots.teachers.regression import sample_focused, sample_walks

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
import downward

NO_LIMIT = (0.0, 0)
CHUNK = 50  # rollouts kept in memory at a time
WAYS = ("atoms", "exclusive", "variables")
H2_SECONDS = 20.0
SAMPLED = 5000  # rows per way to sample, of which some are compared with LM-cut
WALKS, WALK_STEPS = 200, 200
Atoms = set[str]


def ends(suite: Path) -> Iterator[Path]:
    """The first and the last task of each domain by name."""
    for domain in sorted(path for path in suite.iterdir() if path.is_dir()):
        tasks = sorted(path for path in domain.iterdir() if path.is_dir())
        yield from dict.fromkeys([tasks[0], tasks[-1]])


class ForwardReplay:
    """The lifted actions as preconditions, adds and deletes over names of atoms."""

    def __init__(self, problem: Problem) -> None:
        self.actions = {action.name: action for action in problem.domain.actions}
        self.known: dict[str, tuple[Atoms, Atoms, Atoms]] = {}
        self.goal = required_atoms(problem.goal, {})

    def steps(self, name: str) -> tuple[Atoms, Atoms, Atoms]:
        """Of an operator such as "(move a b)"."""
        if name not in self.known:
            first, *args = name.strip("()").split()
            action = self.actions[first]
            names = (parameter.name for parameter in action.parameters)
            binding = dict(zip(names, args, strict=True))
            add: Atoms = set()
            delete: Atoms = set()
            for effect in action.effects:
                if effect.variables or not isinstance(effect.condition, model.Truth):
                    raise NotImplementedError(f"{name} has conditional effects")
                (add if effect.positive else delete).add(named(effect.atom, binding))
            self.known[name] = required_atoms(action.precondition, binding), add, delete - add
        return self.known[name]

    def reaches_goal(self, start: Atoms, plan: list[tuple[Atoms, Atoms, Atoms]]) -> bool:
        state = set(start)
        for pre, add, delete in plan:
            if not pre <= state:
                return False
            state -= delete
            state |= add
        return self.goal <= state


def named(atom: model.Atom, binding: dict[str, str]) -> str:
    return atom_name(atom.predicate, *(binding.get(arg, arg) for arg in atom.args))


def required_atoms(formula: model.Formula, binding: dict[str, str]) -> Atoms:
    """The atoms of a conjunction. Inequalities between objects are left to the grounder."""
    match formula:
        case model.Atom():
            return {named(formula, binding)}
        case model.And(parts):
            return set().union(*(required_atoms(part, binding) for part in parts))
        case model.Truth() | model.Not(model.Equal()):
            return set()
    raise NotImplementedError(f"not a conjunction of atoms: {formula}")


@dataclass
class Evidence:
    """What was found for one task."""

    name: str
    facts: int
    images: int = 0
    longest: int = 0
    replays: int = 0
    failures: int = 0
    full_rows: int = 0
    compared: int = 0
    above: int = 0
    pairs: int = 0
    own_pairs: dict[bool, int] = field(default_factory=dict)  # without and with h^2
    missing: dict[bool, Counter[str]] = field(default_factory=dict)
    untracked: Counter[str] = field(default_factory=Counter)  # an atom is irrelevant for the goal
    contradicted: int = 0  # exclusive pairs in states that walks reach
    h2: str = ""


def replay_rollouts(task: Task, count: int, length: int, found: Evidence) -> None:
    forward = ForwardReplay(task.problem)
    names = [task.core.atom_name(fact) for fact in range(task.num_facts)]
    never_changes = {atom_name(*atom) for atom in task.problem.init} - set(names)
    regression = _core.Regression(task.core, *NO_LIMIT)
    has_h2 = False
    for seed in range(0, count, CHUNK):
        if not has_h2 and seed >= count // 2:  # the second half of the rollouts knows h^2
            has_h2 = regression.add_h2(H2_SECONDS, *NO_LIMIT)
        novelty = ("both", "none", "preconditions", "adds", "deletes")[seed // CHUNK % 5]
        images = regression.rollouts(min(CHUNK, count - seed), length, novelty, seed, *NO_LIMIT)
        way = WAYS[seed // CHUNK % 3]
        every = np.arange(len(images), dtype=np.int32)
        completed = rows(*images.complete(every, way, seed, *NO_LIMIT))
        plan: list[tuple[Atoms, Atoms, Atoms]] = []
        sets = rows(*images.facts)
        for op, parent, bare, whole in zip(images.op, images.parent, sets, completed, strict=True):
            step = [] if parent < 0 else [forward.steps(task.operator_name(int(op)))]
            plan = [*step, *plan] if step else []
            for facts in (bare, whole):
                start = {names[fact] for fact in facts} | never_changes
                found.failures += not forward.reaches_goal(start, plan)
                found.replays += 1
        found.images += len(images)
        found.longest = max(found.longest, int(images.depth.max()))


def rows(starts: NDArray[np.int64], facts: NDArray[np.int32]) -> Iterator[list[int]]:
    return (facts[a:b].tolist() for a, b in pairwise(starts.tolist()))


def compare_with_lmcut(task: Task, most: int, seconds: float, found: Evidence) -> None:
    """At most so many rows and about so many seconds."""
    lmcut = make_heuristic(task, "lmcut", "one")
    deadline = _core.monotonic_seconds() + seconds
    budget = Budget()
    ways = (
        sample_walks(task, budget, states=SAMPLED, seed=1),
        sample_walks(task, budget, states=SAMPLED, completion="variables", h2=True, seed=2),
        sample_focused(task, budget, states=SAMPLED, completion="variables", seed=3),
    )
    whole = [full_states(task, sets) for sets in ways]
    states, upper = (np.concatenate(part) for part in zip(*whole, strict=True))
    found.full_rows = len(states)
    order = np.random.default_rng(0).permutation(len(states))[:most]
    for start in range(0, len(order), 50):
        chosen = order[start : start + 50]
        found.above += int((lmcut.evaluate(states[chosen]) > upper[chosen]).sum())
        found.compared += len(chosen)
        if _core.monotonic_seconds() > deadline:
            break


def full_states(task: Task, sets: FactSets) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The rows with an upper bound and one value for each variable; "none of those" is one."""
    first = np.array([0, *accumulate(task.domain_sizes)])
    variable_of = np.repeat(np.arange(task.num_variables), task.domain_sizes)
    none = np.full(task.num_variables, -1, np.int32)
    for fact in range(task.num_facts):
        if task.core.atom_name(fact).startswith("<"):
            none[variable_of[fact]] = fact - first[variable_of[fact]]
    states, upper = [], []
    for facts, bound in zip(rows(sets.starts, sets.facts), sets.upper, strict=True):
        held = variable_of[facts]
        if np.isnan(bound) or len(np.unique(held)) < len(held):
            continue
        state = none.copy()
        state[held] = np.array(facts, np.int64) - first[held]
        if (state >= 0).all():
            states.append(state)
            upper.append(bound)
    values = np.array(states, np.int32).reshape(-1, task.num_variables)
    return values, np.array(upper, np.float32)


def compare_mutexes(task: Task, folder: Path, found: Evidence) -> None:
    problem = Path(task.path)
    text = downward.translate(problem.with_name("domain.pddl"), problem, folder).sas.read_text()
    number = {task.core.atom_name(fact): fact for fact in range(task.num_facts)}
    theirs = {pair for group in groups(text) for pair in combinations(sorted(group), 2)}
    known = [pair for pair in theirs if all(atom in number for atom in pair)]
    found.pairs = len(theirs)
    found.untracked = kinds(theirs.difference(known))
    atoms = [fact for name, fact in number.items() if not name.startswith(("<", "not "))]
    regression = _core.Regression(task.core, *NO_LIMIT)
    for with_h2 in (False, True):
        if with_h2:
            start = _core.monotonic_seconds()
            is_complete = regression.add_h2(H2_SECONDS, *NO_LIMIT)
            seconds = _core.monotonic_seconds() - start
            found.h2 = f"{seconds:.1f} s" if is_complete else "out of time"
        found.own_pairs[with_h2] = sum(
            regression.exclusive(a, b) for a, b in combinations(atoms, 2)
        )
        missing = [(a, b) for a, b in known if not regression.exclusive(number[a], number[b])]
        found.missing[with_h2] = kinds(missing)
        if missing:
            print(f"{found.name}, h^2 {with_h2}: {' and '.join(min(missing))}", file=sys.stderr)

    first = np.array([0, *accumulate(task.domain_sizes)][:-1])
    for state in _core.random_walks(task.core, WALKS, WALK_STEPS, 0, *NO_LIMIT):
        held = set(atoms).intersection((state + first).tolist())
        found.contradicted += sum(regression.exclusive(a, b) for a, b in combinations(held, 2))


def kinds(pairs: Iterable[tuple[str, str]]) -> Counter[str]:
    """Pairs of atoms counted by their predicates."""
    return Counter(" with ".join(atom.partition("(")[0] for atom in pair) for pair in pairs)


def groups(sas: str) -> Iterator[list[str]]:
    """The atoms of each variable and of each mutex group of a translated task."""
    values = downward.variable_blocks(sas)
    yield from ([atom for atom in map(positive, block) if atom] for block in values)
    sections = sas.split("begin_mutex_group\n")[1:]
    for section in sections:
        lines = section.partition("\nend_mutex_group")[0].split("\n")[1:]
        members = (values[v][x] for v, x in (map(int, line.split()) for line in lines))
        yield [atom for atom in map(positive, members) if atom]


def positive(name: str) -> str | None:
    return name.removeprefix("Atom ") if name.startswith("Atom ") else None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("suite", type=Path)
    parser.add_argument("--rollouts", type=int, default=500, help="per task")
    parser.add_argument("--length", type=int, default=100)
    parser.add_argument("--lmcut", type=int, default=1000, help="rows per task")
    parser.add_argument("--lmcut-seconds", type=float, default=30.0, help="per task")
    given = parser.parse_args()
    if missing := downward.why_unavailable():
        sys.exit(missing)
    print(" \n".join(f"{name}: {value}" for name, value in describe_run().items()) + "\n")
    columns = [
        *("task", "facts", "rollouts", "sets x_i", "longest", "replays", "failed"),
        *("full rows", "compared with LM-cut", "LM-cut above"),
        *("pairs of Fast Downward", "untracked", "missing", "missing with h^2"),
        *("own pairs", "with h^2", "contradicted", "h^2 took"),
    ]
    print(f"| {' | '.join(columns)} |\n{'| --- ' * len(columns)}|", flush=True)
    all_found = []
    for folder in ends(given.suite):
        task = ground(parse(folder / "domain.pddl", folder / "p1.pddl"), keep_constant=True)
        found = Evidence(f"{folder.parent.name} {folder.name}", task.num_facts)
        replay_rollouts(task, given.rollouts, given.length, found)
        compare_with_lmcut(task, given.lmcut, given.lmcut_seconds, found)
        with tempfile.TemporaryDirectory() as scratch:
            compare_mutexes(task, Path(scratch), found)
        all_found.append(found)
        print(f"| {' | '.join(cells_of(found, given.rollouts))} |", flush=True)
    print("\nPairs by predicates:\n")
    for found in all_found:
        for what, counted in (
            ("missing", found.missing[False]),
            ("missing with h^2", found.missing[True]),
            ("untracked, because an atom is irrelevant for the goal", found.untracked),
        ):
            if counted:
                listed = ", ".join(f"{kind} {count}" for kind, count in counted.most_common())
                print(f"- {found.name}: {what}: {listed}")
    replays = sum(found.replays for found in all_found)
    failures = sum(found.failures for found in all_found)
    compared = sum(found.compared for found in all_found)
    above = sum(found.above for found in all_found)
    contradicted = sum(found.contradicted for found in all_found)
    rollouts = given.rollouts * len(all_found)
    print(f"\n{rollouts} rollouts, {replays} replays, {failures} failed.")
    print(f"{compared} rows compared with LM-cut, {above} above their bound.")
    print(f"{contradicted} exclusive pairs in states that walks reach.")
    return int(failures + above + contradicted > 0)


def cells_of(found: Evidence, rollouts: int) -> list[str]:
    replayed = [rollouts, found.images, found.longest, found.replays, found.failures]
    compared = [found.full_rows, found.compared, found.above]
    missing = [found.missing[with_h2].total() for with_h2 in (False, True)]
    pairs = [found.pairs, found.untracked.total(), *missing, *found.own_pairs.values()]
    cells = [found.name, found.facts, *replayed, *compared, *pairs, found.contradicted, found.h2]
    return list(map(str, cells))


if __name__ == "__main__":
    sys.exit(main())

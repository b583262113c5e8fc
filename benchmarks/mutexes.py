"""Mutex pairs beside those of Fast Downward's translator, on the first and last task of domains.

    python benchmarks/mutexes.py SUITES/ferber/moderate

Of the pairs of atoms that Fast Downward excludes by its variables and mutex groups, those that
hstar does not exclude without and with h^2 are counted, by predicates. States at the ends of 200
random walks must hold no pair that hstar excludes. Prints tables in Markdown and ends with 1 if a
pair is wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate, combinations
from pathlib import Path

import numpy as np
from provenance import describe_run

from hstar import _core
from hstar.pddl import parse
from hstar.planning.task import Task, ground

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


@dataclass
class MutexPairs:
    """What was found for one task."""

    name: str
    facts: int
    pairs: int = 0
    own_pairs: dict[bool, int] = field(default_factory=dict)  # without and with h^2
    missing: dict[bool, Counter[str]] = field(default_factory=dict)
    untracked: Counter[str] = field(default_factory=Counter)  # an atom is irrelevant for the goal
    contradicted: int = 0  # exclusive pairs in states that walks reach
    h2: str = ""


def compare_mutexes(task: Task, folder: Path, found: MutexPairs) -> None:
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
    given = parser.parse_args()
    if missing := downward.why_unavailable():
        sys.exit(missing)
    print(" \n".join(f"{name}: {value}" for name, value in describe_run().items()) + "\n")
    columns = ("task", "facts", "pairs of Fast Downward", "untracked", "missing",
               "missing with h^2", "own pairs", "with h^2", "contradicted", "h^2 took")  # fmt: skip
    print(f"| {' | '.join(columns)} |\n{'| --- ' * len(columns)}|", flush=True)
    all_found = []
    for folder in ends(given.suite):
        task = ground(parse(folder / "domain.pddl", folder / "p1.pddl"), keep_constant=True)
        found = MutexPairs(f"{folder.parent.name} {folder.name}", task.num_facts)
        with tempfile.TemporaryDirectory() as scratch:
            compare_mutexes(task, Path(scratch), found)
        all_found.append(found)
        totals = [found.missing[with_h2].total() for with_h2 in (False, True)]
        cells = [found.name, found.facts, found.pairs, found.untracked.total(), *totals]
        cells += [*found.own_pairs.values(), found.contradicted, found.h2]
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
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
    contradicted = sum(found.contradicted for found in all_found)
    print(f"\n{contradicted} exclusive pairs in states that walks reach.")
    return int(contradicted > 0)


if __name__ == "__main__":
    sys.exit(main())

"""What is compared: learners, each a way to make a network for one task, and columns.

The published learners differ only in where their states and labels come from. All end with the
same network and search: 250 wide, a residual block, Adam with rate 1e-4, greedy search with the
value cut to a whole number, and of several networks the one that solves most states of random
walks (there the value is not cut). Boot and AVI label states with a network of their own, which is
that of hstar learn.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hstar.experiments.study import Column, LearnerTask, Learnt, Subject, TrialStudy, read_columns
from hstar.learning import (
    RECIPES,
    LearnOptions,
    NotKept,
    Recipe,
    learn,
    plan_with_learning,
    split_states,
)
from hstar.pddl import find_domain, parse
from hstar.planning import SearchResult, SearchSpecification, ground
from hstar.runtime import Budget
from hstar.slots.teachers import Attempt
from hstar.training import MlpOptions
from hstar.training.fit import ModelRow

NETWORK_OF_PAPER = asdict(MlpOptions(precision="int16"))
del NETWORK_OF_PAPER["objective"]
SEARCH = SearchSpecification(None, "gbfs", cost="one")
HSTAR = "hstar"


class SeenStates(NotKept):
    """Keeps nothing but the states that were labelled, as sets of atoms."""

    def __init__(self) -> None:
        self.states: list[frozenset[str]] = []
        self.tracked: set[str] = set()

    def write(self, name: str, content: bytes) -> None:
        if content[:2] != b"PK":  # labels are an archive of arrays
            return
        attempt = Attempt.from_bytes(content)
        if attempt.rows is not None:
            self.tracked |= set(attempt.atoms)
            for atoms in np.split(attempt.rows.atoms, attempt.rows.starts[1:-1]):
                self.states.append(frozenset(attempt.atoms[atom] for atom in atoms))


@dataclass(frozen=True, slots=True)
class OneTask:
    """Learns for p1 of a task, for as long as the study says."""

    recipe: Recipe

    def __call__(self, lesson: LearnerTask) -> Learnt:
        subject, study, seen = lesson.subject, lesson.study, SeenStates()
        memory = lesson.budget.memory_bytes // 2
        options = LearnOptions(study.learn, seed=lesson.seed, memory_bytes=memory)
        start = time.monotonic()
        found = learn([subject.train[0].problem()], self.recipe, options, lesson.budget, seen)
        facts = {**found.to_dict(), "seconds": time.monotonic() - start}
        if found.interrupted:
            raise KeyboardInterrupt
        facts["pays"] = found.verdict.use == "learned"
        facts["used"] = used_states(subject, seen, lesson.seed)
        return Learnt(found.file, facts)


def used_states(subject: Subject, seen: SeenStates, seed: int) -> list[str]:
    """The names of the states to plan for that labels, the race or the verdict saw."""
    first = ground(subject.train[0].problem())
    parts = split_states([first], seed, Budget())
    starts = (*parts.choice.starts, *parts.verdict.starts)
    tried = [np.array(one.state, np.int32) for one in starts if one.state is not None]
    states = [*seen.states, *(frozenset(first.atoms(state)) for state in tried)]
    tracked = seen.tracked | set().union(*states)
    known = {state & tracked for state in states}
    used = []
    for entry in subject.test:
        whole = ground(entry.problem(), keep_irrelevant=True, keep_constant=True)
        if frozenset(whole.atoms(whole.initial_state)) & tracked in known:
            used.append(entry.path.stem)
    return used


def plan_and_learn(path: Path, study: TrialStudy, budget: Budget) -> SearchResult:
    """'hstar plan --learn': learns for the problem within the limit."""
    task = ground(parse(find_domain(path), path), budget=budget)
    return plan_with_learning(task, study.limit / 2, budget, lambda _: None)


def alone(teacher: str, objective: str = "squared", network: Any = (), **options: Any) -> OneTask:
    """One kind of network, in greedy search."""
    row = ModelRow(teacher, "facts", "mlp", objective, None, options, dict(network))
    return OneTask(replace(RECIPES["problem"], rows=(row,), searches=(SEARCH,)))


def published(teacher: str, **options: Any) -> OneTask:
    """A learner with the network and the search of the paper."""
    return alone(teacher, network=NETWORK_OF_PAPER, **options)


def ours(objective: str = "squared", **options: Any) -> OneTask:
    """One kind of candidate with hstar's own network, for the ablation."""
    return alone("fsm", objective, completion="variables", **options)


LEARNERS: dict[str, OneTask] = {
    "RSL": published("regression", novelty="none"),
    "N-RSL": published("regression", novelty="both"),
    "Boot": published("bootstrap"),
    "AVI": published("value-iteration"),
    "TSL": published("given-states"),
    HSTAR: OneTask(RECIPES["problem"]),
    # The ablation
    "fast RSL": alone("regression", novelty="none"),
    "fast N-RSL": alone("regression", novelty="both"),
    "FSM": ours(),
    "FSM, labels not improved": ours(improve=False),
    "FSM, bounds": ours("truncated-gaussian"),
    "FSM, ranking": ours("l-gbfs"),
}
COLUMNS = {**read_columns(__file__), "plan --learn": Column(plans=plan_and_learn)}

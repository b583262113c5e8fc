"""What is compared: learners, each a way to make a network for one task, and columns.

The published learners differ only in where their states and labels come from. All end with the
same network and search: 250 wide, a residual block, Adam with rate 1e-4, greedy search with the
value cut to a whole number, and of several networks the one that solves most states of random
walks (there the value is not cut). Boot and AVI search with the network that labelled for itself.

The paper's text and its authors' code name different operators novel. Of both there is a column.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from itertools import product, starmap
from pathlib import Path
from typing import Any

import numpy as np

from hstar.experiments.study import (
    Column,
    LearnerTask,
    Learnt,
    Subject,
    TrialStudy,
    read_columns,
    read_toml,
)
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

NETWORK_OF_PAPER = asdict(MlpOptions())
del NETWORK_OF_PAPER["objective"]
SEARCH = SearchSpecification(None, "gbfs", cost="one")
# Published learners need no verdict: what hstar learn keeps for it, they learn in.
PUBLISHED = replace(RECIPES["problem"], searches=(SEARCH,), labelling=0.3, fitting=0.8, racing=1.0)
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


def published(teacher: str, fit: str | None = None, **options: Any) -> OneTask:
    """A learner with the network and the search of the paper."""
    row = ModelRow(teacher, "facts", "mlp", "squared", fit, options, NETWORK_OF_PAPER)
    return OneTask(replace(PUBLISHED, rows=(row,)))


def ours(teacher: str, objective: str = "squared", **options: Any) -> OneTask:
    """One kind of candidate with hstar's own network in greedy search, for the ablation."""
    row = ModelRow(teacher, "facts", "mlp", objective, None, options)
    return OneTask(replace(RECIPES["problem"], rows=(row,), searches=(SEARCH,)))


def focused(objective: str = "squared", **options: Any) -> OneTask:
    return ours("fsm", objective, completion="variables", **options)


@dataclass(frozen=True, slots=True)
class Setting:
    """A point of the grid: options of the teacher "regression"."""

    length: int
    walks: int
    random: float
    novelty: str

    @property
    def name(self) -> str:
        return f"L={self.length} N_r={self.walks} P_r={self.random:g} {self.novelty}"


_AXES = read_toml(__file__, "scales.toml")["axes"]
GRID = {one.name: one for one in starmap(Setting, product(*_AXES.values()))}
LEARNERS: dict[str, OneTask] = {
    "RSL": published("regression", novelty="none"),
    "N-RSL (text)": published("regression", novelty="preconditions"),
    "N-RSL (code)": published("regression", novelty="both"),
    "Boot": published("bootstrap", "self-taught", unsolved=False, h2=False),
    "Boot (unsolved too)": published("bootstrap", "self-taught", h2=False),
    "AVI": published("value-iteration", "self-taught", h2=False),
    "TSL": published("given-states", search="ff"),
    HSTAR: OneTask(RECIPES["problem"]),
    **{name: published("regression", **asdict(one)) for name, one in GRID.items()},
    # The ablation
    "fast RSL": ours("regression", novelty="none"),
    "fast N-RSL": ours("regression", novelty="both"),
    "FSM": focused(),
    "FSM, labels not improved": focused(improve=False),
    "FSM, bounds": focused("truncated-gaussian"),
    "FSM, ranking": focused("l-gbfs"),
}
COLUMNS = {
    **read_columns(__file__),
    **{name: Column(name, decode="floor") for name in GRID},
    "plan --learn": Column(plans=plan_and_learn),
}

"""What is compared: learners, each a way to make a network for one task, and columns.

The published learners differ only in where their states and labels come from. All end with the
same network and search: 250 wide, a residual block, Adam with rate 1e-4, greedy search with the
value cut to a whole number, and of several networks the one that solves most states of random
walks (there the value is not cut). Boot and AVI label states with a network of their own, which is
that of hstar learn.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar.experiments.study import (
    DEFAULT,
    GREEDY,
    Column,
    Learnt,
    Lesson,
    TaskFolder,
    TrialStudy,
    say_nothing,
)
from hstar.learning import Candidate, InstanceLearner, LearnOptions, hashes_of
from hstar.learning import plan_with_learning as plan_within
from hstar.pddl import find_domain, parse
from hstar.planning import SearchResult, Task, ground
from hstar.runtime import Budget
from hstar.slots.features import true_atoms
from hstar.training import NETWORK, FactRows, MlpOptions

PUBLISHED = MlpOptions(precision="int16")
HSTAR = "hstar"


@dataclass(frozen=True, slots=True)
class OneTask:
    """Learns for p1 of a task, for as long as the study says."""

    options: LearnOptions

    def __call__(self, lesson: Lesson) -> Learnt:
        task, study = lesson.subject, lesson.study
        options = replace(self.options, seconds=study.learn, seed=lesson.seed)
        start = time.monotonic()
        learner = InstanceLearner(task.problem(1), options, lesson.budget, say_nothing)
        learner.maker.used = []
        found = learner.run()
        seconds = time.monotonic() - start
        if found.interrupted:
            raise KeyboardInterrupt
        facts = {**found.to_dict(), "networks": found.finished, "seconds": seconds}
        facts["used"] = used_states(learner, task, study)
        return Learnt(found.file, facts)


def used_states(learner: InstanceLearner, task: TaskFolder, study: TrialStudy) -> list[int]:
    """The numbers of the states to plan for that training or trials saw, compared by hash."""
    features = learner.maker.features

    def hashes(of: Task, states: NDArray[np.int32]) -> NDArray[np.uint64]:
        starts, atoms = true_atoms(features, of, states)
        none = np.zeros(len(states), np.float32)
        return hashes_of(FactRows(features["width"], starts, atoms, none, none, none))

    seen = [hashes(learner.task, one) for one in (learner.states, learner.verdict_states)]
    seen += learner.maker.used or []
    used = []
    for number in task.states(study.states):
        test = ground(task.problem(number))
        if np.isin(hashes(test, test.initial_state[None]), np.concatenate(seen)).any():
            used.append(number)
    return used


def plan_and_learn(path: Path, study: TrialStudy, budget: Budget) -> SearchResult:
    """'hstar plan --learn': learns for the problem within the limit."""
    task = ground(parse(find_domain(path), path), budget=budget)
    found = plan_within(task, study.limit / 2, budget, say_nothing)
    return replace(found.result, training_time=found.training_time, found_by=found.found_by)


def published(teacher: str, **options: Any) -> OneTask:
    """A learner with the network and the search of the paper."""
    candidates = (Candidate(teacher, options),)
    return OneTask(LearnOptions(network=PUBLISHED, candidates=candidates, ways=({**GREEDY},)))


def ours(objective: str = "squared", **options: Any) -> OneTask:
    """One kind of candidate with hstar's own network, for the ablation."""
    candidate = Candidate("fsm", {"completion": "variables", **options}, objective)
    return OneTask(LearnOptions(network=NETWORK, candidates=(candidate,), ways=({**GREEDY},)))


def fast(learner: OneTask) -> OneTask:
    return OneTask(replace(learner.options, network=NETWORK))


LEARNERS: dict[str, OneTask] = {
    "RSL": published("regression", novelty="none"),
    "N-RSL": published("regression", novelty="both"),
    "Boot": published("bootstrap"),
    "AVI": published("value-iteration"),
    "TSL": published("given-states"),
    HSTAR: OneTask(LearnOptions()),
    # The ablation
    "fast RSL": fast(published("regression", novelty="none")),
    "fast N-RSL": fast(published("regression", novelty="both")),
    "FSM": ours(),
    "FSM, labels not improved": ours(improve=False),
    "FSM, bounds": ours("truncated-gaussian"),
    "FSM, ranking": ours("l-gbfs"),
}
OWN: Mapping[str, Any] = {}  # the search that a network names
COLUMNS: dict[str, Column] = {
    **{name: Column(name, way=OWN, decode="floor") for name in list(LEARNERS)[:5]},
    "FF": Column(beside=("ff",)),
    "goal count": Column(beside=("goalcount",)),
    DEFAULT: Column(),
    "learn": Column(HSTAR, way=OWN),
    "plan --learn": Column(plans=plan_and_learn),
    # The ablation
    **{name: Column(name, way=OWN) for name in list(LEARNERS)[6:]},
    "FSM, second queue": Column("FSM", way={**GREEDY, "preferred_by": "ff"}),
    "FSM, beam": Column("FSM", way={"algorithm": "beam"}),
}

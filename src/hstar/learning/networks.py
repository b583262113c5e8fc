"""Networks for one goal: sample labelled sets of facts, train a small network on them in the core.

A candidate is a teacher with its options and an objective. The network reads the atoms of a state
by name, so it serves every problem with the same domain, objects and goal.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.pddl import Problem
from hstar.planning.goals import REACH_GOAL
from hstar.planning.task import Task, ground
from hstar.runtime.resources import Budget, OutOfResources, stopped
from hstar.slots.features.facts import FACTS, fact_rows
from hstar.slots.features.vocabulary import domain_hash
from hstar.slots.model_file import ModelFile
from hstar.slots.teachers import TEACHERS
from hstar.slots.teachers.backward import FactSets, check_goal
from hstar.training.fact_network import training_rows
from hstar.training.native import FactRows, MlpOptions, Trained, train_mlp

SAMPLING_SHARE = 0.6  # of the time for a network, at most
FEWER = 4  # times fewer states, after sampling took too long
LEAST_STATES = 1000
BOUNDED = ("interval", "truncated-gaussian")  # objectives that use bounds

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A teacher with its options, and what training minimises."""

    teacher: str
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    objective: str = "squared"

    @property
    def label(self) -> str:
        said = [f"{name}={value}" for name, value in self.options.items()]
        said += [self.objective] if self.objective != "squared" else []
        return f"{self.teacher}({', '.join(said)})" if said else self.teacher


# Different domains reward different teachers, so each kind has its turn.
MANY_WALKS: Mapping[str, Any] = {
    "walks": 100,
    "length": 200,
    "completion": "variables",
    "h2": True,
    "random": 0.2,
}
CANDIDATES = (
    Candidate("regression", {**MANY_WALKS, "improve": True}),
    Candidate("fsm", {"completion": "variables"}),
    Candidate("regression"),
    Candidate("regression", MANY_WALKS, "l-gbfs"),
)


class NetworkMaker:
    """Makes networks for the goal of a problem. `used`, unless None, gets a hash of each state that
    was trained on."""

    def __init__(
        self, problem: Problem, network: MlpOptions, states: int, budget: Budget, say: Say
    ) -> None:
        self.problem, self.network, self.states, self.say = problem, network, states, say
        self.task = ground(problem, keep_constant=True, budget=budget)
        check_goal(self.task)
        self.features = FACTS.configure([self.task], {}, "one")
        self.row_of_fact, _ = fact_rows(self.features, self.task)
        self.used: list[NDArray[np.uint64]] | None = None

    def make(
        self, candidate: Candidate, seed: int, deadline: float, memory_bytes: int
    ) -> ModelFile | None:
        """A network trained until a deadline of the monotonic clock, or until it gets no better.

        Where sampling takes too long, it begins again with fewer states, and later networks get
        fewer as well. None if it leaves no time to train. Raises OutOfResources for other limits
        and signals, ValueError if there is nothing to learn.
        """
        sets, states = None, self.states
        while sets is None and _core.monotonic_seconds() < deadline:
            sets = self._sample(candidate, seed, deadline, memory_bytes, states > self.states)
        if sets is None or _core.monotonic_seconds() >= deadline:
            self.say(f"{candidate.label}: no time left to train")
            return None
        rows = self.rows(sets, has_bounds=candidate.objective in BOUNDED)
        if self.used is not None:
            self.used.append(hashes_of(rows))
        options = dataclasses.replace(self.network, objective=candidate.objective)
        width = self.features["width"]
        trained = train_mlp(rows, width, options, seed, deadline, memory_bytes=memory_bytes)
        if trained.stopped not in (None, "time"):
            raise stopped(trained.stopped)
        return self.model_file(candidate, options, trained, len(rows))

    def _sample(
        self, candidate: Candidate, seed: int, deadline: float, memory_bytes: int, again: bool
    ) -> FactSets | None:
        """None if it takes more than its share of the time; the next sample then has fewer states.
        Where it is tried again with the fewest, it has all the time."""
        sample = TEACHERS.find(candidate.teacher).sample
        if sample is None:
            raise ValueError(f"the teacher '{candidate.teacher}' does not sample one problem")
        now = _core.monotonic_seconds()
        share = 1.0 if again and self.states <= LEAST_STATES else SAMPLING_SHARE
        budget = Budget(now + share * (deadline - now), memory_bytes)
        try:
            return sample(self.task, budget, states=self.states, seed=seed, **candidate.options)
        except OutOfResources as error:
            if error.status != "out of time":
                raise
        self.states = min(self.states, max(LEAST_STATES, self.states // FEWER))
        return None

    def rows(self, sets: FactSets, has_bounds: bool = False) -> FactRows:
        """The atoms that are inputs, of each set. Lower bounds take a while, so they are made only
        where they are asked for."""
        lower = goal_count_bounds(self.task, sets) if has_bounds else None
        return training_rows(sets, self.row_of_fact, self.features["width"], lower)

    def model_file(
        self, candidate: Candidate, network: MlpOptions, trained: Trained, states: int
    ) -> ModelFile:
        domain = self.problem.domain
        metadata: dict[str, Any] = {
            "form": "float",
            "features": {"name": "facts", "config": self.features},
            "model": {"name": "mlp", "config": network.config(self.features["width"])},
            "objective": {"name": network.objective},
            "decode": {"name": "value", "base": "none", "lower": "none", "cap": None},
            "cost": "one",
            "domain": {"name": domain.name, "hash": domain_hash(domain)},
            "training": {
                "teacher": {"name": candidate.teacher, **candidate.options},
                "states": states,
                **trained.summary(),
            },
            "certificate": None,
        }
        return ModelFile(json.loads(json.dumps(metadata)), trained.tensors())


def goal_count_bounds(task: Task, sets: FactSets) -> NDArray[np.float32]:
    """Lower bounds on the steps to the goal: missing goals / the most that one operator reaches.

    An artificial goal is reached by an operator that is no step, so there the bounds are 0."""
    names = {task.operator_name(op) for op in range(task.num_operators)}
    if REACH_GOAL in names:
        return np.zeros(len(sets), np.float32)
    first = np.concatenate([[0], np.cumsum(task.domain_sizes)])
    is_goal = np.zeros(task.num_facts, bool)
    is_goal[[first[variable] + value for variable, value in task.goal]] = True
    most = 1
    for op in range(task.num_operators):
        effects = {
            first[variable] + value for _, variable, value in task.core.operator_parts(op)[3]
        }
        most = max(most, sum(bool(is_goal[fact]) for fact in effects))
    reached = np.concatenate([[0], np.cumsum(is_goal[sets.facts])])
    missing = is_goal.sum() - (reached[sets.starts[1:]] - reached[sets.starts[:-1]])
    return np.asarray(np.ceil(missing / most), np.float32)


def hashes_of(rows: FactRows) -> NDArray[np.uint64]:
    """A number per row; equal sets of atoms have equal ones (Zobrist 1970)."""
    keys = np.random.default_rng(0).integers(0, 2**64, rows.num_atoms, np.uint64)
    padded = np.append(keys[rows.atoms], np.uint64(0))  # a last row without atoms starts there
    found = np.bitwise_xor.reduceat(padded, rows.starts[:-1])
    found[np.diff(rows.starts) == 0] = 0
    return found

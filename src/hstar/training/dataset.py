"""Labels as training data: states with their problems, numbers as columns."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hstar.features.vocabulary import domain_hash
from hstar.pddl import Domain
from hstar.pddl.domain import read_domain
from hstar.pddl.source import source_from_bytes
from hstar.spaces.task import Task, ground
from hstar.teachers.attempt import read_problem_text
from hstar.teachers.labels import HEURISTIC_COLUMNS, LABEL_COLUMNS, Labels, LabelsError, read_labels



@dataclass(frozen=True, slots=True)
class LabelledTask:
    """A problem with the states int32[S, V] that are labelled."""

    name: str
    task: Task
    plan: tuple[str, ...]
    states: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Dataset:
    """The states of several problems of one domain, problem after problem.

    `columns` holds float32[S] each: h_star, lower, upper (NaN where unknown) and the heuristics.
    """

    domain: Domain
    cost: str
    tasks: tuple[LabelledTask, ...]
    columns: dict[str, NDArray[np.float32]]

    def __len__(self) -> int:
        return sum(len(labelled.states) for labelled in self.tasks)

    def column(self, name: str) -> NDArray[np.float32]:
        """float32[S]: h_star, lower or upper (NaN where unknown), or a built-in heuristic."""
        return self.columns[name]

    def digest(self) -> str:
        """Identifies the labels."""
        sha = hashlib.sha256(domain_hash(self.domain).encode())
        for labelled in self.tasks:
            sha.update(json.dumps([labelled.name, labelled.plan]).encode())
            sha.update(labelled.states.tobytes())
        for name in ("h_star", "lower", "upper"):
            sha.update(self.column(name).tobytes())
        return sha.hexdigest()

    @property
    def task_numbers(self) -> NDArray[np.int64]:
        """int64[S]: which task each state belongs to."""
        counts = [len(labelled.states) for labelled in self.tasks]
        return np.repeat(np.arange(len(self.tasks)), counts)

    def select(self, tasks: Sequence[int]) -> Dataset:
        """The data of some of the problems."""
        starts = np.cumsum([0, *(len(labelled.states) for labelled in self.tasks)])
        rows = [np.arange(starts[i], starts[i + 1]) for i in tasks]
        chosen = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
        columns = {name: column[chosen] for name, column in self.columns.items()}
        return Dataset(self.domain, self.cost, tuple(self.tasks[i] for i in tasks), columns)

    def split(self, share: float, seed: int) -> tuple[Dataset, Dataset]:
        """All but a share of the problems, and that share, drawn at random: whole problems, since
        states of one plan are too alike to test on."""
        order = np.random.default_rng(seed).permutation(len(self.tasks))
        held_out = max(1, round(share * len(self.tasks)))
        return (
            self.select(sorted(order[held_out:].tolist())),
            self.select(sorted(order[:held_out].tolist())),
        )


def check_same_kind(first: Dataset, second: Dataset) -> None:
    """Raises ValueError if labels of two files cannot be compared."""
    if domain_hash(first.domain) != domain_hash(second.domain):
        raise ValueError(
            f"the labels are of different domains: {first.domain.name} and {second.domain.name}"
        )
    if first.cost != second.cost:
        raise ValueError(
            f"the labels count costs differently: --cost {first.cost} and --cost {second.cost}"
        )


def load_dataset(path: str | os.PathLike[str]) -> Dataset:
    """Read a file of labels and ground its problems. Raises LabelsError, PddlError."""
    return dataset_of(read_labels(Path(path)), os.fspath(path))


def dataset_of(labels: Labels, path: str) -> Dataset:
    """Training data from labels that were read from `path`. Raises LabelsError."""
    domain = read_domain(source_from_bytes(f"{path}: domain", labels.domain.encode()))
    rows = labels.rows
    tasks = []
    for problem in labels.problems:
        if problem.status != "solved":
            continue
        lifted = read_problem_text(problem.problem, problem.pddl, domain, labels.cost)
        task = ground(lifted)
        number = {task.core.atom_name(f): f for f in range(task.num_facts)}
        states = rows.filter(rows["problem"] == problem.problem)["state"].to_list()
        plan = tuple(problem.plan)
        if labels.teacher == "plans":  # given plans may touch atoms that cannot matter
            states = [[atom for atom in state if atom in number] for state in states]
            steps = zip(plan, states, states[1:], strict=False)
            plan = tuple(step for step, before, after in steps if before != after)
        try:
            facts = tuple(np.array([number[a] for a in state], dtype=np.int64) for state in states)
        except KeyError as error:
            raise LabelsError(
                f"{problem.problem} has a state with the atom {error}, which its problem lacks; "
                "label the problems again",
                path,
            ) from None
        tasks.append(LabelledTask(problem.problem, task, plan, _values(task, facts)))
    columns = {
        name: rows[name].cast(float).fill_null(float("nan")).to_numpy().astype(np.float32)
        for name in (*LABEL_COLUMNS, *HEURISTIC_COLUMNS)
    }
    dataset = Dataset(domain, labels.cost, tuple(tasks), columns)
    if len(dataset) != len(rows):
        raise LabelsError("the rows do not match the manifest's problems; label again", path)
    if len(dataset) == 0:
        raise LabelsError("there are no labelled states; was any problem solved?", path)
    return dataset


def _values(task: Task, facts: Sequence[NDArray[np.int64]]) -> NDArray[np.int32]:
    first = np.cumsum([0, *task.domain_sizes])
    variable = np.repeat(np.arange(len(task.domain_sizes)), task.domain_sizes)
    states = np.zeros((len(facts), len(task.domain_sizes)), dtype=np.int32)
    for v, size in enumerate(task.domain_sizes):
        names = [task.core.atom_name(int(first[v]) + value) for value in range(size)]
        states[:, v] = next((i for i, n in enumerate(names) if n.startswith(("<", "not "))), 0)
    for row, true in zip(states, facts, strict=True):
        row[variable[true]] = true - first[variable[true]]
    return states

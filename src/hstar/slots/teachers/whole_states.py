"""Whole states of a task as labelled sets of facts, and a memory of the states labelled last."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hstar.planning.task import Task
from hstar.slots.teachers.backward import FactSets
from hstar.slots.teachers.labels import LabelRows
from hstar.slots.teachers.states import atoms_of_states, states_of_atoms

States = NDArray[np.int32]
Floats = NDArray[np.float32]


def fact_sets(task: Task, states: States, h: Floats, upper: Floats) -> FactSets:
    """States int32[S, V] with labels, all of the first kind of their teacher."""
    names, starts, atoms = atoms_of_states(task, states)
    number = {task.core.atom_name(fact): fact for fact in range(task.num_facts)}
    facts = np.array([number[name] for name in names], np.int32)[atoms]
    return FactSets(starts, facts, h, upper, np.zeros(len(states), np.uint8))


def states_of_facts(task: Task, starts: NDArray[np.int64], facts: NDArray[np.int32]) -> States:
    """Sets of facts as states int32[S, V], with -1 for variables that they leave open."""
    nothing = np.zeros(len(starts) - 1, np.float32)
    rows = LabelRows(
        nothing.astype(np.int32), starts, facts, nothing, nothing, nothing, nothing.astype(np.uint8)
    )
    names = [task.core.atom_name(fact) for fact in range(task.num_facts)]
    return states_of_atoms(task, names, rows, allow_open=True)


class LatestStates:
    """The states labelled last, at most `most`, each once and with its smallest label."""

    def __init__(self, task: Task, most: int) -> None:
        self.most, self.num_variables = most, task.num_variables
        self.dtype = np.min_scalar_type(max(task.domain_sizes))
        self.label_of: dict[bytes, float] = {}  # the oldest first

    def __len__(self) -> int:
        return len(self.label_of)

    def add(self, states: States, labels: NDArray[np.int32] | Floats) -> None:
        for state, label in zip(states.astype(self.dtype), labels.tolist(), strict=True):
            key = state.tobytes()
            self.label_of[key] = min(label, self.label_of.pop(key, label))
        excess = len(self.label_of) - self.most
        for key in list(self.label_of)[: max(0, excess)]:
            del self.label_of[key]

    def states(self) -> States:
        flat = np.frombuffer(b"".join(self.label_of), self.dtype)
        return flat.reshape(-1, self.num_variables).astype(np.int32)

    def labels(self) -> Floats:
        return np.array(list(self.label_of.values()), np.float32)

"""States of a grounded task as sets of atoms or facts and back, those along a plan, and values of
heuristics on them.

Apart from plans, everything is done for all states at once: a problem may have a million of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hstar.pddl import PddlError
from hstar.pddl.planfile import read_step
from hstar.pddl.validate import PlanFault, Replay
from hstar.planning.heuristics import AnyHeuristic, make_heuristic
from hstar.planning.task import Task, atom_name
from hstar.slots.teachers.labels import LabelRows

States = NDArray[np.int32]
Floats = NDArray[np.float32]
NOT_COSTS = ("goalcount",)  # values that are not in the unit of cost


def atoms_of_states(
    task: Task, states: States
) -> tuple[list[str], NDArray[np.int64], NDArray[np.int32]]:
    """The atoms that occur in states int32[S, V], and the sets of their positions.

    State i has the atoms numbered `atoms[starts[i]:starts[i + 1]]`, by variable. Some negated atoms
    are among them: those that the task tracks by a variable of their own. Returns the names,
    `starts` int64[S + 1] and `atoms` int32.
    """
    names, starts, listed = _listed_facts(task, states)
    occurs = np.zeros(len(names), dtype=bool)
    occurs[listed] = True
    number = np.cumsum(occurs, dtype=np.int32) - 1
    return [names[fact] for fact in np.flatnonzero(occurs)], starts, number[listed]


def _listed_facts(
    task: Task, states: States
) -> tuple[list[str], NDArray[np.int64], NDArray[np.int32]]:
    """The names of all facts, and the facts that states list, by number."""
    names, first = _facts(task)
    chosen = states != _default_values(names, first)  # (S, V)
    starts = np.concatenate([[0], np.cumsum(chosen.sum(axis=1, dtype=np.int64))])
    return names, starts, (states + first)[chosen].astype(np.int32)


def states_of_atoms(
    task: Task,
    names: Sequence[str],
    rows: LabelRows,
    *,
    drop_unknown: bool = False,
    allow_open: bool = False,
) -> States:
    """States int32[S, V] from sets of atoms, given the names of the atoms. Atoms that the task
    lacks are ignored with `drop_unknown`. With `allow_open` a variable without an atom is -1.
    Raises ValueError for what is not a state of the task."""
    facts, first = _facts(task)
    number = {name: fact for fact, name in enumerate(facts)}
    unknown = [name for name in names if name not in number]
    if unknown and not drop_unknown:
        raise ValueError(f"has a state with the atom '{unknown[0]}', which its problem lacks")
    fact_of = np.array([number.get(name, -1) for name in names], dtype=np.int64)
    variable_of = np.searchsorted(first, fact_of, side="right") - 1
    value_of = fact_of - first[variable_of]
    states = np.tile(_default_values(facts, first), (len(rows), 1))
    row = np.arange(len(rows)).repeat(np.diff(rows.starts))
    known = fact_of[rows.atoms] >= 0
    row, atoms = row[known], rows.atoms[known]
    states[row, variable_of[atoms]] = value_of[atoms]
    is_incomplete = not allow_open and (states < 0).any()
    if is_incomplete or (states[row, variable_of[atoms]] != value_of[atoms]).any():
        raise ValueError("has a state with too few or too many atoms")
    return states


def follow(task: Task, plan: Sequence[str]) -> tuple[States, list[float]]:
    """The states of a valid plan, int32[n + 1, V], and what is left to pay in each of them. Raises
    PddlError for a step that is not possible.

    Steps are those of the lifted problem: grounding keeps one of several operators that do the same
    and none that does nothing, so a step may have no operator of its name."""
    replay = Replay(task.problem)
    names, first = _facts(task)
    default = _default_values(names, first).tolist()
    facts = ((v, value) for v, size in enumerate(task.domain_sizes) for value in range(size))
    places = dict(zip(names, facts, strict=True))
    states, spent = [task.initial_state.tolist()], [replay.cost]
    for step in plan:
        try:
            deleted, added = replay.apply(read_step(step))
        except PlanFault:
            message = f"the plan's step {step} is not possible where it stands"
            raise PddlError(message, task.problem.path) from None
        false, true = ([atom_name(*atom) for atom in atoms] for atoms in (deleted, added))
        ended = [*false, *(f"not {name}" for name in true)]
        begun = [*true, *(f"not {name}" for name in false)]
        state = states[-1].copy()
        for variable, value in (places[name] for name in ended if name in places):
            if state[variable] == value:
                state[variable] = default[variable]
        for variable, value in (places[name] for name in begun if name in places):
            state[variable] = value
        states.append(state)
        spent.append(replay.cost)
    return np.array(states, dtype=np.int32), [spent[-1] - before for before in spent]


def heuristic_columns(
    task: Task, states: States, names: Sequence[str]
) -> dict[str, NDArray[np.float32]]:
    """float32[S] for each heuristic, in the unit of the problem; infinite in dead ends."""
    return {name: heuristic_values(task, states, name, name not in NOT_COSTS) for name in names}


def heuristic_values(task: Task, states: States, heuristic: AnyHeuristic, scaled: bool) -> Floats:
    """float32[S]; with `scaled` they are costs, here in the unit of the problem."""
    values = make_heuristic(task, heuristic).evaluate(states)
    scale = task.cost_scale if scaled else 1
    return (values.astype(np.float64) / scale).astype(np.float32)


def _facts(task: Task) -> tuple[list[str], NDArray[np.int64]]:
    """The names of all facts, and the number of the first fact of each variable, int64[V]."""
    names = [task.core.atom_name(fact) for fact in range(task.num_facts)]
    return names, np.cumsum([0, *task.domain_sizes])[:-1].astype(np.int64)


def _default_values(names: Sequence[str], first: NDArray[np.int64]) -> NDArray[np.int32]:
    """int32[V]: the value of each variable of whose atoms none is listed, -1 if there is none. That
    is "<none of those>", or else the negation of its only atom."""
    default = np.full(len(first), -1, dtype=np.int32)
    for prefix in ("not ", "<"):  # the latter wins
        for fact, name in enumerate(names):
            if name.startswith(prefix):
                variable = np.searchsorted(first, fact, side="right") - 1
                default[variable] = fact - first[variable]
    return default


def fact_sets(task: Task, states: States, h: Floats, upper: ArrayLike = math.nan) -> LabelRows:
    """States int32[S, V] with labels, all of the first kind of their teacher."""
    _, starts, facts = _listed_facts(task, states)
    return LabelRows.of_one_problem(starts, facts, h=h, upper=upper)


def states_of_facts(task: Task, starts: NDArray[np.int64], facts: NDArray[np.int32]) -> States:
    """Sets of facts as states int32[S, V], with -1 for variables that they leave open."""
    rows = LabelRows.of_one_problem(starts, facts)
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

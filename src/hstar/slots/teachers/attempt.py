"""One attempt to label one problem: how it ended, and the labelled states."""

from __future__ import annotations

import functools
import io
import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hstar import _core
from hstar.pddl import Domain, Problem
from hstar.pddl.domain import read_domain
from hstar.pddl.problem import read_problem
from hstar.pddl.source import source_from_bytes
from hstar.planning.task import Task
from hstar.runtime.resources import Budget, OutOfResources
from hstar.slots.teachers.labels import SOLVED, LabelRows
from hstar.slots.teachers.states import atoms_of_states

COSTS = ("one", "normal")
TRIVIAL = "trivial"  # the goal holds initially: nothing to learn from


@dataclass(frozen=True)
class Attempt:
    """How an attempt ended. `status` is "solved", "trivial", or why there is no plan. Only a solved
    attempt has `rows`; `atoms` are the names that they number. For `has_irrelevant` see
    LabelledProblem. Times are in seconds."""

    status: str
    plan: list[str] = field(default_factory=list)
    plan_cost: int | float | None = None
    evaluated: int | None = None
    expanded: int | None = None
    search_time: float = 0.0
    total_time: float = 0.0
    peak_memory_kb: int = 0
    atoms: list[str] = field(default_factory=list)
    has_irrelevant: bool = False
    has_open: bool = False
    rows: LabelRows | None = None

    def to_bytes(self) -> bytes:
        about = json.dumps({**vars(self), "rows": None}).encode()
        arrays = {} if self.rows is None else vars(self.rows)
        file = io.BytesIO()
        np.savez(file, **arrays, about=np.frombuffer(about, np.uint8))
        return file.getvalue()

    @staticmethod
    def from_bytes(content: bytes) -> Attempt:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = dict(file)
        about = json.loads(arrays.pop("about").tobytes())
        return Attempt(**about | {"rows": LabelRows(**arrays) if arrays else None})


def labelled(
    task: Task,
    states: NDArray[np.int32],
    plan: list[str],
    plan_cost: int | float,
    **values: ArrayLike,
) -> Attempt:
    """A solved attempt with labels for states int32[S, V] of a task. The values `h`, `lower`,
    `upper` and `kind`, a position in the teacher's list of kinds, are as in LabelRows."""
    names, starts, atoms = atoms_of_states(task, states)
    rows = LabelRows.of_one_problem(starts, atoms, **values)
    return Attempt(SOLVED, list(plan), plan_cost, atoms=names, rows=rows)


def carry_out(
    path: str,
    *,
    teacher: str,
    options: dict[str, Any],
    domain: str,
    problem: str,
    cost: str,
    time_limit: float | None,
    memory_limit: int | None,
    given: Any = None,
) -> Attempt:
    """Make an attempt; a limit or a signal that ends it becomes its status. `domain` and `problem`
    are texts, and `path` is for messages only. Raises InputFileError where grounding refuses the
    problem."""
    from hstar.slots.teachers.registry import TEACHERS

    start = _core.monotonic_seconds()
    label = TEACHERS.find(teacher).label
    budget = Budget.starting_now(time_limit, memory_limit)
    parsed = read_problem_text(path, problem, _domain(domain), cost)
    also = {} if given is None else {"given": given}
    try:
        with budget.enforced():
            attempt = label(parsed, budget, **options, **also)
    except OutOfResources as error:
        attempt = Attempt(error.status)
    return replace(
        attempt,
        total_time=_core.monotonic_seconds() - start,
        peak_memory_kb=_core.peak_resident_bytes() // 1024,
    )


@functools.cache
def _domain(text: str) -> Domain:
    return read_domain(source_from_bytes("domain.pddl", text.encode()))


def read_problem_text(path: str, text: str, domain: Domain, cost: str) -> Problem:
    """A problem from its text; with cost "one" its metric is dropped and every action costs 1."""
    problem = read_problem(source_from_bytes(path, text.encode()), domain)
    return replace(problem, uses_metric=False) if cost == "one" else problem

"""Value iteration and RTDP on tables, for tasks whose reachable states can be enumerated.

table = tabulate(task)
h = make_heuristic(task, "ff", cost="one").evaluate(table.states)
values = value_iteration(table, Shaping(), h)

Values are those after shaping, float64[N]; adding `Shaping.phi(h)` gives those before. Goals have
the value 0 in both. Every step counts the same, whatever its action costs. Where h is infinite is a
dead end, so h must be safe.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hstar import _core
from hstar.planning.task import Task
from hstar.runtime.resources import Budget
from hstar.training.reinforcement.shaping import Shaping

BACKUPS = ("max", "expectation")

Values = NDArray[np.float64]


class TabularResult(NamedTuple):
    """`goals` is how many of the episodes reached a goal."""

    values: Values  # float64[N]
    episodes: int
    goals: int


def tabulate(
    task: Task, *, max_states: int = 100_000, budget: Budget | None = None
) -> _core.StateTable:
    """Every reachable state, the initial one first. Raises ValueError if there are more than
    `max_states`, and OutOfResources."""
    budget = budget or Budget()
    with budget.native():
        table = _core.tabulate(task.core, max_states, *budget.limits)
    if table is None:
        raise ValueError(f"{task.name} has more than {max_states} reachable states")
    return table


def value_iteration(
    table: _core.StateTable,
    shaping: Shaping,
    h: ArrayLike | None = None,
    *,
    tolerance: float = 1e-9,
    budget: Budget | None = None,
) -> Values:
    """The optimal values under shaping with h float[N], which may be left out if the potential is
    "none". Stops when a sweep changes no value by more than `tolerance`.

    Raises ValueError, OutOfResources.
    """
    budget = budget or Budget()
    with budget.native():
        return table.value_iteration(_core_of(shaping), _row(h), tolerance, *budget.limits)


def rtdp(
    table: _core.StateTable,
    shaping: Shaping,
    h: ArrayLike | None = None,
    *,
    steps: int,
    depth: int = 40,
    sample: bool = False,
    backup: str = "max",
    temperature: float = 1.0,
    random_starts: bool = False,
    seed: int = 0,
    budget: Budget | None = None,
) -> TabularResult:
    """The values after so many `steps` in episodes of at most `depth` steps each.

    An episode starts in the initial state, or in any with `random_starts`. It takes the best
    operator, or with `sample` one drawn from softmax(Q / temperature). It ends at goals, at states
    without operators and where h is infinite. `backup` is one of BACKUPS; the expectation is under
    the same softmax, and at temperature 0 this is uniform over the best operators. Values are 0
    before a state is visited. Raises ValueError, OutOfResources.
    """
    if backup not in BACKUPS:
        raise ValueError(f"no backup is called {backup!r}; there are: {', '.join(BACKUPS)}")
    for name, number in (("steps", steps), ("depth", depth), ("seed", seed)):
        if number < 0:
            raise ValueError(f"{name} must be at least 0, not {number}")
    options = _core.TabularOptions()
    options.steps, options.depth, options.seed = steps, depth, seed
    options.sample, options.temperature = sample, temperature
    options.expectation, options.random_starts = backup == "expectation", random_starts
    budget = budget or Budget()
    with budget.native():
        return TabularResult(*table.rtdp(_core_of(shaping), _row(h), options, *budget.limits))


def _core_of(shaping: Shaping) -> _core.Shaping:
    return _core.Shaping(shaping.gamma, shaping.reward, shaping.potential)


def _row(h: ArrayLike | None) -> Values:
    return np.ascontiguousarray([] if h is None else h, dtype=np.float64)

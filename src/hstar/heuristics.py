"""Heuristics on batches of states.

A heuristic is anything with `evaluate(states int32[B, V]) -> float32[B]`, infinity for dead ends.
Those of the core are made by name; for search, a plain Python function serves as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from hstar import _core
from hstar.runtime.registry import did_you_mean
from hstar.runtime.resources import Budget
from hstar.spaces.task import Task, state_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HEURISTICS: tuple[str, ...] = tuple(_core.heuristic_names())
COST_TYPES = ("normal", "one", "plusone")


class Heuristic(Protocol):
    def evaluate(self, states: NDArray[np.int32]) -> NDArray[np.float32]:
        """float32[B] from int32[B, V]"""


class TaskHeuristic(Protocol):
    """A heuristic that is not yet bound to a task, such as a learned one."""

    @property
    def label(self) -> str:
        """What to call it in logs and tables."""

    def bind(self, task: Task) -> _core.Heuristic | Callable[[Any], Any]:
        """The heuristic for the states of a task. Raises ValueError if it does not fit."""


class NativeHeuristic:
    """A heuristic of the core, bound to a task.

    `cost` says what an operator costs inside the heuristic: "normal" its cost, "one" 1, "plusone"
    its cost plus 1. Costs are in the problem's unit times the task's `cost_scale`.
    """

    def __init__(self, task: Task, name: str, cost: str = "normal") -> None:
        check_heuristic_name(name)
        self.task = task
        self.name = name
        self.cost = cost
        with Budget().native():  # only signals end it
            self.core = _core.Heuristic(task.core, name, cost)

    def __repr__(self) -> str:
        return f"<NativeHeuristic {self.name}, cost {self.cost}, of {self.task!r}>"

    def __reduce__(self) -> tuple[object, ...]:
        return NativeHeuristic, (self.task, self.name, self.cost)

    def evaluate(self, states: NDArray[np.int32]) -> NDArray[np.float32]:
        """float32[B] from int32[B, V]; infinity where the goal cannot be reached."""
        return self.core.evaluate(state_rows(states))

    def preferred_operators(self, states: NDArray[np.int32]) -> list[list[int]]:
        """Per state the operators of the relaxed plan that are applicable ("ff" only)."""
        return self.core.preferred_operators(state_rows(states))

    def plan_features(self, states: NDArray[np.int32]) -> NDArray[np.float32]:
        """float32[B, 4]: open goals, h^FF, deletes of the relaxed plan, deletes per step ("ff")."""
        return self.core.plan_features(state_rows(states))


def make_heuristic(task: Task, name: str, cost: str = "normal") -> NativeHeuristic:
    """The heuristic of that name for a task. Raises ValueError for an unknown name."""
    return NativeHeuristic(task, name, cost)


def is_model_file(name: str) -> bool:
    """Whether what was given as a heuristic means a file with a learned one."""
    return name.endswith(".safetensors")


def check_heuristic_name(name: str) -> None:
    if name not in HEURISTICS:
        raise ValueError(
            f"unknown heuristic '{name}'{did_you_mean(name, HEURISTICS)}; "
            f"choose one of {', '.join(HEURISTICS)}, "
            "or give a model file (.safetensors)"
        )

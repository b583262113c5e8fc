"""HEURISTICS: heuristics by name, and how heuristics from elsewhere join.

A heuristic estimates the cost to the goal for a batch of states: int32[B, V] -> float32[B],
infinity for dead ends. Besides a name, search takes such a function, an object with `bind(space)`,
which returns one, or "module:attribute", which names one of these, a HeuristicEntry, or a maker: a
class or function whose first parameter is called `space`, `task` or `puzzle`, and which returns a
function of states. An entry point of the group `hstar.heuristics` names any of them.

A value may also belong to an edge, that is to a state's parent and the operator between them. Then
the function has a method `evaluate_edges(parents, counts, ops, children) -> B numbers`, with int32
arrays [E, V], [E], [B] and [B, V]: the first counts[0] children are successors of the first parent,
and so on. The function itself gets the initial state. Only greedy eager searches (gbfs, gbfls,
beam) take such values. They order a state in OPEN by the best of the edges found so far; a
look-ahead chooses by the edges of the state where it stands. `requested` counts every edge that was
generated, as it does for values of states; edges to states expanded before are not computed.
Infinity says that the child is a dead end, whichever edge leads to it. An object with `bind` has an
attribute `is_of_edges`, which says whether it returns such a function.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from hstar import _core
from hstar.planning.outside import outside
from hstar.planning.space import Space, state_rows
from hstar.runtime.registry import Registry
from hstar.runtime.resources import Budget

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from hstar.planning.task import Task

PATTERNS = "pdb:"  # before the names of pattern databases
COST_TYPES = ("normal", "one", "plusone")

HeuristicFunction: TypeAlias = "Callable[[NDArray[np.int32]], ArrayLike]"  # [B, V] -> B numbers
BoundHeuristic: TypeAlias = "_core.Heuristic | HeuristicFunction"


class Heuristic(Protocol):
    """A heuristic that is not yet bound to a space, such as a learned one."""

    @property
    def label(self) -> str:
        """What to call it in logs and tables."""

    def bind(self, space: Any) -> BoundHeuristic:
        """The heuristic for the states of a space. Raises ValueError if it does not fit."""


AnyHeuristic: TypeAlias = "str | os.PathLike[str] | Heuristic | HeuristicFunction"


@dataclass(frozen=True, slots=True)
class HeuristicEntry:
    """`make(space, cost, budget)` binds it; heuristics that use costs take one of COST_TYPES.

    An admissible heuristic never exceeds the cheapest cost. One that `prefers` has preferred
    operators.
    """

    description: str
    make: Callable[[Space, str, Budget], BoundHeuristic]
    admissible: bool = False
    spaces: tuple[str, ...] = ("task",)
    prefers: bool = False


def _native(name: str, description: str, **properties: Any) -> tuple[str, HeuristicEntry]:
    def make(space: Space, cost: str, budget: Budget) -> _core.Heuristic:
        return _core.Heuristic(space.core, name, cost, *budget.limits)

    return name, HeuristicEntry(description, make, **properties)


def _adopt(name: str, found: Any) -> HeuristicEntry:
    """The entry of an object from outside the package."""
    if isinstance(found, HeuristicEntry):
        return found
    everywhere = partial(HeuristicEntry, name, spaces=("task", "puzzle"))
    if hasattr(found, "bind") and not isinstance(found, type):
        return everywhere(lambda space, cost, budget: found.bind(space))
    if not callable(found):
        raise ValueError(f"the heuristic '{name}' is neither a function nor has it a method bind")
    import inspect

    signature = inspect.signature(found)
    try:
        signature.bind(None)
    except TypeError as error:
        raise ValueError(f"the heuristic '{name}' must take one argument: {error}") from None
    first = next(iter(signature.parameters))
    if isinstance(found, type) or first in ("space", "task", "puzzle"):  # it makes one
        return everywhere(lambda space, cost, budget: found(space))
    return everywhere(lambda space, cost, budget: found)


_ANYWHERE: Any = {"spaces": ("task", "puzzle"), "admissible": True}
_OF_CORE = [
    _native("blind", "0 at goals, elsewhere the cost of the cheapest operator", **_ANYWHERE),
    _native("goalcount", "how many goal facts do not hold"),
    _native("hmax", "the most expensive goal fact when nothing is deleted", admissible=True),
    _native("hadd", "the sum over goal facts when nothing is deleted"),
    _native("ff", "the cost of a plan for the task in which nothing is deleted", prefers=True),
    _native("lmcut", "landmark cuts", admissible=True),
]
NATIVE = tuple(name for name, _ in _OF_CORE)
HEURISTICS: Registry[HeuristicEntry] = Registry(
    "heuristic", dict(_OF_CORE), "hstar.heuristics", _adopt
)


def bind_heuristic(
    heuristic: AnyHeuristic, space: Space, cost: str = "normal", budget: Budget | None = None
) -> BoundHeuristic:
    """What the core takes. Raises ValueError if the heuristic is unknown or does not fit.

    Heuristics of the core stop when the budget is spent, and must be made within its `native()`.
    """
    if isinstance(heuristic, str):
        entry = HEURISTICS.find(heuristic)
        if space.kind not in entry.spaces:
            fitting = ", ".join(name for name, e in HEURISTICS.items() if space.kind in e.spaces)
            wrong = f"the heuristic '{heuristic}' does not work on a {space.kind}"
            raise ValueError(f"{wrong}; choose one of {fitting}, or pdb:FILE (pattern databases)")
        make, name, is_ours = entry.make, heuristic, heuristic in HEURISTICS
    else:
        bind: Any = getattr(heuristic, "bind", lambda _: heuristic)
        make, name = lambda space, *_: bind(space), heuristic_name(heuristic)
        is_ours = type(heuristic).__module__.startswith("hstar.")
    made = make(space, cost, budget or Budget())
    return made if is_ours or isinstance(made, _core.Heuristic) else outside(made, name)


class MadeHeuristic:
    """A heuristic bound to a space; search takes it as well.

    `cost` is what an operator costs inside a heuristic of the core: "normal" its cost, "one" 1,
    "plusone" its cost plus 1. Costs are in the problem's unit times the task's `cost_scale`.
    """

    def __init__(self, space: Space, heuristic: AnyHeuristic, cost: str = "normal") -> None:
        self.space = space
        self.heuristic = heuristic
        self.cost = cost
        with Budget().native():  # only signals end it
            self.core: Any = bind_heuristic(heuristic, space, cost)

    def __repr__(self) -> str:
        return f"<MadeHeuristic {self.label}, cost {self.cost}, of {self.space!r}>"

    def __reduce__(self) -> tuple[object, ...]:
        return MadeHeuristic, (self.space, self.heuristic, self.cost)

    @property
    def label(self) -> str:
        return heuristic_name(self.heuristic)

    def bind(self, space: Space) -> BoundHeuristic:
        """What is bound already; search refuses it on another space."""
        bound: BoundHeuristic = self.core
        return bound

    def evaluate(self, states: NDArray[np.int32]) -> NDArray[np.float32]:
        """float32[B] from int32[B, V]; one state int32[V] is a batch of one. Infinity where the
        goal cannot be reached."""
        import numpy as np

        if isinstance(self.core, _core.Heuristic):
            return self.core.evaluate(state_rows(states))
        return np.asarray(self.core(state_rows(states)), np.float32)

    def preferred_operators(self, states: NDArray[np.int32]) -> list[list[int]]:
        """Per state the operators of the relaxed plan that are applicable ("ff" only)."""
        found: list[list[int]] = self.core.preferred_operators(state_rows(states))
        return found

    def plan_features(self, states: NDArray[np.int32]) -> NDArray[np.float32]:
        """float32[B, 4]: open goals, h^FF, deletes of the relaxed plan, deletes per step ("ff")."""
        found: NDArray[np.float32] = self.core.plan_features(state_rows(states))
        return found


def make_heuristic(space: Space, heuristic: AnyHeuristic, cost: str = "normal") -> MadeHeuristic:
    """The heuristic for a space. Raises ValueError if it is unknown or does not fit."""
    return MadeHeuristic(space, heuristic, cost)


def is_dead_end(task: Task) -> bool:
    """Whether the initial state has no plan: without deletes there is none, or no step leads on."""
    if task.goal_is_false or len(task.successors(task.initial_state)[0]) == 0:
        return True
    return math.isinf(float(make_heuristic(task, "ff", "one").evaluate(task.initial_state)[0]))


def is_model_file(name: str) -> bool:
    """Whether the name of a heuristic is that of a model file."""
    return name.endswith(".safetensors")


def is_file(heuristic: object) -> bool:
    """Whether a heuristic is the name of files that must be read."""
    name = os.fspath(heuristic) if isinstance(heuristic, (str, os.PathLike)) else ""
    return is_model_file(name) or name.startswith(PATTERNS)


def is_elsewhere(name: str) -> bool:
    """Whether the name of a heuristic says where it is: in files, or in code outside."""
    return is_file(name) or ":" in name


def heuristic_name(heuristic: AnyHeuristic) -> str:
    """What to call it in logs and tables."""
    if isinstance(heuristic, (str, os.PathLike)):
        return os.fspath(heuristic)
    return str(getattr(heuristic, "label", "your function"))

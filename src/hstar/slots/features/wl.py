"""Features "wl": how many vertices of a state's graph have each Weisfeiler-Leman colour.

The graph's vertices are the objects, the true atoms and the goal atoms; cpp/wl/graph.hpp says how
they are coloured. In every round a vertex gets a new colour from its own and those of its
neighbours. A feature counts the vertices of one colour. The colours are those of the training
states; search drops all others (Chen, Trevizan and Thiébaux, ICAPS 2024).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from hstar import _core
from hstar.planning.task import Task
from hstar.slots.features.feature import Config, Feature, SpaceStates, SparseInputs, check_options
from hstar.slots.features.vocabulary import check_names

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HASHES = ("set", "multiset")
MOST_ROUNDS = 4
AT_ONCE = 1_000_000  # numbers of a dense matrix of features

# starts int64[R + 1] (of a part: lengths int64[R]), columns int32, values float32
SparseRows: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]"


class WlFeature(Feature):
    """Options: `rounds`; `hash`, "set" if equal neighbours of a vertex count once, or "multiset";
    `statics`, whether atoms that the grounded task does not track are vertices too; and `orders`,
    whether achieved goals that must be undone once more look different (cpp/wl/goal_orders.hpp)."""

    name = "wl"
    needs_states = True
    options = {"rounds": 2, "hash": "set", "statics": False, "orders": False}  # noqa: RUF012

    def configure(self, tasks: Sequence[Task], options: Config, cost: str) -> Config:
        rounds = options["rounds"]
        if type(rounds) is not int or not 0 <= rounds <= MOST_ROUNDS:
            raise ValueError(f"'rounds' must be a whole number from 0 to {MOST_ROUNDS}")
        check_options(options, self.options, zero=("rounds",), hash=HASHES)
        domain = tasks[0].problem.domain
        chosen = {name: options[name] for name in self.options}
        names = {"predicates": list(domain.predicates), "constants": list(domain.constants)}
        initial = [SpaceStates(task, task.initial_state[None]) for task in tasks]
        return self.fit({**chosen, **names}, initial)

    def fit(self, config: Config, states: Sequence[SpaceStates]) -> Config:
        """The same with the colours of these states, in ascending order."""
        import numpy as np

        parts = [np.unique(colour_counts(config, one.space, one.states)[1]) for one in states]
        found = np.unique(np.concatenate([np.zeros(0, np.uint64), *parts]))
        colours = [f"{colour:016x}" for colour in found.tolist()]
        return {**config, "colours": colours, "width": len(colours)}

    def check(self, config: Config, space: Task) -> None:
        domain = space.problem.domain
        check_names(domain, "predicate", config["predicates"], domain.predicates)
        check_names(domain, "constant", config["constants"], domain.constants)

    def inputs(self, config: Config, states: Sequence[SpaceStates]) -> SparseInputs:
        parts, size = [], rows_at_once(config)
        for group in states:
            encode = self.encoder(config, group.space)
            for first in range(0, len(group.states), size):
                parts.append(sparse(encode(group.states[first : first + size])))
        starts, columns, values = joined(parts)
        return SparseInputs(starts, columns, config["width"], values)

    def encoder(self, config: Config, space: Task) -> Callable[[Any], Any]:
        features = _core.WlFeatures(space.core, self.native(config, space))
        return lambda states: features.counts(states).astype("float32")

    def native(self, config: Config, space: Task) -> Config:
        """Predicates and constants have the numbers of the domain file that the model was trained
        with, so another order of them in this one changes nothing."""
        domain, objects = space.problem.domain, list(space.problem.objects)
        number = {name: i for i, name in enumerate(config["predicates"])}
        return {
            "input": "wl",
            **{name: config.get(name, default) for name, default in self.options.items()},
            "predicates": [number[name] for name in domain.predicates],
            "constants": [objects.index(name) for name in config["constants"]],
            "colours": _hashes(config.get("colours", ())),
        }

    def native_operators(self, described: Config, weights: Any, space: Task) -> Config:
        return {
            "actions": _numbers(space, described["actions"]),
            "colours": _hashes(described["colours"]),
            "weights": weights,
        }


def rows_at_once(config: Config) -> int:
    """How many states have their counts in memory as a dense matrix."""
    return max(1, AT_ONCE // max(1, int(config["width"])))


def sparse(dense: NDArray[Any]) -> SparseRows:
    import numpy as np

    places, columns = np.nonzero(dense)
    lengths = np.bincount(places, minlength=len(dense))
    return lengths, columns.astype(np.int32), dense[places, columns].astype(np.float32)


def joined(parts: Sequence[SparseRows]) -> SparseRows:
    """All rows, one part after the other."""
    import numpy as np

    every = zip(sparse(np.zeros((1, 0))), *parts, strict=True)  # an empty row before all others
    lengths, columns, values = (np.concatenate(column) for column in every)
    return np.cumsum(lengths), columns, values


def _hashes(colours: Sequence[str]) -> array[int]:
    """uint64, of the hexadecimal digits that a model file has."""
    return array("Q", [int(colour, 16) for colour in colours])


def colour_counts(
    config: Config, task: Task, states: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int32]]:
    """All colours of states int32[S, V], known or not: `starts` int64[S + 1], colours and counts.
    Those of state s are colours[starts[s] : starts[s + 1]] in ascending order."""
    return _core.WlFeatures(task.core, WL.native(config, task)).collect(states)


def operator_colours(
    config: Config,
    task: Task,
    states: NDArray[np.int32],
    operators: NDArray[np.int64],
    actions: Sequence[str],
) -> NDArray[np.uint64]:
    """Of operators[i] in states[i]: uint64[n, rounds + 2] (cpp/wl/operators.hpp). `actions` names
    those of the domain, in an order that all tasks share."""
    features = _core.WlFeatures(task.core, WL.native(config, task))
    return features.operator_colours(states, operators.astype("int32"), _numbers(task, actions))


def _numbers(task: Task, actions: Sequence[str]) -> list[int]:
    """The places of the actions of a task's domain in a list of names."""
    number = {name: i for i, name in enumerate(actions)}
    return [number[action.name] for action in task.problem.domain.actions]


WL = WlFeature()

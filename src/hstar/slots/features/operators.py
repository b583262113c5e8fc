"""Operators as a network sees them: an action schema and the objects it is applied to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hstar.pddl.model import Domain
from hstar.planning.task import Task
from hstar.slots.features.feature import gathered, starts_of

NO_OBJECT = -1
ARTIFICIAL = "reach-goal"  # an operator of disjunctive goals, which is no step of a plan

Schemas = tuple[tuple[str, int], ...]  # names and numbers of parameters


def schemas_of(domain: Domain) -> Schemas:
    """Sorted by name; the artificial operator comes first."""
    actions = sorted((action.name, len(action.parameters)) for action in domain.actions)
    return ((ARTIFICIAL, 0), *actions)


def most_parameters(schemas: Schemas) -> int:
    """At least 1, so that no table is empty."""
    return max(1, *(arity for _, arity in schemas))


@dataclass(frozen=True, slots=True)
class Operators:
    """A row per operator. Objects are numbered as in the task's atoms; those that no atom mentions,
    and the places beyond a schema's parameters, are NO_OBJECT."""

    schema: NDArray[np.int64]  # (O,)
    arguments: NDArray[np.int64]  # (O, largest number of parameters)

    @staticmethod
    def of(task: Task, objects: Sequence[str], schemas: Schemas) -> Operators:
        """Raises ValueError if an action of the task is not among the schemas."""
        numbers = {name: i for i, (name, _) in enumerate(schemas)}
        places = {name: i for i, name in enumerate(objects)}
        widest = most_parameters(schemas)
        schema = np.zeros(task.num_operators, dtype=np.int64)
        arguments = np.full((task.num_operators, widest), NO_OBJECT, dtype=np.int64)
        for op in range(task.num_operators):
            name, *given = task.operator_name(op).strip("()").split()
            if name not in numbers or len(given) > widest:
                raise ValueError(f"the model was not trained with the action '{name}'")
            schema[op] = numbers[name]
            arguments[op, : len(given)] = [places.get(one, NO_OBJECT) for one in given]
        return Operators(schema, arguments)


@dataclass(frozen=True, slots=True)
class ApplicableOperators:
    """The applicable operators of B states, state after state: `counts[i]` of them in state i."""

    counts: NDArray[np.int64]  # (B,)
    schema: NDArray[np.int64]  # (A,)
    arguments: NDArray[np.int64]  # (A, P), numbers of objects within their state

    @staticmethod
    def of(tables: Sequence[Operators], ops: Sequence[NDArray[np.int32]]) -> ApplicableOperators:
        """Per state the table of its task and the operators that are applicable."""
        return ApplicableOperators(
            np.array([len(one) for one in ops], dtype=np.int64),
            np.concatenate([t.schema[one] for t, one in zip(tables, ops, strict=True)]),
            np.concatenate([t.arguments[one] for t, one in zip(tables, ops, strict=True)]),
        )

    @property
    def starts(self) -> NDArray[np.int64]:
        """(B + 1,): where the operators of each state begin."""
        return starts_of(self.counts)

    def select(self, rows: NDArray[np.int64]) -> ApplicableOperators:
        """Those of the states with these numbers, in this order."""
        _, places = gathered(self.starts, rows)
        return ApplicableOperators(self.counts[rows], self.schema[places], self.arguments[places])

    @staticmethod
    def concatenate(parts: Sequence[ApplicableOperators]) -> ApplicableOperators:
        columns = zip(*((one.counts, one.schema, one.arguments) for one in parts), strict=True)
        return ApplicableOperators(*map(np.concatenate, columns))

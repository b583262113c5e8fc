"""Features "facts": one input per atom, 1 where the atom is true.

A network on facts belongs to one goal and one set of objects; initial states may differ. Atoms are
known by name, because problems that differ in their initial state have different facts: grounding
drops an atom that no operator changes, and one that no state can make true.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hstar.pddl.errors import quote
from hstar.pddl.model import Formula, Junction, Not, Problem, Quantified, types_text
from hstar.planning.task import Task, atom_name
from hstar.slots.features.feature import Config, Feature, SpaceStates, SparseInputs, starts_of

if TYPE_CHECKING:  # a search in the core needs no NumPy
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int32]


class FactFeature(Feature):
    """All atoms of the problems that a network is trained on."""

    name = "facts"
    needs = "space"
    reads_open = True

    def configure(self, tasks: Sequence[Task], options: Config, cost: str) -> Config:
        first = tasks[0].problem
        described = {"objects": object_names(first), "goal": goal_text(first.goal)}
        for task in tasks[1:]:
            difference = difference_from(described, task.problem)
            if difference is not None:
                raise ValueError(
                    "facts are the atoms of one goal and one set of objects, but these labels are "
                    f"of several problems; choose features that tasks of a domain share, such as "
                    f"atoms or relaxed-plans ({quote(task.problem.name)} {difference})"
                )
        atoms = sorted({name for task in tasks for name in task.core.positive_atoms() if name})
        if not atoms:
            raise ValueError("no operator changes an atom, so there is nothing to learn")
        return {"atoms": atoms, "width": len(atoms), **described}

    def check(self, config: Config, space: Task) -> None:
        difference = difference_from(config, space.problem)
        if difference is not None:
            raise ValueError(
                f"the model was trained for one goal and one set of objects, but this problem "
                f"{difference}; train a model for it"
            )

    def inputs(self, config: Config, states: Sequence[SpaceStates]) -> SparseInputs:
        import numpy as np

        tables = [fact_rows(config, group.space) for group in states]
        parts = [_true_atoms(*rows, one) for rows, one in zip(tables, states, strict=True)]
        lengths, atoms = (np.concatenate(column) for column in zip(*parts, strict=True))
        return SparseInputs(starts_of(lengths), atoms, config["width"])

    def encoder(self, config: Config, space: Task) -> Callable[[Any], Any]:
        rows, constant = fact_rows(config, space)

        def encode(states: Ints) -> NDArray[np.float32]:
            lengths, atoms = _true_atoms(rows, constant, SpaceStates(space, states))
            return SparseInputs(starts_of(lengths), atoms, config["width"]).every()

        return encode

    def rows_at_once(self, space: Task) -> int:
        return max(16, min(4096, 2**24 // max(1, space.num_facts)))

    def native(self, config: Config, space: Task) -> Config:
        rows, constant = fact_rows(config, space)
        return {"input": "facts", "rows": rows, "constant": constant}


def fact_rows(config: Config, task: Task) -> tuple[array[int], array[int]]:
    """The input of each fact of a task (-1: it has none), and the inputs that are 1 in all states.

    These are atoms of the initial state that the task has dropped because nothing changes them. The
    numbers are int32.
    """
    number = {name: row for row, name in enumerate(config["atoms"])}
    names = task.core.positive_atoms()
    rows = array("i", [number.get(name, -1) for name in names])
    changing = set(names)
    initial = {atom_name(*atom) for atom in task.problem.init}
    constant = sorted(number[name] for name in initial - changing if name in number)
    return rows, array("i", constant)


def _true_atoms(
    rows: array[int], constant: array[int], group: SpaceStates
) -> tuple[NDArray[np.int64], Ints]:
    """How many inputs are 1 in each state, int64[S], and which, state after state."""
    import numpy as np

    states = group.states
    sizes = np.array(group.space.domain_sizes, dtype=np.int64)
    found = np.where(states >= 0, np.asarray(rows)[states + (np.cumsum(sizes) - sizes)], -1)
    always = np.broadcast_to(constant, (len(states), len(constant)))
    found = np.concatenate([found, always], axis=1)
    is_known = found >= 0
    return is_known.sum(axis=1), found[is_known]


def object_names(problem: Problem) -> list[str]:
    """All objects with their types, sorted."""
    return sorted(f"{name} - {types_text(types)}" for name, types in problem.objects.items())


def goal_text(goal: Formula) -> str:
    """The goal as PDDL; the order of the parts of a conjunction does not matter."""
    match goal:
        case Junction(parts):
            return f"({goal.word} {' '.join(sorted(map(goal_text, parts)))})"
        case Not(inner):
            return f"(not {goal_text(inner)})"
        case Quantified(variables, body):
            return f"({goal.word} ({' '.join(map(str, variables))}) {goal_text(body)})"
        case _:
            return str(goal)


def difference_from(described: Config, problem: Problem) -> str | None:
    """How a problem differs from these objects and this goal; None if it does not."""
    objects, goal = described["objects"], described["goal"]
    ours = object_names(problem)
    for here, there, verb in ((ours, objects, "has"), (objects, ours, "lacks")):
        others = sorted(set(here) - set(there))
        if others:
            more = f" and {len(others) - 1} more" if len(others) > 1 else ""
            return f"{verb} the object {quote(others[0])}{more}"
    if goal_text(problem.goal) != goal:
        return f"has another goal: {quote(goal_text(problem.goal))}"
    return None


FACTS = FactFeature()

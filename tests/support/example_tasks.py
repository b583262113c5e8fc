"""The tasks of tests/data, and some of their states."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from program import DATA

import hstar

STRIPS = DATA / "strips" / "domain.pddl", DATA / "strips" / "problem.pddl"
COSTS = DATA / "costs" / "domain.pddl", DATA / "costs" / "problem.pddl"
ADL = DATA / "adl" / "domain.pddl", DATA / "adl" / "problem.pddl"

States = NDArray[np.int32]
Values = NDArray[np.float32]


def reachable(task: hstar.Task, most: int = 200) -> States:
    """Some states of a task, breadth first: int32[B, V]."""
    found = [task.initial_state]
    seen = {found[0].tobytes()}
    for state in found:
        for successor in task.successors(state)[1]:
            if len(found) < most and successor.tobytes() not in seen:
                seen.add(successor.tobytes())
                found.append(successor)
    return np.stack(found)

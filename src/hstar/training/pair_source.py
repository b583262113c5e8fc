"""Plans as examples of which state search should prefer (Chrestien et al. 2023).

With s_1 .. s_n a plan's states, all successors of s_1 .. s_i are open when s_{i+1} should be
chosen; each that is not on the plan makes a pair with it. A step sees all pairs of one problem.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hstar.planning.heuristics import make_heuristic
from hstar.slots.features.feature import SpaceStates
from hstar.slots.features.relaxed_plans import large_where_infinite
from hstar.slots.objectives.objective import Targets
from hstar.slots.teachers.following import follow
from hstar.training.dataset import Dataset, LabelledTask
from hstar.training.source import BatchSource, Metrics, RowOptions, on_device


class PairSource(BatchSource):
    """Raises ValueError if no problem has a choice to learn from."""

    def __init__(self, dataset: Dataset, options: RowOptions, device: torch.device) -> None:
        super().__init__(options.objective, device)
        self.seed = options.seed
        self.problems = []
        base = self.objective.constants()["base"]
        for labelled in dataset.tasks:
            states, pairs = open_list_pairs(labelled, dataset.cost)
            if len(pairs["better"]) == 0:
                continue  # every state has one successor: nothing to prefer
            group = [SpaceStates(labelled.task, states)]
            inputs = options.features.inputs(options.feature_config, group)
            values = np.zeros(len(states), dtype=np.float32)
            if base != "none":
                found = make_heuristic(labelled.task, base, dataset.cost).evaluate(states)
                values = large_where_infinite(found / labelled.task.cost_scale)
            pairs["base"] = torch.from_numpy(values)
            targets = {name: column.to(device) for name, column in pairs.items()}
            self.problems.append((inputs, targets))
        if not self.problems:
            raise ValueError("no problem has a choice to learn from; label larger ones")

    @staticmethod
    def states_of(dataset: Dataset) -> list[SpaceStates]:
        """The states that are compared."""
        return [
            SpaceStates(one.task, open_list_pairs(one, dataset.cost)[0]) for one in dataset.tasks
        ]

    def draw(self, step: int) -> int:
        return int(np.random.default_rng([self.seed, step]).integers(len(self.problems)))

    def loss(self, network: torch.nn.Module, drawn: int) -> tuple[Tensor, list[Tensor]]:
        inputs, targets = self.problems[drawn]
        everything = inputs.select(np.arange(len(inputs.sizes)))
        outputs = network(on_device(everything, self.device))
        return self.objective.loss(outputs, targets), self._statistics(outputs, targets)

    def evaluate(self, network: torch.nn.Module) -> Metrics:
        """The mean loss; a ranking has no error in cost."""
        losses = [float(self.loss(network, number)[0]) for number in range(len(self.problems))]
        return {"loss": float(np.mean(losses))}


def open_list_pairs(labelled: LabelledTask, cost: str) -> tuple[NDArray[np.int32], Targets]:
    """All states generated along the plan int32[S, V], and the pairs among them."""
    task = labelled.task
    plan_states, to_go = follow(task, labelled.plan)
    states = list(plan_states)
    g = [to_go[0] - rest for rest in to_go]
    known = {state.tobytes() for state in states}
    better: list[int] = []
    worse: list[int] = []
    beside: list[int] = []
    for i in range(len(plan_states) - 1):
        operators, successors = task.successors(plan_states[i])
        for operator, successor in zip(operators, successors, strict=True):
            if successor.tobytes() in known:
                continue
            known.add(successor.tobytes())
            beside.append(len(states))
            states.append(successor)
            g.append(g[i] + (1.0 if cost == "one" else task.operator(int(operator)).cost))
        better += [i + 1] * len(beside)
        worse += beside
    pairs = {
        "better": torch.tensor(better, dtype=torch.int64),
        "worse": torch.tensor(worse, dtype=torch.int64),
        "g": torch.tensor(g, dtype=torch.float32),
    }
    return np.stack(states), pairs

"""A network on the facts of one task that is trained a little at a time, and used in between."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.planning.task import Task
from hstar.slots.features.facts import FACTS
from hstar.slots.teachers.labels import LabelRows
from hstar.training.native import EQUAL, MlpOptions, first_layers

NETWORK = MlpOptions(
    hidden=128,
    width=128,
    learning_rate=1e-3,
    batch=256,
    patience=10,
    output="none",
    init="he",
    precision="int16",
)


class FactNetwork:
    """`train` goes on from the weights and the state of the optimizer that it left."""

    def __init__(self, task: Task, options: MlpOptions, seed: int) -> None:
        self.task, self.options, self.seed = task, options, seed
        self.features = FACTS.configure([task], {}, "one")
        self.inputs = FACTS.native(self.features, task)
        rng = np.random.default_rng([seed])
        self.layers = first_layers(self.features["width"], options, rng)
        self.optimizer: dict[str, Any] | None = None

    def heuristic(self) -> _core.Heuristic:
        """The network as it is now."""
        plain = {"cost": "one", "base": "", "lower": "", "cap": 0.0}
        network = {"model": "mlp", "layers": self.layers, "precision": self.options.precision}
        decode = {"decode": {"name": "value", "sigma": 0.0}}
        return _core.Heuristic.learned(self.task.core, plain | decode | network | self.inputs)

    def train(self, sets: LabelRows, batches: int, seed: int, limits: tuple[float, int]) -> float:
        """The mean loss of so many batches, drawn from the sets.

        Raises _core.Stopped, and keeps what it has learned until then.
        """
        rows = training_rows(sets, self.inputs["rows"], self.features["width"])
        options = self.options
        trainer = _core.MlpTrainer(
            rows, self.layers, options.objective, options.scale, options.epsilon
        )
        if self.optimizer is not None:
            trainer.load(self.layers, self.optimizer)
        draws = np.random.default_rng([self.seed, seed])
        order = draws.integers(0, len(sets), batches * options.batch, dtype=np.int32)
        try:
            return trainer.epoch(order, options.batch, options.learning_rate, *limits)
        finally:
            self.layers, self.optimizer = trainer.weights(), trainer.state()


def training_rows(
    sets: LabelRows, row_of_fact: NDArray[np.int32], width: int
) -> _core.TrainingRows:
    """The atoms that are inputs, of each set."""
    inputs = row_of_fact[sets.atoms]
    is_input = inputs >= 0
    before = np.concatenate([[0], np.cumsum(is_input)])  # inputs among the first facts
    labels = sets.h, sets.lower, sets.upper
    starts, atoms = before[sets.starts], inputs[is_input]
    return _core.TrainingRows(width, starts, atoms, *labels, EQUAL)

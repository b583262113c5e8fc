"""Training of networks on facts in the core, without torch.

    facts - hidden - width - blocks of relu(x + W relu(W' x)) - 1

A fifth of the rows validates; the weights of the best epoch are kept. Everything random comes from
the seed: first weights, split and order of the rows. A network whose outputs are all 0 has no
gradient and can learn nothing, so it is drawn again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.planning.task import Task
from hstar.slots.features.facts import FACTS
from hstar.slots.features.feature import whole_number
from hstar.slots.models.mlp import Shape
from hstar.slots.objectives import objectives_of
from hstar.slots.objectives.objective import check_known
from hstar.slots.teachers.labels import LabelRows

Floats = NDArray[np.float32]
Layer = tuple[Floats, Floats, str, bool]  # weight [outputs, inputs], bias, activation, skip

PROBE = 1000  # rows that show that a network is not dead


@dataclass(frozen=True)
class MlpOptions:
    """`patience`: how many epochs may pass without a new best validation loss. `draws`: how many
    times first weights are drawn at most. `scale` is that of objective interval's logistic
    distribution, or of truncated-gaussian's Gaussian. `precision` is that of search."""

    hidden: int = 250
    width: int = 250
    blocks: int = 1
    output: str = "relu"
    init: str = "torch"
    objective: str = "squared"
    scale: float = 1.0
    epsilon: float = 0.1
    learning_rate: float = 1e-4
    batch: int = 64
    epochs: int = 1000
    patience: int = 2
    validation: float = 0.2
    draws: int = 10
    precision: str = "float32"

    def __post_init__(self) -> None:
        self.config(inputs=1)
        whole_number(asdict(self), "batch", "epochs", "patience", "draws")
        if not 0 < self.validation < 1:
            raise ValueError(
                f"the validation share must lie between 0 and 1, not {self.validation}"
            )
        check_known("init", self.init, tuple(LIMITS))
        check_known("objective", self.objective, tuple(objectives_of("mlp")))

    def config(self, inputs: int) -> dict[str, Any]:
        """The configuration of this network as a model 'mlp'. Raises ValueError."""
        sizes = self.hidden, self.width, self.blocks
        return Shape(inputs, 1, *sizes, False, self.output, self.precision).to_config()


# How far from 0 first weights and biases are drawn, by the number of inputs.
LIMITS: dict[str, Callable[[int], tuple[float, float]]] = {
    "torch": lambda inputs: (inputs**-0.5, inputs**-0.5),
    "he": lambda inputs: ((6 / inputs) ** 0.5, 0.0),
}


def first_layers(inputs: int, options: MlpOptions, rng: np.random.Generator) -> list[Layer]:
    widths = [inputs, options.hidden, *[options.width] * (1 + 2 * options.blocks), 1]
    last = len(widths) - 2
    layers: list[Layer] = []
    for number, (before, after) in enumerate(pairwise(widths)):
        weight, bias = LIMITS[options.init](before)
        drawn = rng.uniform(-weight, weight, (after, before)).astype(np.float32)
        biases = rng.uniform(-bias, bias, after).astype(np.float32)
        activation = options.output if number == last else "relu"
        layers.append((drawn, biases, activation, 3 <= number < last and number % 2 == 1))
    return layers


def to_tensors(layers: list[Layer]) -> dict[str, Floats]:
    """Named as the model 'mlp' names them in a file."""
    tensors = {}
    for number, (weight, bias, _, _) in enumerate(layers):
        is_last = number == len(layers) - 1
        prefix = "last" if is_last else f"layers.{number}.dense"
        tensors[f"{prefix}.weight"], tensors[f"{prefix}.bias"] = weight, bias
    return tensors


@dataclass
class Trained:
    """`layers` are those of the best epoch, or the last if none was completed. Lines of the curve
    have "epoch", "training" and "validation": the mean losses of a pass over the training rows.
    `stopped` says why training ended before its time: "time", "memory", "interrupt" or
    "terminate"."""

    layers: list[Layer]
    curve: list[dict[str, Any]] = field(default_factory=list)
    best: dict[str, Any] | None = None
    draws: int = 1
    is_dead: bool = False
    stopped: str | None = None

    def summary(self) -> dict[str, Any]:
        """For a model file."""
        return {
            "curve": self.curve,
            "best": None if self.best is None else self.best["epoch"],
            "draws": self.draws,
            "stopped": self.stopped,
        }


def train_mlp(
    rows: _core.TrainingRows,
    inputs: int,
    options: MlpOptions,
    seed: int,
    deadline: float = 0.0,
    memory_bytes: int = 0,
) -> Trained:
    """Train one network on rows of `inputs` atoms. `deadline` is one of the monotonic clock (0:
    none). It releases the GIL, so several networks may be trained by as many threads."""
    count = len(rows)
    if count < 2:
        raise ValueError(f"training needs at least two labelled states, and there are {count}")
    limits: dict[str, Any] = {"deadline": deadline, "memory_bytes": memory_bytes}
    split = np.random.default_rng([seed]).permutation(count).astype(np.int32)
    validating = min(count - 1, max(1, round(options.validation * count)))
    validation, training = split[:validating], split[validating:]
    result = Trained([])
    for draw in range(options.draws):
        layers = first_layers(inputs, options, np.random.default_rng([seed, draw]))
        trainer = _core.MlpTrainer(rows, layers, options.objective, options.scale, options.epsilon)
        result = Trained(layers, draws=draw + 1)
        try:
            result.is_dead = _is_dead(trainer, validation, limits)
            while not result.is_dead and _goes_on(result, options):
                number = len(result.curve)
                order = np.random.default_rng([seed, draw, number]).permutation(training)
                loss = trainer.epoch(order, options.batch, options.learning_rate, **limits)
                result.is_dead = _is_dead(trainer, validation, limits)
                found = trainer.loss(validation, **limits)
                line = {"epoch": number, "training": loss, "validation": found}
                result.curve.append(line)
                if result.best is None or found < result.best["validation"]:
                    result.best, result.layers = line, trainer.weights()
        except _core.Stopped as stopped:
            result.stopped = str(stopped)
            if result.best is None:
                result.layers = trainer.weights()
        if result.stopped is not None or not result.is_dead:
            break
    return result


def _goes_on(result: Trained, options: MlpOptions) -> bool:
    done = len(result.curve)
    since = done - 1 - result.best["epoch"] if result.best is not None else 0
    return done < options.epochs and since < options.patience


def _is_dead(
    trainer: _core.MlpTrainer, validation: NDArray[np.int32], limits: dict[str, Any]
) -> bool:
    """Whether all outputs are 0; a few tell of nearly every network that they are not."""
    if trainer.outputs(validation[:PROBE], **limits).any():
        return False
    return not trainer.outputs(validation, **limits).any()


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
    """A network on the facts of one task that is trained a little at a time: `train` goes on from
    the weights and the state of the optimizer that it left."""

    def __init__(self, task: Task, seed: int, options: MlpOptions = NETWORK) -> None:
        self.task, self.seed, self.options = task, seed, options
        self.features = FACTS.configure([task], {}, "one")
        self.inputs = FACTS.native(self.features, task)
        self.draws = 0
        self._draw()

    def _draw(self) -> None:
        rng = np.random.default_rng([self.seed, self.draws] if self.draws else [self.seed])
        self.layers = first_layers(self.features["width"], self.options, rng)
        self.optimizer: dict[str, Any] | None = None
        self.draws += 1

    def heuristic(self) -> _core.Heuristic:
        """The network as it is now."""
        plain = {"cost": "one", "base": "", "lower": "", "cap": 0.0}
        network = {"model": "mlp", "layers": self.layers, "precision": self.options.precision}
        decode = {"decode": {"name": "value", "sigma": 0.0}}
        return _core.Heuristic.learned(self.task.core, plain | decode | network | self.inputs)

    def train(self, sets: LabelRows, batches: int, seed: int, limits: tuple[float, int]) -> float:
        """The mean loss of so many batches, drawn from the sets. A network whose outputs are all 0
        is drawn again: it could not learn any more.

        Raises _core.Stopped, and keeps what it has learned until then.
        """
        options = self.options
        rows = training_rows(sets, np.asarray(self.inputs["rows"]), self.features["width"])
        trainer = _core.MlpTrainer(rows, self.layers, options.objective)
        if self.optimizer is not None:
            trainer.load(self.layers, self.optimizer)
        draws = np.random.default_rng([self.seed, seed])
        order = draws.integers(0, len(sets), batches * options.batch, dtype=np.int32)
        try:
            loss = trainer.epoch(order, options.batch, options.learning_rate, *limits)
        finally:
            self.layers, self.optimizer = trainer.weights(), trainer.state()
        if self.draws < options.draws and not trainer.outputs(order[:PROBE], *limits).any():
            self._draw()
        return loss


def training_rows(
    sets: LabelRows, row_of_fact: NDArray[np.int32], width: int
) -> _core.TrainingRows:
    """The atoms that are inputs, of each set."""
    inputs = row_of_fact[sets.atoms]
    is_input = inputs >= 0
    before = np.concatenate([[0], np.cumsum(is_input)])  # inputs among the first facts
    labels = sets.h, sets.lower, sets.upper
    starts, atoms = before[sets.starts], inputs[is_input]
    return _core.TrainingRows(width, starts, atoms, *labels)

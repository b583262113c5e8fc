"""Real-time dynamic programming on problems of one domain: the core's learner, its memory as arrays
for checkpoints, and its network as a model file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.planning.task import Task
from hstar.runtime.resources import Budget
from hstar.slots.features.atoms import ATOMS
from hstar.slots.features.vocabulary import Vocabulary
from hstar.slots.model_file import ModelFile, model_metadata
from hstar.slots.models.nlm import NLMConfig
from hstar.slots.objectives.bellman import Bellman
from hstar.training.checkpoint import Arrays
from hstar.training.reinforcement.presets import RtdpSettings

NESTED = ("states", "bounded", "dead_ends")  # states in the learner's memory: problems and values


class Rtdp:
    """Learns on grounded tasks. `unions` of tasks share a bucket: whatever their sizes are, they
    get the share of updates that one size gets. Raises ValueError if a task does not fit, and
    OutOfResources."""

    def __init__(
        self,
        tasks: Sequence[Task],
        settings: RtdpSettings,
        seed: int,
        threads: int = 1,
        budget: Budget | None = None,
        unions: Sequence[Task] = (),
    ) -> None:
        self.settings, self.seed = settings, seed
        self.budget = budget or Budget()
        self.domain = tasks[0].problem.domain
        worlds = [*tasks, *unions]
        given = {"breadth": settings.breadth, "types": True}
        self.features = ATOMS.configure(worlds, given, "one")
        self.network = NLMConfig(
            Vocabulary.from_dict(self.features).channels,
            settings.breadth,
            settings.depth,
            settings.width,
            outputs=1,
            dense=True,
            sums=settings.sums,
        )
        kinds = [bucket_of(task, settings.buckets) for task in tasks]
        numbers = {kind: number for number, kind in enumerate(sorted(set(kinds)))}
        buckets = [numbers[kind] for kind in kinds] + len(unions) * [len(numbers)]
        heuristic = "" if settings.base == "none" else settings.base
        lower = settings.lower if settings.bounded and settings.lower != "none" else ""
        with self.budget.native():
            self.environment = _core.Environment(
                [(task.core, ATOMS.native(self.features, task)) for task in worlds],
                heuristic,
                lower,
                *self.budget.limits,
            )
        self.core = _core.RtdpLearner(
            self.environment,
            buckets,
            self.network.shape(),
            first_weights(self.network, seed),
            settings.for_core(),
            seed,
            threads,
        )

    def run(self, until: int) -> None:
        """Episodes until so many steps are done. Raises OutOfResources."""
        settings, limits = self.settings, self.budget.limits
        with self.budget.native():
            self.core.run(until, settings.updates, settings.learning_rate, *limits)

    def counters(self) -> dict[str, float]:
        """Steps, updates, episodes, goals reached, and the sums of losses and returns."""
        return self.core.progress()

    def weights(self) -> NDArray[np.float32]:
        return self.core.weights()

    def memory(self) -> tuple[Arrays, str]:
        """All that the future depends on: arrays, and the state of the random numbers."""
        held = self.core.memory()
        random = held.pop("random")
        for name in NESTED:
            held[f"{name}_problems"], held[f"{name}_values"] = held.pop(name)
        return held, str(random)

    def restore(self, arrays: Arrays, random: str) -> None:
        """Go on from what memory() returned. Raises ValueError."""
        held: dict[str, Any] = dict(arrays)
        for name in NESTED:
            held[name] = held.pop(f"{name}_problems"), held.pop(f"{name}_values")
        self.core.restore({**held, "random": int(random)})

    def model_file(self, theta: NDArray[np.float32], training: dict[str, Any]) -> ModelFile:
        settings = self.settings
        objective = Bellman(settings.base, settings.gamma, settings.potential == "naive")
        metadata = model_metadata(
            features=(ATOMS.name, self.features),
            model=("nlm", asdict(self.network)),
            objective=objective.to_dict(),
            decode={"name": objective.decodes[0], **objective.constants()},
            domain=self.domain,
            training=training,
        )
        return ModelFile(metadata, {"theta": theta})


def bucket_of(task: Task, buckets: str) -> tuple[object, ...]:
    """Equal for the problems that share a bucket."""
    names = task.problem.objects
    return {"one": (), "objects": (len(names),), "names": tuple(names)}[buckets]


def first_weights(network: NLMConfig, seed: int) -> NDArray[np.float32]:
    """Normal with deviation 1 / sqrt(inputs), cut at two deviations; no biases (Haiku's default).

    With sums the last layer begins with zeros: a sum over many objects is large.
    """
    rng = np.random.default_rng([seed])
    parts = []
    for layer, _arity, outputs, inputs in network.shape().weight_shapes:
        drawn = rng.standard_normal(outputs * inputs)
        while (beyond := np.abs(drawn) > 2).any():
            drawn[beyond] = rng.standard_normal(int(beyond.sum()))
        is_zero = network.sums and layer == network.depth - 1
        parts += [0 * drawn if is_zero else drawn / np.sqrt(max(inputs, 1)), np.zeros(outputs)]
    return np.concatenate(parts).astype(np.float32)

"""Real-time dynamic programming on problems of one domain: rewards and settings, the learner of the
core, its memory as arrays for checkpoints, and its network as a model file.

Shaping (the core's reinforcement/shaping.hpp) adds gamma phi(s') - phi(s) to the reward of a step
from s to s'. Optimal policies stay optimal, and optimal values become smaller by phi(s) (Ng, Harada
and Russell, ICML 1999). The potential of Gehring et al. (ICAPS 2022) is the discounted value of a
heuristic, phi = -h_gamma with

    h_gamma = 1 + gamma + ... + gamma^(h - 1) = (1 - gamma^h) / (1 - gamma).
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hstar import _core
from hstar.pddl.errors import check_known
from hstar.planning.heuristics import (
    HEURISTICS,
    AnyHeuristic,
    BoundHeuristic,
    bind_heuristic,
    is_elsewhere,
)
from hstar.planning.task import Task
from hstar.runtime.resources import Budget
from hstar.slots.features.atoms import ATOMS
from hstar.slots.features.feature import whole_number
from hstar.slots.features.vocabulary import Vocabulary
from hstar.slots.loader import find_heuristic
from hstar.slots.model_file import ModelFile, model_metadata
from hstar.slots.models.nlm import NLMConfig
from hstar.slots.objectives.bellman import Bellman
from hstar.slots.objectives.objective import LOWER_BOUNDS
from hstar.training.checkpoint import Arrays

# Of a step, and of one that reaches the goal.
REWARDS = {"step": (-1.0, -1.0), "free-last": (-1.0, 0.0), "goal": (0.0, 1.0)}
POTENTIALS = {"none": "0", "naive": "-h", "discounted": "-h_gamma"}


@dataclass(frozen=True)
class Shaping:
    """What a step earns, and the potential that shaping adds. Raises ValueError."""

    gamma: float = 0.999999
    reward: str = "step"
    potential: str = "discounted"

    def __post_init__(self) -> None:
        if isinstance(self.gamma, bool) or not isinstance(self.gamma, int | float):
            raise ValueError(f"gamma must be a number, not {self.gamma!r}")
        if not 0 < self.gamma < 1:
            raise ValueError(
                f"gamma must be above 0 and below 1, not {self.gamma!r}; "
                "at 1, a plan that never ends would cost infinitely much"
            )
        check_known("reward", self.reward, tuple(REWARDS))
        check_known("potential", self.potential, tuple(POTENTIALS))

    @property
    def limit(self) -> float:
        """What endless steps cost."""
        return 1 / (1 - self.gamma)

    def discounted(self, h: ArrayLike) -> NDArray[np.float64]:
        """h_gamma, float64 in the shape of h. expm1 keeps it exact where gamma^h is close to 1."""
        steps = np.asarray(h, dtype=np.float64)
        return -np.expm1(steps * math.log(self.gamma)) / (1 - self.gamma)

    def phi(self, h: ArrayLike) -> NDArray[np.float64]:
        """The potentials of states with these heuristic values; infinity gets the limit."""
        steps = np.asarray(h, dtype=np.float64)
        if self.potential == "none":
            return np.zeros_like(steps)
        if self.potential == "discounted":
            return -self.discounted(steps)
        return -np.minimum(steps, self.limit)


@dataclass(frozen=True)
class RtdpSettings(Shaping):
    """`heuristic` gives the potential, `lower` the lower bound if backups are `bounded`: a name,
    pdb:FILE, a model's file, or module:attribute. Episodes
    have `episode_steps` at most. Operators are the best ones, or with `samples_actions` drawn from
    softmax(Q / temperature); backups are its expectation, or with `max_backup` the maximum.
    `buckets` is "objects" (a bucket for each number of objects), "names" (for each list of their
    names) or "one". A bucket holds the last `capacity` states; learning begins when all of them
    hold `least_states`; an update takes `batch` states of one bucket, those that are new first if
    `fresh_first`. Backups use a copy of the network that is renewed after `target_period` updates,
    or with 0 the network itself. Dead ends are learned from if `learns_dead_ends`.

    With `searches` an episode is a greedy search with the values so far, and a step an expansion.
    So many `unions` of two problems are learned from as well. The learning rate and the weight
    decay are those of AdamW. `breadth`, `depth`, `width` and `sums` are those of the network, which
    sees the types of objects if it has `types`. The result is the running mean of its weights that
    forgets at the rate `average` per update, or with 0 the last weights, after as many steps as
    `updates` says."""

    heuristic: str = "ff"
    episode_steps: int = 40
    temperature: float = 1.0
    samples_actions: bool = False
    max_backup: bool = False
    buckets: str = "objects"
    batch: int = 25
    capacity: int = 6000
    least_states: int = 25
    fresh_first: bool = False
    target_period: int = 0
    learns_dead_ends: bool = False
    searches: bool = False
    unions: int = 0
    bounded: bool = False
    lower: str = "none"
    average: float = 0.0
    weight_decay: float = 0.0
    learning_rate: float = 0.001
    breadth: int = 3
    depth: int = 5
    width: int = 8
    sums: bool = False
    types: bool = False
    updates: int = 50_000

    def __post_init__(self) -> None:
        super().__post_init__()
        for what, name, known in (
            ("heuristic", self.heuristic, ("none", *HEURISTICS)),
            ("lower bound", self.lower, LOWER_BOUNDS),
        ):
            if not is_elsewhere(name):
                check_known(what, name, known)
        check_known("buckets", self.buckets, ("objects", "names", "one"))
        held, positive = asdict(self), ("episode_steps", "batch", "capacity", "width", "depth")
        whole_number(held, *positive, "updates")
        whole_number(held, "least_states", "target_period", "unions", "breadth", least=0)
        if not self.weight_decay >= 0:
            raise ValueError(f"the weight decay must be at least 0, not {self.weight_decay}")
        if self.capacity < self.batch:
            raise ValueError(f"a bucket of {self.capacity} cannot hold a batch of {self.batch}")
        if not 0 <= self.temperature < math.inf:
            raise ValueError(
                f"the temperature must be a number of at least 0, not {self.temperature}"
            )
        if not 0 < self.learning_rate < 1:
            raise ValueError(f"the learning rate must be between 0 and 1: {self.learning_rate}")
        if not 0 <= self.average < 1:
            raise ValueError(f"average must be at least 0 and below 1, not {self.average}")
        if self.bounded and self.reward != "step":
            raise ValueError("backups can be bounded if every step costs 1 (reward step)")

    @property
    def base(self) -> str:
        """The heuristic behind the potential."""
        return "none" if self.potential == "none" else self.heuristic

    def to_dict(self) -> dict[str, Any]:
        """As model files have it."""
        own = asdict(self)
        return {"shaping": {f.name: own.pop(f.name) for f in fields(Shaping)}, **own}


_HELD = Path(__file__).with_name("presets.toml").read_text(encoding="utf-8")
PRESETS = {name: RtdpSettings(**held) for name, held in tomllib.loads(_HELD).items()}


def find_preset(name: str) -> RtdpSettings:
    """Raises ValueError for an unknown name."""
    check_known("preset", name, PRESETS)
    return PRESETS[name]


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
        given = {"breadth": settings.breadth, "types": settings.types}
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
        lower = find_heuristic(settings.lower if settings.bounded else "none")
        if not isinstance(lower, str) and not all(task.unit_cost for task in worlds):
            raise ValueError(f"steps are counted here, but {settings.lower} counts other costs")
        base = find_heuristic(settings.base)
        with self.budget.native():
            problems = [
                (
                    task.core,
                    ATOMS.native(self.features, task),
                    self._bound(base, task),
                    self._bound(lower, task),
                )
                for task in worlds
            ]
            self.core = _core.RtdpLearner(
                problems,
                buckets,
                self.network.shape(),
                first_weights(self.network, seed),
                asdict(settings),
                seed,
                threads,
                *self.budget.limits,
            )

    def _bound(self, heuristic: AnyHeuristic, task: Task) -> BoundHeuristic | None:
        return None if heuristic == "none" else bind_heuristic(heuristic, task, "one", self.budget)

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
        return held, str(held.pop("random"))

    def restore(self, arrays: Arrays, random: str) -> None:
        """Go on from what memory() returned. Raises ValueError."""
        self.core.restore({**arrays, "random": int(random)})

    def model_file(self, theta: NDArray[np.float32], training: dict[str, Any]) -> ModelFile:
        settings = self.settings
        objective = Bellman("none", settings.gamma, settings.potential == "naive")
        base = {"base": settings.base}
        metadata = model_metadata(
            features=(ATOMS.name, self.features),
            model=("nlm", asdict(self.network)),
            objective={**objective.to_dict(), **base},
            decode={"name": objective.decodes[0], **objective.constants(), **base},
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

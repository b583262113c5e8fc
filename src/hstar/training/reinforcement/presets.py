"""Settings of real-time dynamic programming, and named sets of them.

paper    Gehring et al. (ICAPS 2022), Algorithm 1 and appendix A.6
as-run   what the code behind the paper's tables did: other settings, sampled actions, a copy of the
         network for backups, a free last step
own      episodes are greedy searches with the current values, also on unions of two problems, and
         backups stay between the length of the best plan seen and an admissible heuristic
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from hstar import _core
from hstar.pddl.errors import did_you_mean
from hstar.slots.objectives.objective import BASES, LOWER_BOUNDS, check_known
from hstar.training.reinforcement.shaping import Shaping

LEAST = {
    **dict.fromkeys(("episode_steps", "batch", "capacity", "width", "depth", "updates"), 1),
    **dict.fromkeys(("least_states", "target_period", "unions", "breadth", "weight_decay"), 0),
}


@dataclass(frozen=True)
class RtdpSettings(Shaping):
    """`heuristic` gives the potential, `lower` the lower bound if backups are `bounded`. Episodes
    have `episode_steps` at most. Operators are the best ones, or with `samples_actions` drawn from
    softmax(Q / temperature); backups are its expectation, or with `max_backup` the maximum.
    `buckets` is "objects" (a bucket for each number of objects), "names" (for each list of their
    names) or "one". A bucket holds the last `capacity` states; learning begins when all of them
    hold `least_states`; an update takes `batch` states of one bucket, those that are new first if
    `fresh_first`. Backups use a copy of the network that is renewed after `target_period` updates,
    or with 0 the network itself. Dead ends are learned from if `learns_dead_ends`.

    With `searches` an episode is a greedy search with the values so far, and a step an expansion.
    So many `unions` of two problems are learned from as well. The learning rate and the weight
    decay are those of AdamW. `breadth`, `depth`, `width` and `sums` are those of the network. The
    result is the running mean of its weights that forgets at the rate `average` per update, or with
    0 the last weights, after as many steps as `updates` says."""

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
    depth: int = 6
    width: int = 8
    sums: bool = False
    updates: int = 50_000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_known("heuristic", self.heuristic, BASES)
        check_known("lower bound", self.lower, LOWER_BOUNDS)
        check_known("buckets", self.buckets, ("objects", "names", "one"))
        for name, least in LEAST.items():
            if not getattr(self, name) >= least:
                raise ValueError(f"{name} must be at least {least}, not {getattr(self, name)}")
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

    def for_core(self) -> _core.RtdpOptions:
        made = _core.RtdpOptions()
        made.set_reward(self.reward)
        made.set_potential(self.potential)
        for name, value in asdict(self).items():
            if hasattr(made, name):
                setattr(made, name, value)
        return made

    def to_dict(self) -> dict[str, Any]:
        """As model files have it."""
        own = asdict(self)
        return {"shaping": {f.name: own.pop(f.name) for f in fields(Shaping)}, **own}


PRESETS = {
    "paper": RtdpSettings(),
    "as-run": RtdpSettings(
        gamma=0.999,
        reward="free-last",
        samples_actions=True,
        buckets="names",
        least_states=100,
        fresh_first=True,
        target_period=400,
        depth=5,
        updates=10_000,
    ),
    "own": RtdpSettings(
        episode_steps=100,
        max_backup=True,
        searches=True,
        unions=40,
        bounded=True,
        lower="lmcut",
        target_period=100,
        average=0.999,
        batch=64,
        breadth=2,
        depth=4,
        width=16,
        sums=True,
        updates=50_000,
    ),
}


def find_preset(name: str) -> RtdpSettings:
    """Raises ValueError for an unknown name."""
    if name not in PRESETS:
        hint = did_you_mean(name, PRESETS)
        raise ValueError(f"unknown preset '{name}'{hint}; choose one of {', '.join(PRESETS)}")
    return PRESETS[name]

"""What of the truncated-Gaussian paper's protocol to run: the scales of scales.toml, and the
configurations that the paper compares.

A variant is what is trained; how its outputs are decoded gives the columns of the planning tables:
a Gaussian appears as N (its mean) and as N+clip (its mean, not below the lower bound).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hstar.experiments.study import DEFAULT, Column, TrialScale, read_scales, read_toml
from hstar.slots.objectives import FIXED_SIGMA, OBJECTIVES, Objective, make_objective

DOMAINS = {"blocks": "blocksworld", "ferry": "ferry", "gripper": "gripper", "visitall": "visitall"}
DECODINGS = {  # loss -> column of the planning tables -> how outputs are decoded
    "gaussian": {"N": "mean", "N+clip": "clip"},
    "truncated-gaussian": {"TN": "truncated-mean"},
    "l-gbfs": {"L-GBFS": "value"},
}
FF = "ff"  # the column of h^FF


@dataclass(frozen=True, slots=True)
class Variant:
    """`sigma` is "learn" or "fixed"."""

    model: str
    loss: str
    sigma: str = "learn"
    base: str = "ff"
    lower: str = "lmcut"

    @property
    def name(self) -> str:
        return "-".join((self.model, self.loss, self.sigma, self.base, self.lower))

    @property
    def columns(self) -> dict[str, Column]:
        """Such as "nlm TN:learn/ff/lmcut"."""
        group = "" if self.loss == "l-gbfs" else f":{self.sigma}/{self.base}/{self.lower}"
        return {
            f"{self.model} {variant}{group}": Column(self.name, decode=decode, has_seeds=True)
            for variant, decode in DECODINGS[self.loss].items()
        }

    def objective(self, fixed_sigma: float) -> Objective:
        """As far as the objective has these options: a ranking has no sigma and no bound."""
        sigma = fixed_sigma if self.sigma == "fixed" else None
        given = {"sigma": sigma, "base": self.base, "lower": self.lower}
        known = OBJECTIVES.find(self.loss).__dataclass_fields__
        return make_objective(self.loss, **{k: v for k, v in given.items() if k in known})


HELD = read_toml(__file__, "scales.toml")
ALL = [
    *(
        Variant(model, loss, *configuration.split("/"))
        for model, configurations in HELD["variants"].items()
        for configuration in configurations
        for loss in ("gaussian", "truncated-gaussian")
    ),
    Variant("hgn", "l-gbfs", "learn", "none", "none"),  # Table 10: learning to rank
]
VARIANTS = {variant.name: variant for variant in ALL}
OURS = "nlm TN:learn/ff/lmcut"
COLUMNS: dict[str, Column] = {FF: Column(beside=("ff",)), DEFAULT: Column()}
for _variant in ALL:
    COLUMNS |= _variant.columns
GROUPS = {  # name -> columns
    **HELD["columns"],
    "all": [column for variant in ALL for column in variant.columns],
    **{variant.name: list(variant.columns) for variant in ALL},
}


@dataclass(frozen=True, slots=True)
class GaussianScale(TrialScale):
    """Sizes of an experiment, besides those of its study, whose `tests` are all problems that are
    planned for. Times in seconds. `cost` says how long it takes. `training` are options of all
    trainings, `models` those of each kind of model; with `epochs`, NLMs train that many passes over
    their data instead of a number of steps. The published method has no cap on h^FF; `fit_cap` adds
    it. Other problems take the place of those that are not solved, up to so many `retries`; without
    them test problems stay without labels. Problems are kept `apart`, or taken as they are drawn.
    `trains_on_validation` takes the validation problems
    from those of training."""

    cost: str = ""
    problems: Mapping[str, Any] = field(default_factory=dict)  # counts by split; sizes of domains
    test_counts: Mapping[str, int] = field(default_factory=dict)  # by domain, else the usual ones
    training_problems: int = 400
    label_limits: Mapping[str, float] = field(default_factory=dict)  # split -> of an attempt
    label_retries: int = 20
    test_retries: int = 0
    apart: bool = True
    trains_on_validation: bool = False
    fixed_sigma: float = FIXED_SIGMA
    training: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    epochs: int | None = None
    fit_cap: bool = False

    def changed(self, columns: Sequence[str] = (), **options: Any) -> GaussianScale:
        scale = TrialScale.changed(self, columns, **options)
        steps = options.get("steps", {})
        is_given = isinstance(steps, int) or "nlm" in steps
        return replace(scale, epochs=None) if is_given else scale


SCALES = read_scales(__file__, GaussianScale, GROUPS)

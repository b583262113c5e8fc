"""What of the truncated-Gaussian paper's protocol to run: the scales of scales.toml, and the
configurations that the paper compares.

A variant is what is trained; how its outputs are decoded gives the columns of the planning tables:
a Gaussian appears as N (its mean) and as N+clip (its mean, not below the lower bound).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hstar.experiments.study import DEFAULT, Column, TrialScale, read_scales
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

    @property
    def objective(self) -> Objective:
        """As far as the objective has these options: a ranking has no sigma and no bound."""
        sigma = FIXED_SIGMA if self.sigma == "fixed" else None
        given = {"sigma": sigma, "base": self.base, "lower": self.lower}
        known = OBJECTIVES.find(self.loss).__dataclass_fields__
        return make_objective(self.loss, **{k: v for k, v in given.items() if k in known})


def _both(*configuration: str) -> list[Variant]:
    """A Gaussian and a truncated one: model, then sigma, base and lower bound."""
    model, *others = configuration
    return [Variant(model, loss, *others) for loss in ("gaussian", "truncated-gaussian")]


GRID = [(sigma, base) for sigma in ("learn", "fixed") for base in ("ff", "none")]
ALL = [
    *(one for group in GRID for one in _both("nlm", *group)),  # Tables 1, 2, 4 and 5
    # Tables 11 and 12: other lower bounds. A Gaussian's training does not know the bound, only its
    # clipping does, so the paper's extra Gaussian columns differ from the first by seeds alone.
    *(one for lower in ("hmax", "blind") for one in _both("nlm", "learn", "ff", lower)),
    *_both("nlm", "learn", "lmcut"),  # Tables 13 and 14: LM-cut as the heuristic to correct
    *(one for model in ("linear", "hgn") for group in GRID for one in _both(model, *group)),
    Variant("hgn", "l-gbfs", "learn", "none", "none"),  # Table 10: learning to rank
]
VARIANTS = {variant.name: variant for variant in ALL}
OURS = "nlm TN:learn/ff/lmcut"
COLUMNS: dict[str, Column] = {FF: Column(beside=("ff",)), DEFAULT: Column()}
for _variant in ALL:
    COLUMNS |= _variant.columns
_NAMED = {  # as scales.toml calls them
    "ours": [Variant("nlm", "truncated-gaussian")],
    "baseline": [Variant("nlm", "gaussian")],
    "linear": [Variant("linear", "truncated-gaussian")],
    "all": ALL,
}
GROUPS = {  # name -> columns
    name: [column for variant in variants for column in variant.columns]
    for name, variants in {**_NAMED, **{one.name: [one] for one in ALL}}.items()
}


@dataclass(frozen=True, slots=True)
class GaussianScale(TrialScale):
    """Sizes of an experiment, besides those of its study, whose `tests` are all problems that are
    planned for. Times in seconds. `training` are options of all trainings, `nlm` those of NLMs;
    with `epochs`, these train that many passes over their data instead of a number of steps. The
    published method has no cap on h^FF; `fit_cap` adds it."""

    problems: Mapping[str, Any] = field(default_factory=dict)  # counts by split; sizes of domains
    training_problems: int = 400
    label_limits: Mapping[str, float] = field(default_factory=dict)  # split -> of an attempt
    label_retries: int = 20
    training: Mapping[str, Any] = field(default_factory=dict)
    nlm: Mapping[str, Any] = field(default_factory=dict)
    epochs: int | None = None
    fit_cap: bool = False


SCALES = read_scales(__file__, GaussianScale, GROUPS)

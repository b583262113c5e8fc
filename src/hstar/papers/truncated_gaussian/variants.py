"""The configurations that the truncated-Gaussian paper compares.

A variant is what is trained; how its outputs are decoded gives the columns of the planning tables:
a Gaussian appears as N (its mean) and as N+clip (its mean, not below the lower bound).
"""

from __future__ import annotations

from dataclasses import dataclass

from hstar.objectives import OBJECTIVES, make_objective
from hstar.objectives.likelihood import FIXED_SIGMA
from hstar.objectives.objective import Objective

DECODINGS = {  # loss -> column of the planning tables -> how outputs are decoded
    "gaussian": {"N": "mean", "N+clip": "clip"},
    "truncated-gaussian": {"TN": "truncated-mean"},
    "l-gbfs": {"L-GBFS": "value"},
}


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
    def objective(self) -> Objective:
        """As far as the objective has these options: a ranking has no sigma and no bound."""
        sigma = FIXED_SIGMA if self.sigma == "fixed" else None
        given = {"sigma": sigma, "base": self.base, "lower": self.lower}
        known = OBJECTIVES.find(self.loss).__dataclass_fields__
        return make_objective(self.loss, **{k: v for k, v in given.items() if k in known})


def grid(model: str) -> list[Variant]:
    """Tables 1, 2 and 4 to 9: distribution x sigma x base."""
    return [
        Variant(model, loss, sigma, base)
        for sigma in ("learn", "fixed")
        for base in ("ff", "none")
        for loss in ("gaussian", "truncated-gaussian")
    ]


# Tables 11 and 12: other lower bounds. A Gaussian's training does not know the bound, only its
# clipping does, so the paper's extra Gaussian columns differ from the first by their seeds alone.
LOWER_BOUNDS = [
    Variant("nlm", loss, "learn", "ff", lower)
    for lower in ("hmax", "blind")
    for loss in ("gaussian", "truncated-gaussian")
]
# Tables 13 and 14: LM-cut as the heuristic to correct.
OTHER_BASES = [
    Variant("nlm", loss, "learn", "lmcut") for loss in ("gaussian", "truncated-gaussian")
]
# Table 10: learning to rank.
RANKING = [Variant("hgn", "l-gbfs", "learn", "none", "none")]

OURS = Variant("nlm", "truncated-gaussian")
BASELINE = Variant("nlm", "gaussian")
ALL = [*grid("nlm"), *LOWER_BOUNDS, *OTHER_BASES, *grid("linear"), *grid("hgn"), *RANKING]

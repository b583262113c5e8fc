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


def _both(*configuration: str) -> list[Variant]:
    """A Gaussian and a truncated one: model, then sigma, base and lower bound."""
    model, *others = configuration
    return [Variant(model, loss, *others) for loss in ("gaussian", "truncated-gaussian")]


GRID = [(sigma, base) for sigma in ("learn", "fixed") for base in ("ff", "none")]
OURS = Variant("nlm", "truncated-gaussian")
ALL = [
    *(one for group in GRID for one in _both("nlm", *group)),  # Tables 1, 2, 4 and 5
    # Tables 11 and 12: other lower bounds. A Gaussian's training does not know the bound, only its
    # clipping does, so the paper's extra Gaussian columns differ from the first by seeds alone.
    *(one for lower in ("hmax", "blind") for one in _both("nlm", "learn", "ff", lower)),
    *_both("nlm", "learn", "lmcut"),  # Tables 13 and 14: LM-cut as the heuristic to correct
    *(one for model in ("linear", "hgn") for group in GRID for one in _both(model, *group)),
    Variant("hgn", "l-gbfs", "learn", "none", "none"),  # Table 10: learning to rank
]
NAMED = {  # as scales.toml calls them
    "ours": [OURS],
    "baseline": [Variant("nlm", "gaussian")],
    "linear": [Variant("linear", "truncated-gaussian")],
    "all": ALL,
}

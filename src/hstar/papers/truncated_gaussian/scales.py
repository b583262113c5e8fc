"""What of the truncated-Gaussian paper's protocol to run: the scales of scales.toml, and the
configurations that the paper compares.

A variant is what is trained; how its outputs are decoded gives the columns of the planning tables:
a Gaussian appears as N (its mean) and as N+clip (its mean, not below the lower bound).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hstar.domains import SPLITS
from hstar.papers.experiment import read_published
from hstar.slots.objectives import OBJECTIVES, make_objective
from hstar.slots.objectives.likelihood import FIXED_SIGMA
from hstar.slots.objectives.objective import Objective

DOMAINS = {"blocks": "blocksworld", "ferry": "ferry", "gripper": "gripper", "visitall": "visitall"}
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


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes of an experiment. Times in seconds, memory in bytes; `steps` and `planning` (how many
    test problems are planned for) are per kind of model. With `epochs`, NLMs train that many passes
    over their data instead of a number of steps. What is None or empty is hstar's default. The
    published method has no cap on h^FF; `fit_cap` adds it."""

    domains: tuple[str, ...]
    variants: tuple[Variant, ...]
    problems: Mapping[str, Mapping[str, Mapping[str, Any]]]  # domain -> split -> for `generate`
    training_problems: int
    seeds: tuple[int, ...]
    steps: Mapping[str, int]
    planning: Mapping[str, int]
    label_limits: Mapping[str, float]  # split -> seconds per attempt
    label_retries: int
    memory_limit: int = 8 * 2**30
    max_evaluations: int = 10_000
    evaluate_every: int = 200
    batch: int = 256
    epochs: int | None = None
    schedule: str = "cosine"
    nlm_options: Mapping[str, object] = field(default_factory=dict)
    nlm_weight_decay: float | None = None
    fit_cap: bool = False


def _scale(held: Mapping[str, Any], name: str) -> Scale:
    given = {**held.get(held[name].get("like", ""), {}), **held[name]}
    given.pop("like", None)
    asked = given["problems"]  # without counts or sizes, the paper's own
    counts = asked.get("counts", [None] * len(SPLITS))
    problems = {}
    for domain in given["domains"]:
        small, large = asked.get(domain, [None, None])
        sizes = zip(SPLITS, counts, [small, small, large], strict=True)
        problems[domain] = {s: {"count": count, "ranges": size} for s, count, size in sizes}
    variants = tuple(variant for one in given["variants"] for variant in NAMED[one])
    lists = {one: tuple(given[one]) for one in ("domains", "seeds")}
    return Scale(**{**given, **lists, "variants": variants, "problems": problems})


_HELD = read_published(__file__, "scales.toml")
SCALES = {name: _scale(_HELD, name) for name in _HELD}

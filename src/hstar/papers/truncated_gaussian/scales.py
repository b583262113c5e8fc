"""What of the truncated-Gaussian paper's protocol to run: the scales of scales.toml, and the
configurations that the paper compares.

A variant is what is trained; how its outputs are decoded gives the columns of the planning tables:
a Gaussian appears as N (its mean) and as N+clip (its mean, not below the lower bound).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hstar.domains import SPLITS
from hstar.experiments.study import build, changed_steps, choose, read_toml
from hstar.slots.objectives import FIXED_SIGMA, OBJECTIVES, Objective, make_objective

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
class GaussianScale:
    """Sizes of an experiment. Times in seconds, memory in bytes; `steps` are per kind of model,
    `planning` is how many test problems are planned for. With `epochs`, NLMs train that many passes
    over their data instead of a number of steps. What is None or empty is hstar's default. The
    published method has no cap on h^FF; `fit_cap` adds it."""

    domains: tuple[str, ...]
    variants: tuple[Variant, ...]
    problems: Mapping[str, Any]  # counts by split, and of a domain the sizes of both kinds
    training_problems: int
    seeds: tuple[int, ...]
    steps: Mapping[str, int]
    planning: int
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

    def asked(self, domain: str, split: str) -> dict[str, Any]:
        """For `generate`; None stands for the paper's own numbers and sizes."""
        counts = self.problems.get("counts", [None] * len(SPLITS))
        small, large = self.problems.get(domain, [None, None])
        count = dict(zip(SPLITS, counts, strict=True))[split]
        return {"count": count, "ranges": large if split == "test" else small}

    def changed(
        self,
        steps: Mapping[str, int] | int | None = None,
        tests: int = 0,
        columns: Sequence[str] = (),
        domains: Sequence[str] = (),
        seeds: Sequence[int] = (),
    ) -> GaussianScale:
        """With these in place of its own. Columns are those of scales.toml, or names of
        variants."""
        named = {**NAMED, **{one.name: [one] for one in ALL}}
        variants = [one for name in choose("column", named, columns) for one in named[name]]
        chosen = choose("domain", DOMAINS, domains)
        asked = {} if steps is None else steps
        epochs = None if isinstance(asked, int) or "nlm" in asked else self.epochs
        taken = changed_steps(self.steps, asked)
        kept = tuple(dict.fromkeys(variants)) or self.variants
        for model in {one.model for one in kept} - taken.keys() - ({"nlm"} if epochs else set()):
            raise ValueError(f"models of the kind {model} need steps; add --steps {model}=NUMBER")
        return replace(
            self,
            steps=taken,
            epochs=epochs,
            planning=tests or self.planning,
            variants=kept,
            domains=tuple(chosen) or self.domains,
            seeds=tuple(seeds) or self.seeds,
        )


def _scale(name: str) -> GaussianScale:
    given = {**_HELD.get(_HELD[name].get("like", ""), {}), **_HELD[name]}
    given.pop("like", None)
    given["variants"] = [variant for one in given["variants"] for variant in NAMED[one]]
    scale: GaussianScale = build(GaussianScale, given)
    return scale


_HELD = read_toml(__file__, "scales.toml")
SCALES = {name: _scale(name) for name in _HELD}

"""How much of the truncated-Gaussian paper's protocol to run: the scales of scales.toml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hstar.domains import SPLITS
from hstar.papers.experiment import read_published
from hstar.papers.truncated_gaussian.variants import NAMED, Variant

DOMAINS = {"blocks": "blocksworld", "ferry": "ferry", "gripper": "gripper", "visitall": "visitall"}


@dataclass(frozen=True, slots=True)
class Problems:
    """Which problems of one split to generate: None means the paper's own sizes and counts."""

    count: int | None = None
    ranges: Mapping[str, Sequence[int | float]] | None = None


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes of an experiment. Times in seconds, memory in bytes; `steps` and `planning` (how many
    test problems are planned for) are per kind of model. With `epochs`, NLMs train that many passes
    over their data instead of a number of steps. What is None or empty is hstar's default. The
    published method has no cap on h^FF; `fit_cap` adds it."""

    domains: tuple[str, ...]
    variants: tuple[Variant, ...]
    problems: Mapping[str, Mapping[str, Problems]]  # domain -> split
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
    asked = given["problems"]
    counts = asked.get("counts", [None] * len(SPLITS))
    problems = {}
    for domain in given["domains"]:
        small, large = asked.get(domain, [None, None])
        made = map(Problems, counts, [small, small, large])
        problems[domain] = dict(zip(SPLITS, made, strict=True))
    variants = tuple(variant for one in given["variants"] for variant in NAMED[one])
    lists = {one: tuple(given[one]) for one in ("domains", "seeds")}
    return Scale(**{**given, **lists, "variants": variants, "problems": problems})


_HELD = read_published(__file__, "scales.toml")
SCALES = {name: _scale(_HELD, name) for name in _HELD}

"""How much of the truncated-Gaussian paper's protocol to run.

smoke     one domain, minutes: what the demonstration shows
small     all domains and configurations, less of everything: under an hour on two cores
proposed  the paper's problems, but only the configuration it proposes, three seeds
full      the paper's problems, limits, networks and seeds, with disjoint splits
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hstar.papers.truncated_gaussian.variants import ALL, BASELINE, OURS, Variant

Ranges = Mapping[str, Sequence[int | float]]
DOMAINS = {"blocks": "blocksworld", "ferry": "ferry", "gripper": "gripper", "visitall": "visitall"}


@dataclass(frozen=True, slots=True)
class Problems:
    """Which problems of one split to generate: None means the paper's own sizes and counts."""

    count: int | None = None
    ranges: Ranges | None = None


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


def _splits(
    counts: tuple[int | None, int | None, int | None] = (None, None, None),
    small: Ranges | None = None,
    large: Ranges | None = None,
) -> Mapping[str, Problems]:
    """Small problems to train and validate with, large ones to test on; the paper's by default."""
    train, validation, test = counts
    return {
        "train": Problems(train, small),
        "validation": Problems(validation, small),
        "test": Problems(test, large),
    }


def _each(count: int) -> Mapping[str, int]:
    return dict.fromkeys(("nlm", "linear", "hgn", "ff"), count)


# Rectifiers learn faster than sigmoids, sigmoids carry over better to larger problems: short
# trainings use the former.
SMOKE = Scale(
    domains=("blocks",),
    variants=(OURS, BASELINE, Variant("linear", "truncated-gaussian")),
    problems={"blocks": _splits((150, 36, 24), {"blocks": range(3, 9)}, {"blocks": range(9, 17)})},
    training_problems=150,
    seeds=(0,),
    steps={"nlm": 900, "linear": 900},
    planning=_each(24),
    label_limits={"train": 5.0, "validation": 5.0, "test": 2.0},
    label_retries=3,
    memory_limit=2 * 2**30,
    evaluate_every=100,
    nlm_options={"activation": "relu"},
    nlm_weight_decay=3e-2,
)

_SMALL = (160, 40, 24)
SMALL = replace(
    SMOKE,
    domains=tuple(DOMAINS),
    variants=tuple(ALL),
    problems={
        "blocks": _splits(_SMALL, {"blocks": range(4, 11)}, {"blocks": range(11, 23, 2)}),
        "ferry": _splits(
            _SMALL,
            dict.fromkeys(("locations", "cars"), range(2, 6)),
            dict.fromkeys(("locations", "cars"), (10, 15, 20)),
        ),
        "gripper": _splits(_SMALL, {"balls": range(2, 9, 2)}, {"balls": (20, 30, 40)}),
        "visitall": _splits(_SMALL, {"side": (3, 4)}, {"side": (6, 7, 8)}),
    },
    training_problems=160,
    steps={"nlm": 700, "linear": 700, "hgn": 120},
    planning=_each(6),
    label_limits={"train": 5.0, "validation": 5.0, "test": 10.0},
    label_retries=5,
    memory_limit=3 * 2**30,
)

# The paper's own network, as its runs had it: sigmoids, tuples with equal objects not left out, no
# types; and its number of steps.
FULL = Scale(
    domains=tuple(DOMAINS),
    variants=tuple(ALL),
    problems=dict.fromkeys(DOMAINS, _splits()),
    training_problems=400,
    seeds=(0, 1, 2, 3, 4),
    steps={"nlm": 100_000, "linear": 40_000, "hgn": 40_000},
    planning=_each(100),
    label_limits={"train": 300.0, "validation": 300.0, "test": 1800.0},
    label_retries=20,
    evaluate_every=500,
    schedule="constant",
    nlm_options={"activation": "sigmoid", "exclude_self": False, "types": False},
    nlm_weight_decay=1e-2,
)

PROPOSED = replace(
    FULL,
    variants=(OURS,),
    seeds=(0, 1, 2),
    steps={},
    epochs=150,
    label_limits={"train": 5.0, "validation": 5.0, "test": 8.0},
    memory_limit=6 * 2**30,
    evaluate_every=250,
    schedule="cosine",
    nlm_options={},
    nlm_weight_decay=None,
    fit_cap=True,
)

SCALES = {"smoke": SMOKE, "small": SMALL, "proposed": PROPOSED, "full": FULL}

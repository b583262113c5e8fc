"""PAPERS: those whose experiments `hstar paper` runs. To add one, write its package and a line
here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hstar.runtime import Registry, of_class

if TYPE_CHECKING:
    from hstar.experiments.study import StudyRun

SIZES = ("smoke", "small", "medium", "full")  # scales that every paper has
# What may be given in place of a scale's own values, and what it says of them.
OVERRIDES = {
    "seeds": "seeds of the learners",
    "steps": "steps of training: one number for all kinds of learners, or KIND=NUMBER for some",
    "tests": "test problems (per size in reward-shaping, boards in admissible-cea)",
    "states": "states to plan for (admissible-cea: how many show what is overestimated)",
    "limit": "seconds of a search",
    "learn": "seconds of a learner, where time ends it",
    "columns": "what is compared: learned heuristics, planners, losses",
    "domains": "domains (admissible-cea: pattern databases)",
}


@dataclass(frozen=True, slots=True)
class Paper:
    """`study` is its subclass of StudyRun, "module:class", imported only to run it. `options` are
    those of OVERRIDES that mean something for it, and of "models", "suite" and "peer"."""

    title: str
    scales: tuple[str, ...]
    study: str
    options: tuple[str, ...]


PAPERS: Registry[Paper] = Registry(
    "paper",
    {
        "truncated-gaussian": Paper(
            "learned heuristics for greedy search",
            (*SIZES, "as-run", "proposed"),
            "hstar.papers.truncated_gaussian.study:TruncatedGaussians",
            ("seeds", "steps", "tests", "limit", "columns", "domains"),
        ),
        "admissible-cea": Paper(
            "pattern databases as certified networks",
            SIZES,
            "hstar.papers.admissible_cea.study:AdmissibleCea",
            ("seeds", "steps", "tests", "states", "limit", "columns", "domains", "models"),
        ),
        "regression-sampling": Paper(
            "networks for one task from regressions of its goal",
            (*SIZES, "grid"),
            "hstar.papers.regression_sampling.study:RegressionSampling",
            ("states", "limit", "learn", "columns", "domains", "suite", "peer"),
        ),
        "reward-shaping": Paper(
            "value functions of a domain by reinforcement learning",
            (*SIZES, "ablation", "systems", "equal-time", "compatibility"),
            "hstar.papers.reward_shaping.study:RewardShaping",
            ("seeds", "steps", "tests", "limit", "learn", "columns", "domains", "suite"),
        ),
    },
    "hstar.papers",
    of_class(Paper),
)


def papers_with(option: str) -> str:
    """Those for which an option means something."""
    return ", ".join(name for name, one in PAPERS.items() if option in one.options)


def prepare_paper(
    paper: str, scale: str, directory: Path, options: Mapping[str, Any], **settings: Any
) -> StudyRun[Any, Any]:
    """A paper's experiments with these options in place of the scale's own, to `execute` and
    `report`. `settings` are fields of StudyRun. Raises ValueError for what the paper does not
    have."""
    entry = PAPERS.find(paper)
    flags = {"models": "models", "suite": "suite", "peers": "peer"}
    for option in [*options, *(flag for name, flag in flags.items() if settings.get(name))]:
        if option not in entry.options:
            own = ", ".join(f"--{one}" for one in entry.options)
            raise ValueError(
                f"--{option} is for {papers_with(option)}; it means nothing for {paper}, which has "
                f"{own}"
            )
    module, _, name = entry.study.partition(":")
    study: type[StudyRun[Any, Any]] = getattr(import_module(module), name)
    asked = {n: tuple(v) if isinstance(v, list) else v for n, v in options.items()}
    return study(study.scale_of(scale, **asked), directory, **settings)

"""RECIPES: the papers whose experiments `hstar paper` runs. To add one, write its package and a
line here."""

from __future__ import annotations

from dataclasses import dataclass

from hstar.runtime.registry import Registry, of_class


@dataclass(frozen=True, slots=True)
class Recipe:
    """`package` has the modules `recipe` (Experiment, run_experiment), `page` (write_results,
    summary_text) and `scales` (SCALES), imported only to run it. `options` names further options of
    its Experiment."""

    title: str
    scales: tuple[str, ...]
    package: str
    options: tuple[str, ...] = ()


RECIPES: Registry[Recipe] = Registry(
    "paper",
    {
        "truncated-gaussian": Recipe(
            "learned heuristics for greedy search",
            ("smoke", "small", "full", "proposed"),
            "hstar.papers.truncated_gaussian",
        ),
        "admissible-cea": Recipe(
            "pattern databases as certified networks",
            ("smoke", "small", "full"),
            "hstar.papers.admissible_cea",
            options=("models",),
        ),
        "regression-sampling": Recipe(
            "networks for one task from regressions of its goal",
            ("smoke", "quick", "small", "full"),
            "hstar.papers.regression_sampling",
            options=("suite", "peers"),
        ),
        "reward-shaping": Recipe(
            "value functions of a domain by reinforcement learning",
            ("smoke", "small", "systems", "full", "equal-time", "compatibility"),
            "hstar.papers.reward_shaping",
            options=("suite",),
        ),
    },
    "hstar.papers",
    of_class(Recipe),
)

"""The fit "ppo": a policy and a value by proximal policy optimisation (training/reinforcement/ppo),
on episodes of its own. What it has learned is judged by these episodes, not by other problems."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from hstar.runtime.resources import OutOfResources
from hstar.slots.model_file import ModelFile
from hstar.training.fit import Fit, Lesson, Limits, ModelRow
from hstar.training.fit.named_options import with_options
from hstar.training.fit.torch import require_torch

if TYPE_CHECKING:
    from hstar.training.reinforcement.ppo import PolicyRun, PPOOptions

ENDLESS = 10**9  # updates


def fit_ppo(lesson: Lesson, row: ModelRow, limits: Limits) -> ModelFile | None:
    """`limits.steps` are episodes. On one thread: the network is small, and results must not depend
    on the machine. None if no update was done in time. Raises ValueError for a domain that does not
    fit, OutOfResources, FloatingPointError."""
    options = replace(ppo_options(row), seed=limits.seed)
    updates = ENDLESS if limits.steps is None else math.ceil(limits.steps / options.episodes)
    import torch

    from hstar.training.reinforcement.ppo import PolicyRun

    def report(told: Mapping[str, float]) -> None:
        update = int(told["update"])
        text = (
            f"update {update}: {told['solved']:.0%} of {options.episodes} episodes reach the goal, "
            f"entropy {told['entropy']:.2f}, divergence {told['divergence']:.2g}"
        )
        limits.report(update, text)
        if update & (update - 1) == 0:  # 1, 2, 4, 8, ...
            limits.say(text)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        how = replace(options, updates=updates), limits.checkpoint, limits.budget, report
        return _learned(PolicyRun(lesson.tasks, *how), limits)
    finally:
        torch.set_num_threads(threads)


def _learned(run: PolicyRun, limits: Limits) -> ModelFile | None:
    if run.history:
        limits.say(f"going on from update {len(run.history)}")
    try:
        run.go()
    except (KeyboardInterrupt, OutOfResources) as error:
        if not isinstance(error, OutOfResources) or error.status != "out of time":
            if run.history:
                limits.keep(run.trained().file)
            raise
    return run.trained().file if run.history else None


def ppo_options(row: ModelRow) -> PPOOptions:
    """Raises ValueError."""
    require_torch(row.label)
    from hstar.training.reinforcement.ppo import PPOOptions

    given = row.teacher_options
    return with_options(PPOOptions(), given, "policies", without=("seed", "updates", "seconds"))


PPO = Fit(
    fit_ppo,
    lambda row: (
        (row.teacher, row.features, row.model, row.objective) == ("policy", "atoms", "gnn", "ppo")
    ),
    "takes teacher policy, model gnn on features atoms, and objective ppo",
    ppo_options,
    acts=True,
)

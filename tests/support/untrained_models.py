"""Models with random weights, as files that training could have written."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hard_tasks import write_task
from numpy.typing import NDArray
from small_trainings import FEATURES as READS
from small_trainings import TINY

from hstar.planning.task import Task, load_task
from hstar.slots.decode import find_decode
from hstar.slots.features import FEATURES
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import ModelFile, model_metadata
from hstar.slots.models import MODELS
from hstar.slots.objectives.objective import Objective

States = NDArray[np.int32]


def untrained(
    kind: str,
    task: Task,
    objective: Objective,
    cost: str = "one",
    seed: int = 0,
    features: str | None = None,
    **options: Any,
) -> LearnedHeuristic:
    """A model for the domain of a task with random weights, large enough to make a difference."""
    model = MODELS.find(kind)
    feature = FEATURES.find(features or READS.get(kind, model.features[0]))
    seen = {key: value for key, value in options.items() if key in feature.options}
    feature_config = feature.configure([task], {**feature.options, **seen}, cost)
    chosen = {**TINY[kind], **{key: v for key, v in options.items() if key in model.options}}
    config = model.configure(feature_config, objective.outputs, {**model.options, **chosen})
    network = model.build(config, torch.Generator().manual_seed(seed))
    decode = find_decode(None, objective)
    metadata = model_metadata(
        features=(feature.name, feature_config),
        model=(kind, config),
        objective=objective.to_dict(),
        decode={**decode.options, **objective.constants(), "name": decode.name},
        cost=cost,
        domain=task.problem.domain,
        training={},
    )
    # The rounds of "gnn" add up: larger weights would make rounding errors large as well.
    scale = {"linear": 0.2, "gnn": 1.0}.get(kind, 2.0)
    tensors = {
        name: (scale * tensor if tensor.is_floating_point() else tensor).numpy()
        for name, tensor in network.state_dict().items()
    }
    return LearnedHeuristic(ModelFile(metadata, tensors), f"{kind}.safetensors")


def values(heuristic: LearnedHeuristic, task: Task, states: States) -> NDArray[np.float32]:
    bound = heuristic.bind(task)
    evaluate: Callable[[States], NDArray[np.float32]] = getattr(bound, "evaluate", bound)
    return evaluate(states)


def has_conditional_effects(task: Task) -> bool:
    effects = (e for op in range(task.num_operators) for e in task.core.operator_parts(op)[3])
    return any(conditions for conditions, *_ in effects)


def read_task(folder: Path, domain: str, problem: str) -> Task:
    return load_task(*write_task(folder, domain, problem))


def random_walk(task: Task, rng: random.Random, length: int) -> States:
    states = [task.initial_state]
    for _ in range(length):
        _, successors = task.successors(states[-1])
        if len(successors) == 0:
            break
        states.append(successors[rng.randrange(len(successors))])
    return np.stack(states)

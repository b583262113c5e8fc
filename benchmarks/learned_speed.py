"""How fast training steps and learned heuristics are, on one core.

    python benchmarks/learned_speed.py [--labels LABELS.parquet] [--gpu]

Training: one step (forward, likelihood, backward, clipping, AdamW) of an NLM of width 16 on batches
of 256 states. Search: greedy best-first search with an NLM that corrects h^FF and is bounded below
by LM-cut, and with a linear model, random weights, 10,000 evaluations at most. The reference is the
published system (pyperplan, torch, one state at a time), measured on one core of a similar machine.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

from hstar.domains import generate
from hstar.experiments.report import markdown_table
from hstar.pddl import parse
from hstar.planning.search import run
from hstar.planning.specification import SearchSpecification
from hstar.planning.task import Task, ground
from hstar.runtime.resources import Budget
from hstar.slots.features import FEATURES
from hstar.slots.features.vocabulary import domain_hash
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import ModelFile
from hstar.slots.models import MODELS
from hstar.slots.objectives import make_objective
from hstar.training.dataset import load_dataset
from hstar.training.loop import Loop
from hstar.training.options import TrainOptions
from hstar.training.train import prepare

INSTANCES = {
    "blocks 16": ("blocksworld", {"blocks": [16]}),
    "blocks 22": ("blocksworld", {"blocks": [22]}),
    "ferry 20x20": ("ferry", {"locations": [20], "cars": [20]}),
    "visitall 8x8": ("visitall", {"side": [8], "ratio": [1.0]}),
    "gripper 60": ("gripper", {"balls": [60]}),
}
# Evaluations per second of the published code with LM-cut and h^FF, and the factor to reach.
REFERENCE = {
    ("nlm", "blocks 16"): (24, 60),
    ("nlm", "blocks 22"): (11, 60),
    ("nlm", "ferry 20x20"): (4.3, 60),
    ("nlm", "visitall 8x8"): (2.5, 30),
    ("nlm", "gripper 60"): (2.6, 30),
    ("linear", "ferry 20x20"): (7.4, 100),
    ("linear", "gripper 60"): (23, 100),
}
REFERENCE_STEP = 4.1  # seconds, every batch padded to 16 objects


def untrained(kind: str, task: Task) -> LearnedHeuristic:
    """The proposed configuration with random weights."""
    objective = replace(make_objective("truncated-gaussian"), cap=None)
    model = MODELS.find(kind)
    features = FEATURES.find(model.features[0])
    inputs = features.configure([task], features.options, "one")
    config = model.configure(inputs, objective.outputs, model.options)
    network = model.build(config, torch.Generator().manual_seed(0))
    metadata = {
        "form": "float",
        "features": {"name": features.name, "config": inputs},
        "model": {"name": kind, "config": config},
        "objective": objective.to_dict(),
        "decode": {**objective.constants(), "name": objective.decodes[0]},
        "cost": "one",
        "domain": {"name": "", "hash": domain_hash(task.problem.domain)},
        "training": {},
        "certificate": None,
    }
    tensors = {name: np.asarray(tensor) for name, tensor in network.state_dict().items()}
    return LearnedHeuristic(ModelFile(metadata, tensors), f"{kind}.safetensors")


def search_rows(count: int) -> list[list[str]]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (domain, ranges) in INSTANCES.items():
            target = Path(folder) / name
            generate(domain, target, ["test"], count=count, ranges=ranges)
            problems = sorted((target / "test").glob("*.pddl"))
            problems = [p for p in problems if p.name != "domain.pddl"]
            for kind in ("nlm", "linear"):
                if (kind, name) not in REFERENCE:
                    continue
                rows.append(search_row(kind, name, target / "test" / "domain.pddl", problems))
                print("|", " | ".join(rows[-1]), "|", flush=True)
    return rows


def search_row(kind: str, name: str, domain: Path, problems: list[Path]) -> list[str]:
    evaluations = evaluated = 0
    seconds = 0.0
    for problem in problems:
        task = ground(parse(domain, problem))
        options = SearchSpecification(untrained(kind, task), "gbfs", max_evaluations=10_000)
        start = time.process_time()
        result = run(task, options, Budget())
        seconds += time.process_time() - start
        evaluations += result.requested
        evaluated += result.evaluated
    reference, wanted = REFERENCE[kind, name]
    rate = evaluations / seconds
    return [
        f"{kind}, {name}",
        f"{reference:g}",
        f"{wanted}x",
        f"{rate:.0f}",
        f"{rate / reference:.0f}x",
        f"{evaluated / seconds:.0f}",
        f"{evaluated / seconds / reference:.0f}x",
    ]


def short_run(labels: str, device: str, steps: int, **model_options: object) -> Loop:
    """A training that is measured after its first ten steps, and then again at its end."""
    dataset = load_dataset(labels)
    options = TrainOptions(
        device=device, model_options=model_options, steps=10 + steps, evaluate_every=10
    )
    return prepare(dataset, dataset.select([0]), options)


def step_seconds(labels: str, device: str, steps: int, **model_options: object) -> float:
    """Of the loop alone, without evaluations."""
    loop = short_run(labels, device, steps, **model_options)
    clock = time.process_time if device == "cpu" else time.perf_counter
    take(loop, 10)
    start = clock()
    take(loop, steps)
    if device != "cpu":
        torch.cuda.synchronize()
    return (clock() - start) / steps


def take(loop: Loop, steps: int) -> float:
    """Take so many steps; the mean loss of them."""
    loop.totals.zero_()
    for _ in range(steps):
        loop.take_step(loop.source.draw(loop.step))
        loop.step += 1
    return float(loop.totals[0]) / steps


def first_loss(labels: str, device: str, steps: int = 40) -> float:
    """The mean loss of the first steps: a GPU's recorded steps must learn as the core does."""
    return take(short_run(labels, device, steps), steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--labels", help="labels of blocksworld problems with 5 to 16 blocks")
    parser.add_argument("--gpu", action="store_true", help="time the training step on a GPU too")
    parser.add_argument("--problems", type=int, default=3, help="per instance size")
    parser.add_argument("--steps", type=int, default=50)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.labels:
        for activation in ("relu", "sigmoid"):
            seconds = step_seconds(arguments.labels, "cpu", arguments.steps, activation=activation)
            ratio = REFERENCE_STEP / seconds
            print(
                f"training step, {activation}, one core: {seconds:.3f} s, {ratio:.0f}x", flush=True
            )
        if arguments.gpu:
            seconds = step_seconds(arguments.labels, "cuda", arguments.steps)
            print(f"training step, GPU: {1e3 * seconds:.1f} ms", flush=True)
            losses = [first_loss(arguments.labels, device) for device in ("cpu", "cuda")]
            print(
                f"mean loss of 40 steps, CPU and GPU: {losses[0]:.4f}, {losses[1]:.4f}", flush=True
            )
    rows = search_rows(arguments.problems)
    headers = ["model, instance", "published", "wanted", "evaluations/s", "ratio"]
    headers += ["distinct states/s", "ratio"]
    print(markdown_table(headers, rows))


if __name__ == "__main__":
    main()

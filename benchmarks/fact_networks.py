"""How fast networks for one problem are sampled for, trained and evaluated.

    python benchmarks/fact_networks.py SUITES/ferber/hard [--tasks blocks/probBLOCKS-25-2 ...]

By default the first task of each domain by name. The network is the published one: 250 wide, one
residual block. It is evaluated in greedy search from p2, with 16-bit products and in float32, and
h^FF in the same search; the figures are distinct states per CPU second. "Training" is what it
takes to sample 100,000 states with the published settings and to train until two epochs bring
nothing new (or as many epochs as --epochs allows), in CPU seconds. All on one core.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import provenance

from hstar.pddl import parse
from hstar.planning.search import run
from hstar.planning.specification import SearchSpecification
from hstar.planning.task import Task, ground, load_task
from hstar.runtime.resources import Budget
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import ModelFile
from hstar.slots.teachers.backward import attempt_of
from hstar.slots.teachers.regression import sample_walks
from hstar.slots.teachers.teacher import SamplingTask
from hstar.training.dataset import dataset_in_memory
from hstar.training.fit import Lesson, Limits, ModelRow
from hstar.training.fit.mlp import fit_mlp

STATES = 100_000
HEAD = ["task", "int16 evaluated/s", "float32", "h^FF", "int16 / h^FF", "int16 expanded/s"]
HEAD += ["sampling s", "training s", "epochs"]


def first_tasks(suite: Path) -> Iterator[Path]:
    for domain in sorted(path for path in suite.iterdir() if path.is_dir()):
        yield min(path for path in domain.iterdir() if path.is_dir())


def speed(task: Task, options: SearchSpecification, seconds: float) -> tuple[float, float]:
    """Distinct states and expansions per CPU second."""
    start = time.process_time()
    found = run(task, options, Budget.starting_now(seconds, None))
    took = max(time.process_time() - start, 1e-3)
    return found.evaluated / took, found.expanded / took


def measured(folder: Path, seconds: float, epochs: int) -> list[str | float]:
    domain = folder / "domain.pddl"
    problem = parse(domain, folder / "p1.pddl")
    learned_on = ground(problem, keep_constant=True)
    start = time.process_time()
    labels = attempt_of(learned_on, sample_walks(SamplingTask(learned_on, states=STATES)))
    sampled = time.process_time()
    lesson = Lesson(dataset_in_memory([("p1", problem, labels)]))
    published = {"hidden": 250, "width": 250, "learning_rate": 1e-4, "batch": 64, "patience": 2}
    options = {**published, "output": "relu", "init": "torch", "epochs": epochs}
    row = ModelRow("regression", "facts", "mlp", "squared", options=options)
    file = fit_mlp(lesson, row, Limits(Budget()))
    done = time.process_time()
    task = load_task(domain, folder / "p2.pddl")
    speeds = {}
    for precision in ("int16", "float32"):
        model = file.metadata["model"]
        config = {**model["config"], "precision": precision}
        metadata = {**file.metadata, "model": {**model, "config": config}}
        heuristic = LearnedHeuristic(ModelFile(metadata, file.tensors), precision)
        speeds[precision] = speed(task, SearchSpecification(heuristic, "gbfs", cost="one"), seconds)
    speeds["ff"] = speed(task, SearchSpecification("ff", "gbfs", cost="one"), seconds)
    return [
        f"{folder.parent.name}/{folder.name}",
        *(speeds[name][0] for name in ("int16", "float32", "ff")),
        speeds["int16"][0] / speeds["ff"][0],
        speeds["int16"][1],
        sampled - start,
        done - sampled,
        float(len(file.metadata["training"]["curve"])),
    ]


def shown(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--epochs", type=int, default=1000)
    parser.add_argument("--tasks", nargs="*", default=[])
    given = parser.parse_args()
    folders = [given.suite / name for name in given.tasks] or list(first_tasks(given.suite))
    for name, value in provenance.describe_run().items():
        print(f"{name}: {value}")
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    ratios = []
    for folder in folders:
        row = measured(folder, given.seconds, given.epochs)
        ratios.append(float(row[4]))
        print(f"| {' | '.join(map(shown, row))} |", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"\nint16 / h^FF, geometric mean: {mean:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

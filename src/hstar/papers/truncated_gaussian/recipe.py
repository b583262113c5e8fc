"""The experiments of "On Using Admissible Bounds for Learning Forward Search Heuristics"
(Núñez-Molina, Asai, Mesejo and Fernández-Olivares, 2024).

    problems   generated, train / validation / test disjoint
    labels     optimal plans of A* with LM-cut
    models     every variant x seed
    metrics    errors of every model on the test labels
    planning   GBFS with every model on test problems, a limited number of evaluations
    page       the paper's tables with its numbers beside these, figures, claims

Each stage writes files below one directory and skips what is there, so a run that was stopped goes
on where it was.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hstar.bench import BenchOptions, run_bench
from hstar.domains import generate
from hstar.papers.experiment import Say, in_processes, keep_settings, say_nothing
from hstar.papers.truncated_gaussian.scales import DOMAINS, SCALES, Scale
from hstar.papers.truncated_gaussian.variants import DECODINGS, Variant
from hstar.runtime.atomic import write_atomically
from hstar.runtime.progress import Progress
from hstar.teachers import LabelOptions, label

if TYPE_CHECKING:
    import polars as pl

    from hstar.training.dataset import Dataset

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True, slots=True)
class Experiment:
    """Where and how to run. `jobs` processes train, label and plan at once, one thread each."""

    scale: Scale
    directory: Path
    jobs: int = 1
    device: str = "auto"
    seed: int = 0
    say: Say = print

    def problems(self, domain: str, split: str) -> Path:
        return self.directory / "problems" / domain / split

    def labels(self, domain: str, split: str) -> Path:
        return self.directory / "labels" / f"{domain}-{split}.parquet"

    def model(self, domain: str, variant: Variant, seed: int, column: str = "") -> Path:
        """The file of a model; `column` names another decoding of the same network."""
        name = f"{variant.name}-seed{seed}{'-clip' if column == 'N+clip' else ''}.safetensors"
        return self.directory / "models" / domain / name

    def runs(self, domain: str, name: str) -> Path:
        return self.directory / "runs" / domain / f"{name}.parquet"


@dataclass(frozen=True, slots=True)
class Results:
    """The three frames that the tables are made of."""

    metrics: pl.DataFrame
    planning: pl.DataFrame
    curves: pl.DataFrame


def run_experiment(experiment: Experiment) -> Results:
    """All stages but the page. Raises JournalError where the directory holds another one."""
    settings = {"scale": asdict(experiment.scale), "seed": experiment.seed}
    keep_settings(experiment.directory, settings)
    for domain in experiment.scale.domains:
        make_problems(experiment, domain)
    for domain in experiment.scale.domains:
        make_labels(experiment, domain)
    train_models(experiment)
    for domain in experiment.scale.domains:
        plan_with_models(experiment, domain)
    return collect(experiment)


def test_data(experiment: Experiment, domain: str) -> Dataset | None:
    """The labelled test states of a domain; None if no test problem was solved."""
    from hstar.teachers import read_labels
    from hstar.training.dataset import dataset_of

    path = experiment.labels(domain, "test")
    labels = read_labels(path)
    return dataset_of(labels, str(path)) if len(labels.rows) else None


def make_problems(experiment: Experiment, domain: str) -> None:
    asked = experiment.scale.problems[domain]
    for split in SPLITS:
        if (experiment.problems(domain, split) / "manifest.json").is_file():
            continue
        experiment.say(f"generating {domain} {split} problems")
        generate(
            DOMAINS[domain],
            experiment.directory / "problems" / domain,
            [split],
            experiment.seed,
            count=asked[split].count,
            ranges=asked[split].ranges,
        )


def make_labels(experiment: Experiment, domain: str) -> None:
    scale = experiment.scale
    for split in SPLITS:
        output = experiment.labels(domain, split)
        if output.is_file():
            continue
        output.parent.mkdir(parents=True, exist_ok=True)
        experiment.say(f"labelling {domain} {split} problems: A* with LM-cut")
        label(
            experiment.problems(domain, split),
            output,
            LabelOptions(
                time_limit=scale.label_limits[split],
                memory_limit=scale.memory_limit,
                jobs=experiment.jobs,
                # Unsolved test problems stay without labels: replacing them by easier ones would
                # change the set that is planned for.
                retries=0 if split == "test" else scale.label_retries,
            ),
        )


def train_models(experiment: Experiment) -> None:
    """Every variant and seed of every domain, the slowest kind first."""
    scale = experiment.scale
    slowest_first = sorted(scale.variants, key=lambda v: ("hgn", "nlm", "linear").index(v.model))
    wanted = [
        (domain, variant, seed)
        for variant in slowest_first
        for domain in scale.domains
        for seed in scale.seeds
        if not experiment.model(domain, variant, seed).with_suffix(".metrics.json").is_file()
    ]
    if not wanted:
        return
    experiment.say(f"training {len(wanted)} models")
    quiet = replace(experiment, say=say_nothing)
    with Progress("training", len(wanted)) as progress:
        done = in_processes(experiment.jobs, train_one, [(quiet, *item) for item in wanted])
        for count, text in enumerate(done, start=1):
            progress.update(count, text)


def train_one(experiment: Experiment, domain: str, variant: Variant, seed: int) -> str:
    """Train and test one model; returns a line about it."""
    import torch

    from hstar.training.dataset import load_dataset
    from hstar.training.evaluation import evaluate_model
    from hstar.training.options import TrainOptions, default_options
    from hstar.training.train import train

    torch.set_num_threads(1)
    scale = experiment.scale
    training = load_dataset(experiment.labels(domain, "train"))
    if scale.training_problems < len(training.tasks):
        share = 1 - scale.training_problems / len(training.tasks)
        training, _ = training.split(share, seed)
    validation = load_dataset(experiment.labels(domain, "validation"))
    path = experiment.model(domain, variant, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    given = {
        "steps": training_steps(scale, variant.model, len(training)),
        "batch": scale.batch,
        "evaluate_every": scale.evaluate_every,
        "schedule": scale.schedule,
        "device": experiment.device,
        "patience": 0,
    }
    objective = variant.objective
    if not scale.fit_cap and "cap" in objective.__dataclass_fields__:
        objective = replace(objective, cap=None)  # type: ignore[call-arg]
    if variant.model == "nlm":
        given["model_options"] = dict(scale.nlm_options)
        if scale.nlm_weight_decay is not None:
            given["weight_decay"] = scale.nlm_weight_decay
    options = TrainOptions(
        model=variant.model,
        objective=objective,
        seed=seed,
        **{**default_options(variant.model, objective), **given},
    )
    result = train(training, validation, path, options)
    found: dict[str, Any] = {"domain": domain, **asdict(variant), "seed": seed}
    found["seconds"] = round(result.seconds, 1)
    found["curve"] = [(line.step, line["validation_mse"]) for line in result.curve]
    test = test_data(experiment, domain)
    if objective.form != "value" and test is not None:
        found |= asdict(evaluate_model(path, test))
    write_atomically(path.with_suffix(".metrics.json"), json.dumps(found) + "\n")
    error = f"test error {found['mse']:.2f}" if "mse" in found else "ranking"
    return f"{domain} {variant.name}: {error}, {result.seconds:.0f} s"


def training_steps(scale: Scale, model: str, states: int) -> int:
    if model == "nlm" and scale.epochs is not None:
        return math.ceil(scale.epochs * states / scale.batch)
    return scale.steps[model]


def plan_with_models(experiment: Experiment, domain: str) -> None:
    """GBFS on the first test problems, spread over all sizes, with h^FF and every model."""
    scale = experiment.scale
    problems = test_problems(experiment, domain)
    wanted: list[tuple[str, str, int]] = [("ff", "ff", scale.planning["ff"])]
    for variant in scale.variants:
        for seed in scale.seeds:
            for column, decode in DECODINGS[variant.loss].items():
                path = experiment.model(domain, variant, seed, column)
                if not path.is_file():
                    _write_decoding(experiment.model(domain, variant, seed), path, decode)
                wanted.append((path.stem, str(path), scale.planning[variant.model]))
    for name, heuristic, count in wanted:
        output = experiment.runs(domain, name)
        if output.is_file():
            continue
        output.parent.mkdir(parents=True, exist_ok=True)
        experiment.say(f"planning: {domain}, {name}")
        run_bench(
            BenchOptions(
                suites=_spread(problems, count),
                heuristics=[heuristic],
                cost="one",
                max_evaluations=scale.max_evaluations,
                time_limit=None,
                memory_limit=scale.memory_limit,
                jobs=experiment.jobs,
                output=output,
            )
        )


def test_problems(experiment: Experiment, domain: str) -> list[Path]:
    folder = experiment.problems(domain, "test")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return [folder / problem["file"] for problem in manifest["problems"]]


def collect(experiment: Experiment) -> Results:
    """What the files of all stages say, as frames."""
    import polars as pl

    from hstar.training.evaluation import baseline_mse

    metrics: list[dict[str, Any]] = []
    curves: list[dict[str, Any]] = []
    planning: list[dict[str, Any]] = []
    for domain in experiment.scale.domains:
        test = test_data(experiment, domain)
        if test is not None:
            about = {"states": len(test), "problems": len(test.tasks)}
            for name in ("ff", "lmcut"):
                mse = baseline_mse(test, name)
                metrics.append({"domain": domain, "model": name, "seed": -1, "mse": mse, **about})
        runs = experiment.runs(domain, "ff")
        planning += _planning_rows(runs, {"domain": domain, "model": "ff", "variant": "ff"}, -1)
        for variant in experiment.scale.variants:
            for seed in experiment.scale.seeds:
                held = experiment.model(domain, variant, seed).with_suffix(".metrics.json")
                found = json.loads(held.read_text(encoding="utf-8"))
                curve = found.pop("curve")
                found.pop("seconds")
                metrics.append({**found, "nll_clip": None})  # clipping has no likelihood
                kept = {"domain": domain, **asdict(variant)}
                curves += [{**kept, "seed": seed, "step": s, "val_mse": e} for s, e in curve]
                for column in DECODINGS[variant.loss]:
                    path = experiment.model(domain, variant, seed, column)
                    row = {"domain": domain, "variant": column, **asdict(variant)}
                    row.pop("loss")
                    planning += _planning_rows(experiment.runs(domain, path.stem), row, seed)
    return Results(
        *(
            pl.DataFrame(rows, infer_schema_length=None, schema_overrides=_types(rows))
            for rows in (metrics, planning, curves)
        )
    )


def experiment_at(scale: str, directory: str | os.PathLike[str], **options: Any) -> Experiment:
    """The experiment of a named scale. Raises ValueError for an unknown one."""
    if scale not in SCALES:
        raise ValueError(f"unknown scale '{scale}'; choose one of {', '.join(SCALES)}")
    return Experiment(SCALES[scale], Path(directory), **options)


def _write_decoding(source: Path, target: Path, decode: str) -> None:
    """The same network with another way of turning its outputs into a value."""
    from hstar.learned.file import ModelFile, read_model, write_model

    model = read_model(source)
    changed = {**model.metadata["decode"], "name": decode}
    write_model(target, ModelFile({**model.metadata, "decode": changed}, model.tensors))


def _planning_rows(path: Path, fields: dict[str, Any], seed: int) -> list[dict[str, Any]]:
    from hstar.bench import read_runs

    rows = []
    for run in read_runs(path).rows.iter_rows(named=True):
        limit = run["max_evaluations"]
        solved = run["coverage"]
        rows.append(
            {
                **fields,
                "problem": run["problem"],
                "seed": seed,
                "solved": solved,
                "evaluations": run["requested"] if solved else limit,
                "evaluated": run["evaluated"],
                "search_time": run["search_time"],
                "error": run["error"],
            }
        )
    return rows


def _spread(problems: list[Path], count: int) -> list[Path]:
    """Some of the problems, at even distances: they are ordered by size."""
    if count >= len(problems):
        return problems
    return [problems[i * len(problems) // count] for i in range(count)]


def _types(rows: list[dict[str, Any]]) -> dict[str, Any]:
    import polars as pl

    numbers = ("mse", "mse_clip", "nll", "nll_clip", "val_mse", "search_time")
    return {name: pl.Float64 for name in numbers if any(name in row for row in rows)}

"""The experiments of "On Using Admissible Bounds for Learning Forward Search Heuristics"
(Núñez-Molina, Asai, Mesejo and Fernández-Olivares, 2024).

    problems   generated, train / validation / test disjoint
    labels     optimal plans of A* with LM-cut
    models     every variant x seed, with its errors on the test labels
    planning   GBFS with every model on test problems, a limited number of evaluations; beside it
               h^FF with the same limit and the default planner

Each stage writes files below one directory. A run that was stopped makes only what is missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hstar.domains import SPLITS, generate
from hstar.experiments.bench import BenchOptions, read_runs, run_bench, run_default
from hstar.papers import experiment as shared
from hstar.papers.experiment import in_processes, read_part, say_nothing, write_part
from hstar.papers.page import DEFAULT, FF, compare_runs
from hstar.papers.truncated_gaussian.scales import DECODINGS, DOMAINS, OURS, Scale, Variant
from hstar.planning.specification import SearchSpecification
from hstar.runtime.progress import Progress
from hstar.slots.teachers import LabelOptions, label

if TYPE_CHECKING:
    import polars as pl

    from hstar.experiments.report import Comparison
    from hstar.training.dataset import Dataset

LEARNED = "learned (TN)"
Trained = tuple[str, Variant, int]  # domain, variant, seed


@dataclass(frozen=True)
class Experiment(shared.Experiment[Scale]):
    def problems(self, domain: str, split: str) -> Path:
        return self.directory / "problems" / domain / split

    def labels(self, domain: str, split: str) -> Path:
        return self.directory / "labels" / f"{domain}-{split}.parquet"

    def model(self, domain: str, variant: Variant, seed: int, column: str = "") -> Path:
        """The file of a model; `column` names another decoding of the same network."""
        name = f"{variant.name}-seed{seed}{'-clip' if column == 'N+clip' else ''}.safetensors"
        return self.directory / "models" / domain / name

    def measured(self, trained: Trained) -> Path:
        """Errors and learning curve of a model."""
        return self.model(*trained).with_suffix(".metrics.json")

    def runs(self, domain: str, name: str) -> Path:
        return self.directory / "runs" / domain / f"{name}.parquet"

    def trained(self) -> list[Trained]:
        """Every variant and seed of every domain."""
        scale = self.scale
        return [(d, v, seed) for d in scale.domains for v in scale.variants for seed in scale.seeds]


@dataclass(frozen=True, slots=True)
class Results:
    """The frames that the paper's tables are made of (see `measured`), and the proposed
    configuration beside h^FF and the default planner."""

    metrics: pl.DataFrame
    planning: pl.DataFrame
    curves: pl.DataFrame
    compared: Comparison


def run_experiment(experiment: Experiment) -> Results:
    """All stages but the page. Raises JournalError where the directory holds another one."""
    experiment.keep_settings()
    for stage in (make_problems, make_labels):
        for domain in experiment.scale.domains:
            for split in SPLITS:
                stage(experiment, domain, split)
    train_models(experiment)
    for domain in experiment.scale.domains:
        plan_with_models(experiment, domain)
    return collect(experiment)


def test_data(experiment: Experiment, domain: str) -> Dataset | None:
    """The labelled test states of a domain; None if no test problem was solved."""
    from hstar.slots.teachers import read_labels
    from hstar.training.dataset import dataset_of

    path = experiment.labels(domain, "test")
    labels = read_labels(path)
    return dataset_of(labels, str(path)) if len(labels.rows) else None


def make_problems(experiment: Experiment, domain: str, split: str) -> None:
    folder = experiment.problems(domain, split).parent
    if (folder / split / "manifest.json").is_file():
        return
    experiment.say(f"generating {domain} {split} problems")
    asked = experiment.scale.problems[domain][split]
    generate(DOMAINS[domain], folder, [split], experiment.seed, **asked)


def make_labels(experiment: Experiment, domain: str, split: str) -> None:
    output = experiment.labels(domain, split)
    if not experiment.begins(output, f"labelling {domain} {split} problems: A* with LM-cut"):
        return
    options = LabelOptions(
        time_limit=experiment.scale.label_limits[split],
        memory_limit=experiment.scale.memory_limit,
        jobs=experiment.jobs,
        # Unsolved test problems stay without labels: replacing them by easier ones would change
        # the set that is planned for.
        retries=0 if split == "test" else experiment.scale.label_retries,
    )
    label(experiment.problems(domain, split), output, options)


def train_models(experiment: Experiment) -> None:
    """What is not trained yet, the slowest kind first."""
    slowest_first = ("hgn", "nlm", "linear")
    missing = [one for one in experiment.trained() if not experiment.measured(one).is_file()]
    if not missing:
        return
    missing.sort(key=lambda one: slowest_first.index(one[1].model))
    experiment.say(f"training {len(missing)} models")
    quiet = replace(experiment, say=say_nothing)
    with Progress("training", len(missing)) as progress:
        done = in_processes(experiment.jobs, train_one, [(quiet, one) for one in missing])
        for count, text in enumerate(done, start=1):
            progress.update(count, text)


def train_one(experiment: Experiment, trained: Trained) -> str:
    """Train and test one model; returns a line about it."""
    import torch

    from hstar.training.dataset import load_dataset
    from hstar.training.evaluation import evaluate_model
    from hstar.training.options import TrainOptions, default_options
    from hstar.training.train import train

    torch.set_num_threads(1)
    domain, variant, seed = trained
    scale, objective = experiment.scale, variant.objective
    training = load_dataset(experiment.labels(domain, "train"))
    if scale.training_problems < len(training.tasks):
        training, _ = training.split(1 - scale.training_problems / len(training.tasks), seed)
    validation = load_dataset(experiment.labels(domain, "validation"))
    path = experiment.model(*trained)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not scale.fit_cap and "cap" in objective.__dataclass_fields__:
        objective = replace(objective, cap=None)  # type: ignore[call-arg]
    given = default_options(variant.model, objective)
    given |= {name: getattr(scale, name) for name in ("batch", "evaluate_every", "schedule")}
    if variant.model == "nlm":
        given["model_options"] = dict(scale.nlm_options)
        if scale.nlm_weight_decay is not None:
            given["weight_decay"] = scale.nlm_weight_decay
    if variant.model == "nlm" and scale.epochs is not None:
        given["steps"] = math.ceil(scale.epochs * len(training) / scale.batch)
    else:
        given["steps"] = scale.steps[variant.model]
    given |= {"device": experiment.device, "patience": 0, "seed": seed}
    options = TrainOptions(model=variant.model, objective=objective, **given)
    result = train(training, validation, path, options)
    found: dict[str, Any] = {"domain": domain, **asdict(variant), "seed": seed}
    found["seconds"] = round(result.seconds, 1)
    found["curve"] = [(line.step, line["validation_mse"]) for line in result.curve]
    test = test_data(experiment, domain)
    if objective.form != "value" and test is not None:
        found |= asdict(evaluate_model(path, test))
    write_part(experiment.measured(trained), found)
    error = f"test error {found['mse']:.2f}" if "mse" in found else "ranking"
    return f"{domain} {variant.name}: {error}, {result.seconds:.0f} s"


def plan_with_models(experiment: Experiment, domain: str) -> None:
    """On the first test problems, spread over all sizes, with h^FF, the default planner, and every
    model."""
    scale, folder = experiment.scale, experiment.problems(domain, "test")
    problems = [folder / one["file"] for one in read_part(folder / "manifest.json")["problems"]]
    for name, heuristic, count in _planners(experiment, domain):
        output = experiment.runs(domain, name)
        if not experiment.begins(output, f"planning: {domain}, {name}"):
            continue
        options = BenchOptions(
            suites=_spread(problems, count),
            heuristics=[heuristic],
            memory_limit=scale.memory_limit,
            jobs=experiment.jobs,
            output=output,
        )
        if name == "default":
            run_default(options)
        else:
            limit = scale.max_evaluations
            counted = SearchSpecification(cost="one", max_evaluations=limit)
            run_bench(replace(options, shared=counted, time_limit=None))


def _planners(experiment: Experiment, domain: str) -> Iterator[tuple[str, str, int]]:
    """Name, heuristic and number of problems."""
    planning = experiment.scale.planning
    for name in ("ff", "default"):
        yield name, name, planning["ff"]
    for trained in experiment.trained():
        if trained[0] == domain:
            for column, decode in DECODINGS[trained[1].loss].items():
                path = experiment.model(*trained, column)
                if not path.is_file():
                    _write_decoding(experiment.model(*trained), path, decode)
                yield path.stem, str(path), planning[trained[1].model]


def collect(experiment: Experiment) -> Results:
    """What the files of all stages say."""
    from hstar.training.evaluation import baseline_mse

    metrics: list[dict[str, Any]] = []
    curves: list[dict[str, Any]] = []
    planning: list[dict[str, Any]] = []
    for domain in experiment.scale.domains:
        about: dict[str, Any] = {"domain": domain, "model": "ff", "variant": "ff"}
        planning += _planning_rows(experiment.runs(domain, "ff"), about, -1)
        test = test_data(experiment, domain)
        if test is not None:
            sizes = {"states": len(test), "problems": len(test.tasks)}
            for name in ("ff", "lmcut"):
                row = {"domain": domain, "model": name, "seed": -1, "mse": baseline_mse(test, name)}
                metrics.append(row | sizes)
    for domain, variant, seed in experiment.trained():
        found = read_part(experiment.measured((domain, variant, seed)))
        curve = found.pop("curve")
        found.pop("seconds")
        metrics.append({**found, "nll_clip": None})  # clipping has no likelihood
        about = {"domain": domain, **asdict(variant)}
        curves += [{**about, "seed": seed, "step": step, "val_mse": mse} for step, mse in curve]
        del about["loss"]
        for column in DECODINGS[variant.loss]:
            runs = experiment.runs(domain, experiment.model(domain, variant, seed, column).stem)
            planning += _planning_rows(runs, {**about, "variant": column}, seed)
    compared = compare_runs(_compared(experiment))
    return Results(_frame(metrics), _frame(planning), _frame(curves), compared)


def _compared(experiment: Experiment) -> Iterator[tuple[str, str, Path]]:
    """The proposed configuration, h^FF and the default planner."""
    for domain in experiment.scale.domains:
        for seed in experiment.scale.seeds:
            name = LEARNED if len(experiment.scale.seeds) == 1 else f"{LEARNED}, seed {seed}"
            yield domain, name, experiment.runs(domain, experiment.model(domain, OURS, seed).stem)
        yield domain, FF, experiment.runs(domain, "ff")
        yield domain, DEFAULT, experiment.runs(domain, "default")


def _write_decoding(source: Path, target: Path, decode: str) -> None:
    """The same network with another way of turning its outputs into a value."""
    from hstar.slots.model_file import ModelFile, read_model, write_model

    model = read_model(source)
    changed = {**model.metadata["decode"], "name": decode}
    write_model(target, ModelFile({**model.metadata, "decode": changed}, model.tensors))


def _planning_rows(path: Path, about: dict[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    for run in read_runs(path).rows.iter_rows(named=True):
        solved = run["coverage"]
        yield {
            **about,
            "problem": run["problem"],
            "seed": seed,
            "solved": solved,
            "evaluations": run["requested"] if solved else run["max_evaluations"],
            **{name: run[name] for name in ("evaluated", "search_time", "error")},
        }


def _spread(problems: list[Path], count: int) -> list[Path]:
    """Some of the problems, at even distances: they are ordered by size."""
    if count >= len(problems):
        return problems
    return [problems[i * len(problems) // count] for i in range(count)]


def _frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    import polars as pl

    numbers = ("mse", "mse_clip", "nll", "nll_clip", "val_mse", "search_time")
    types = {name: pl.Float64 for name in numbers if any(name in row for row in rows)}
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides=types)

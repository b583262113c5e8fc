"""The experiments of "On Using Admissible Bounds for Learning Forward Search Heuristics"
(Núñez-Molina, Asai, Mesejo and Fernández-Olivares, 2024).

    problems   generated, train / validation / test disjoint
    labels     optimal plans of A* with LM-cut
    models     every variant x seed, with its errors on the test labels
    planning   GBFS with every model on test problems, a limited number of evaluations; beside it
               h^FF with the same limit and the default planner
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hstar.domains import SPLITS, generate
from hstar.experiments.bench import BenchOptions, read_runs, run_bench, run_default
from hstar.experiments.report import COLOURS, Table, cactus, panels, scatter
from hstar.experiments.study import (
    BASELINE,
    DEFAULT_LABEL,
    Piece,
    Report,
    Row,
    StudyRun,
    claims_table,
    compare_runs,
    named_scale,
    planning_table,
    read_part,
    spread,
)
from hstar.papers.truncated_gaussian.scales import (
    DECODINGS,
    DOMAINS,
    OURS,
    SCALES,
    GaussianScale,
    Variant,
)
from hstar.papers.truncated_gaussian.tables import (
    TABLES,
    Numbers,
    build_table,
    claims,
)
from hstar.planning import SearchSpecification
from hstar.slots import ModelFile, read_model, write_model
from hstar.slots.teachers import LabelOptions, label, read_labels

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hstar.experiments.report import Comparison
    from hstar.training import Dataset

LEARNED = "learned (TN)"
INTRODUCTION = (
    "A heuristic is learned from optimal plans of small problems and used in greedy best-first "
    "search on larger ones. The learned value is the mean of a Gaussian truncated below at an "
    "admissible heuristic (Núñez-Molina, Asai, Mesejo and Fernández-Olivares, 2024). Training, "
    "validation and test problems are disjoint."
)
ABOUT_LABELS = (
    "Errors are means over the test problems that A* with LM-cut solved within the limits, the "
    "easier ones; the paper's own set is larger because its limit was 30 minutes. Planning uses "
    "all chosen test problems, solved optimally or not."
)
LOSSES = {"N": "Gaussian", "TN": "truncated Gaussian"}
EXPLAINED = ("solved", "unsolvable", "gave up")
SLOWEST_FIRST = ("hgn", "nlm", "linear")


@dataclass(frozen=True, slots=True)
class GaussianResults:
    """A row for each training (with its curve) or baseline, and for each search; and the proposed
    configuration beside h^FF and the default planner."""

    metrics: list[Row]
    planning: list[Row]
    compared: Comparison

    def frames(self) -> dict[str, pl.DataFrame]:
        """For Parquet files."""
        curves = []
        for row in self.metrics:
            about = {name: row.get(name) for name in ("domain", *asdict(OURS), "seed")}
            points = row.get("curve", ())
            curves += [{**about, "step": step, "val_mse": mse} for step, mse in points]
        metrics = [{k: v for k, v in row.items() if k != "curve"} for row in self.metrics]
        rows = {"metrics": metrics, "planning": self.planning, "curves": curves}
        return {name: _frame(own) for name, own in rows.items()}


class TruncatedGaussians(StudyRun[GaussianScale, GaussianResults]):
    @classmethod
    def scale_of(cls, name: str, **options: Any) -> GaussianScale:
        return named_scale(SCALES, name).changed(**options)

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

    def trainings(self) -> list[Piece]:
        """Every variant and seed of every domain: errors and learning curve of each model."""
        train = self.quiet().train_one
        asked = product(self.scale.domains, self.scale.variants, self.scale.seeds)
        return [(self.model(*one).with_suffix(".metrics.json"), train, one) for one in asked]

    def execute(self) -> GaussianResults:
        self.keep_settings()
        for stage in (self.make_problems, self.make_labels):
            for domain in self.scale.domains:
                for split in SPLITS:
                    stage(domain, split)
        slowest = sorted(self.trainings(), key=lambda one: SLOWEST_FIRST.index(one[2][1].model))
        self.carry_out("training", slowest)
        for domain in self.scale.domains:
            self.plan_with_models(domain)
        results = self.collect()
        for name, frame in results.frames().items():
            with (self.directory / f"{name}.parquet").open("wb") as file:
                frame.write_parquet(file)
        return results

    def test_data(self, domain: str) -> Dataset | None:
        """The labelled test states of a domain; None if no test problem was solved."""
        from hstar.training import dataset_of

        path = self.labels(domain, "test")
        labels = read_labels(path)
        return dataset_of(labels, str(path)) if len(labels.rows) else None

    def make_problems(self, domain: str, split: str) -> None:
        folder = self.problems(domain, split).parent
        if not (folder / split / "manifest.json").is_file():
            self.say(f"generating {domain} {split} problems")
            asked = self.scale.asked(domain, split)
            generate(DOMAINS[domain], folder, [split], self.seed, **asked)

    def make_labels(self, domain: str, split: str) -> None:
        output = self.labels(domain, split)
        if not self.begins(output, f"labelling {domain} {split} problems: A* with LM-cut"):
            return
        options = LabelOptions(
            time_limit=self.scale.label_limits[split],
            memory_limit=self.scale.memory_limit,
            jobs=self.jobs,
            # Unsolved test problems stay without labels: replacing them by easier ones would change
            # the set that is planned for.
            retries=0 if split == "test" else self.scale.label_retries,
        )
        label(self.problems(domain, split), output, options)

    def train_one(self, domain: str, variant: Variant, seed: int) -> Row:
        """Train and test one model."""
        import torch

        from hstar.training import (
            TrainOptions,
            default_options,
            evaluate_model,
            load_dataset,
            prepare,
        )

        torch.set_num_threads(1)
        scale, objective = self.scale, variant.objective
        training = load_dataset(self.labels(domain, "train"))
        if scale.training_problems < len(training.tasks):
            training, _ = training.split(1 - scale.training_problems / len(training.tasks), seed)
        validation = load_dataset(self.labels(domain, "validation"))
        path = self.model(domain, variant, seed)
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
        given |= {"device": self.device, "patience": 0, "seed": seed}
        options = TrainOptions(model=variant.model, objective=objective, **given)
        prepared = prepare(training, validation, options)
        prepared.run(path)
        found: Row = {"domain": domain, **asdict(variant), "seed": seed}
        found["seconds"] = round(prepared.loop.seconds, 1)
        found["curve"] = [(line.step, line["validation_mse"]) for line in prepared.loop.curve]
        test = self.test_data(domain)
        if objective.form != "value" and test is not None:
            found |= asdict(evaluate_model(path, test))
        return found

    def plan_with_models(self, domain: str) -> None:
        """On the first test problems, spread over all sizes, with h^FF, the default planner, and
        every model."""
        scale, folder = self.scale, self.problems(domain, "test")
        problems = [folder / one["file"] for one in read_part(folder / "manifest.json")["problems"]]
        for name, heuristic in self._planners(domain):
            output = self.runs(domain, name)
            if not self.begins(output, f"planning: {domain}, {name}"):
                continue
            options = BenchOptions(
                suites=spread(problems, scale.planning),
                heuristics=[heuristic],
                memory_limit=scale.memory_limit,
                jobs=self.jobs,
                output=output,
            )
            if name == "default":
                run_default(options)
            else:
                counted = SearchSpecification(cost="one", max_evaluations=scale.max_evaluations)
                run_bench(replace(options, shared=counted, time_limit=None))

    def _planners(self, domain: str) -> Iterator[tuple[str, str]]:
        """Name and heuristic."""
        for name in ("ff", "default"):
            yield name, name
        for *_, (of, variant, seed) in self.trainings():
            for column, decode in DECODINGS[variant.loss].items() if of == domain else ():
                path = self.model(of, variant, seed, column)
                if not path.is_file():
                    _write_decoding(self.model(of, variant, seed), path, decode)
                yield path.stem, str(path)

    def collect(self) -> GaussianResults:
        """What the files of all stages say."""
        from hstar.training import baseline_mse

        metrics: list[Row] = []
        planning: list[Row] = []
        for domain in self.scale.domains:
            about: Row = {"domain": domain, "model": "ff", "variant": "ff"}
            planning += _planning_rows(self.runs(domain, "ff"), about, -1)
            test = self.test_data(domain)
            if test is not None:
                sizes = {"states": len(test), "problems": len(test.tasks)}
                for name in ("ff", "lmcut"):
                    row = {"domain": domain, "model": name, "seed": -1}
                    metrics.append({**row, "mse": baseline_mse(test, name), **sizes})
        for part, _, (domain, variant, seed) in self.trainings():
            found = read_part(part)
            del found["seconds"]
            metrics.append({**found, "nll_clip": None})  # clipping has no likelihood
            about = {"domain": domain, **asdict(variant)}
            del about["loss"]
            for column in DECODINGS[variant.loss]:
                runs = self.runs(domain, self.model(domain, variant, seed, column).stem)
                planning += _planning_rows(runs, {**about, "variant": column}, seed)
        return GaussianResults(metrics, planning, compare_runs(self._compared()))

    def _compared(self) -> Iterator[tuple[str, str, Path]]:
        """The proposed configuration, h^FF and the default planner."""
        for domain in self.scale.domains:
            for seed in self.scale.seeds if OURS in self.scale.variants else ():
                name = LEARNED if len(self.scale.seeds) == 1 else f"{LEARNED}, seed {seed}"
                yield domain, name, self.runs(domain, self.model(domain, OURS, seed).stem)
            yield domain, BASELINE, self.runs(domain, "ff")
            yield domain, DEFAULT_LABEL, self.runs(domain, "default")

    def report(self, results: GaussianResults, scale: str) -> Report:
        training = [f"{model} {steps} steps" for model, steps in self.scale.steps.items()]
        if self.scale.epochs is not None:
            training.append(f"nlm {self.scale.epochs} passes over its data")
        facts = [
            f"{len(self.scale.seeds)} seed(s), training: {', '.join(training)}",
            f"search: at most {self.scale.max_evaluations} evaluations, but not for the default "
            "planner; in the paper's tables unsolved problems count as that",
        ]
        rows, learned = results.compared.rows, results.compared.labels[0]
        better = "Each test problem; below the diagonal the learned heuristic is better."
        worth = planning_table(results.compared)
        figures = [
            (cactus(rows), "Problems solved within a number of evaluations."),
            (cactus(rows, "search_time"), "Problems solved within a number of seconds."),
        ]
        if learned != BASELINE:
            figures.append((scatter(rows, BASELINE, learned), better))
        failures = [
            f"{row['domain']} {row['problem']}, {row['model']} {row['variant']}: {row['error']}"
            for row in results.planning
            if row["error"] not in EXPLAINED
        ]
        counted = "They count as unsolved above; their numbers say nothing about a heuristic."
        measured = Numbers.of(results.metrics, results.planning)
        curves = (figure2(measured), "Figure 2 of the paper: error on validation problems.")
        tables = [build_table(number, measured) for number in TABLES]
        return Report(
            f"Learned heuristics: truncated Gaussians ({scale})",
            INTRODUCTION,
            facts,
            {
                "What the learned heuristic is worth": [worth, tuple(figures)],
                "Runs that failed": [counted, failures] if failures else (),
                "Learning": [(curves,)],
                "The paper's tables": [
                    ABOUT_LABELS,
                    self.labelled(results),
                    *(table for table in tables if table.measured),
                ],
                "The paper's claims": [claims_table(claims(measured))],
            },
            worth.text(),
        )

    def labelled(self, results: GaussianResults) -> Table:
        """How many test problems have labels, and how many are planned for by each kind of
        model."""
        labelled = {row["domain"]: row for row in results.metrics if row["model"] == "ff"}
        rows = []
        for domain in self.scale.domains:
            own = labelled.get(domain, {})
            rows.append([domain, *(str(own.get(name, 0)) for name in ("problems", "states"))])
        models = [*dict.fromkeys(variant.model for variant in self.scale.variants), "ff"]
        planned = ", ".join(f"{self.scale.planning} ({model})" for model in models)
        headers = ["domain", "labelled test problems", "their states"]
        return Table("labelled", "Test problems", headers, [*rows, ["planned for", planned, ""]])


def figure2(measured: Numbers) -> Figure:
    """Validation error during training: a panel per domain that there are curves for (all four
    where there are none)."""
    present = {domain for domain, _ in measured.curves}
    domains = [domain for domain in DOMAINS if domain in present] or list(DOMAINS)

    def draw(axes: Axes, domain: str) -> None:
        for (variant, name), colour in zip(LOSSES.items(), COLOURS[1::-1], strict=True):
            for i, curve in enumerate(measured.curves_of(domain, variant)):
                label = name if i == 0 else None
                axes.plot(
                    *zip(*sorted(curve.items()), strict=True),
                    color=colour,
                    linewidth=0.9,
                    alpha=0.8,
                    label=label,
                )
        axes.set(title=domain, yscale="log", xlabel="training step", ylabel="validation MSE")

    return panels(domains, draw, 2, (3.6, 2.6), 8)


def _write_decoding(source: Path, target: Path, decode: str) -> None:
    """The same network with another way of turning its outputs into a value."""
    model = read_model(source)
    changed = {**model.metadata["decode"], "name": decode}
    write_model(target, ModelFile({**model.metadata, "decode": changed}, model.tensors))


def _planning_rows(path: Path, about: Row, seed: int) -> Iterator[Row]:
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


def _frame(rows: list[Row]) -> pl.DataFrame:
    import polars as pl

    numbers = ("mse", "mse_clip", "nll", "nll_clip", "val_mse", "search_time")
    types = {name: pl.Float64 for name in numbers if any(name in row for row in rows)}
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides=types)

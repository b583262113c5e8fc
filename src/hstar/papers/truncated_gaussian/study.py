"""The experiments of "On Using Admissible Bounds for Learning Forward Search Heuristics"
(Núñez-Molina, Asai, Mesejo and Fernández-Olivares, 2024).

    problems   generated, train / validation / test disjoint
    labels     optimal plans of A* with LM-cut
    models     every variant x seed, with its errors on the test labels
    searches   GBFS with every model on test problems, a limited number of evaluations; beside it
               h^FF with the same limit and the default planner
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hstar.domains import SPLITS, generate
from hstar.experiments.report import COLOURS, Table, cactus, draw_line, panels, scatter
from hstar.experiments.study import (
    BASELINE,
    DEFAULT,
    DEFAULT_LABEL,
    Claim,
    Entry,
    LearnerTask,
    Learnt,
    Piece,
    Report,
    Row,
    Subject,
    TrialResults,
    TrialRun,
    TrialStudy,
    Wording,
    choose,
    compare_searches,
    planning_table,
    read_part,
)
from hstar.papers.truncated_gaussian.scales import (
    COLUMNS,
    DOMAINS,
    FF,
    GROUPS,
    OURS,
    SCALES,
    VARIANTS,
    GaussianScale,
    Variant,
)
from hstar.papers.truncated_gaussian.tables import (
    TABLES,
    Measured,
    build_table,
    claims,
    compared_table,
)
from hstar.runtime import write_atomically
from hstar.slots import read_model, write_model
from hstar.slots.teachers import LabelOptions, label, read_labels
from hstar.training import (
    Dataset,
    Loop,
    TrainOptions,
    baseline_mse,
    checkpoint_of,
    choose_device,
    dataset_of,
    default_options,
    evaluate_model,
    load_dataset,
    prepare,
    train_together,
)

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Data = tuple[Dataset, Dataset]  # to train and to validate on

LEARNED = "learned (TN)"
WORDS = Wording(__file__)
LOSSES = {"N": "Gaussian", "TN": "truncated Gaussian"}
SLOWEST_FIRST = ("hgn", "nlm", "linear")


class TruncatedGaussians(TrialRun):
    scale: GaussianScale
    scales = SCALES
    columns = COLUMNS

    @classmethod
    def scale_of(cls, name: str, columns: Sequence[str] = (), **options: Any) -> GaussianScale:
        """Columns are those of scales.toml, or names of variants."""
        choose("domain", DOMAINS, options.get("domains", ()))
        named = [column for one in choose("column", GROUPS, columns) for column in GROUPS[one]]
        options["columns"] = [*dict.fromkeys(named), FF, DEFAULT] if named else ()
        scale: GaussianScale = super().scale_of(name, **options)  # type: ignore[assignment]
        return scale

    @classmethod
    def kind_of(cls, scale: GaussianScale, study: TrialStudy, learner: str) -> str:
        kind = VARIANTS[learner].model if learner else ""
        return "" if kind == "nlm" and scale.epochs else kind

    def labels(self, domain: str, split: str) -> Path:
        return self.directory / "labels" / f"{domain}-{split}.parquet"

    def execute(self) -> TrialResults:
        self.keep_settings()
        self.say(self.scale.cost)
        for stage in (self.make_problems, self.make_labels):
            for domain in self.scale.domains:
                for split in SPLITS:
                    stage(domain, split)
        results = TrialResults(self.scale.studies, {}, {})
        (study,) = self.scale.studies
        self.learn_and_search(study, list(map(self.subject, self.scale.domains)), results)
        for name, rows in self.rows(results).items():
            with (self.directory / f"{name}.parquet").open("wb") as file:
                _frame(rows).write_parquet(file)
        return results

    def make_problems(self, domain: str, split: str) -> None:
        folder = self.directory / "problems" / domain
        if not (folder / split / "manifest.json").is_file():
            self.say(f"generating {domain} {split} problems")
            # None stands for the paper's own numbers and sizes.
            counts = self.scale.problems.get("counts", [None] * len(SPLITS))
            count = counts[SPLITS.index(split)]
            if split == "test":
                count = self.scale.test_counts.get(domain, count)
            small, large = self.scale.problems.get(domain, [None, None])
            ranges = large if split == "test" else small
            asked: dict[str, Any] = {"count": count, "ranges": ranges, "apart": self.scale.apart}
            generate(DOMAINS[domain], folder, [split], self.seed, **asked)

    def make_labels(self, domain: str, split: str) -> None:
        output = self.labels(domain, split)
        if not self.begins(output, f"labelling {domain} {split} problems: A* with LM-cut"):
            return
        options = LabelOptions(
            time_limit=self.scale.label_limits[split],
            memory_limit=self.scale.memory_limit,
            jobs=self.jobs,
            # Where unsolved test problems are replaced, the replacements are planned for, too.
            retries=self.scale.test_retries if split == "test" else self.scale.label_retries,
        )
        label(self.directory / "problems" / domain / split, output, options)

    def subject(self, domain: str) -> Subject:
        """Labels are learned from, so the training problems are not listed."""
        folder = self.directory / "problems" / domain / "test"
        if self.scale.test_retries:
            files = self.replaced(domain, folder)
        else:
            files = [
                folder / one["file"] for one in read_part(folder / "manifest.json")["problems"]
            ]
        return Subject(domain, domain, (), tuple(Entry(str(path)) for path in files))

    def replaced(self, domain: str, folder: Path) -> list[Path]:
        """The test problems as they were labelled, in files of their own."""
        target = folder.with_name("test-labelled")
        target.mkdir(exist_ok=True)
        given = (folder / "domain.pddl").read_text(encoding="utf-8")
        write_atomically(target / "domain.pddl", given)
        files = []
        for one in read_labels(self.labels(domain, "test")).problems:
            files.append(target / Path(one.problem).name)
            write_atomically(files[-1], one.pddl)
        return files

    def problems(self, study: TrialStudy, subject: Subject) -> Sequence[Entry]:
        """The first test problems, spread over all sizes."""
        return subject.chosen(study.tests, sizes=1)

    def trainings(self, study: TrialStudy, subjects: Sequence[Subject]) -> list[Piece]:
        every = super().trainings(study, subjects)
        return sorted(every, key=lambda piece: SLOWEST_FIRST.index(VARIANTS[piece[2][2]].model))

    def test_data(self, domain: str) -> Dataset | None:
        """The labelled test states of a domain; None if no test problem was solved."""
        path = self.labels(domain, "test")
        labels = read_labels(path)
        return dataset_of(labels, str(path)) if len(labels.rows) else None

    def training_data(self, domain: str) -> tuple[Dataset, Dataset]:
        """All problems to train on, and those to validate on."""
        training = load_dataset(self.labels(domain, "train"))
        validation = load_dataset(self.labels(domain, "validation"))
        if self.scale.trains_on_validation:
            share = len(validation.tasks) / len(training.tasks)
            validation = training.split(min(share, 1.0), self.seed)[1]
        return training, validation

    def drawn(self, training: Dataset, seed: int) -> Dataset:
        """As many problems as the scale says."""
        wanted = self.scale.training_problems
        if wanted >= len(training.tasks):
            return training
        return training.split(1 - wanted / len(training.tasks), seed)[0]

    def prepared(self, learner: str, study: TrialStudy, data: Data, seed: int, device: str) -> Loop:
        training, validation = data
        given = self.training_options(VARIANTS[learner], study, len(training))
        options = TrainOptions(device=device, seed=seed, patience=0, **given)
        return prepare(training, validation, options)

    def learn_and_search(
        self, study: TrialStudy, subjects: Sequence[Subject], results: TrialResults
    ) -> None:
        if choose_device(self.device).type == "cuda":
            for subject in subjects:
                self.learn_together(study, subject)
        super().learn_and_search(study, subjects, results)

    def learn_together(self, study: TrialStudy, subject: Subject) -> None:
        """Train all NLMs of a domain in few programs. Their checkpoints are left to `learn`, which
        finds nothing more to do than to write and judge the models."""
        missing = [
            (part.with_suffix(".partial"), learner, self.seed + seed)
            for part, _, (_, _, learner, seed) in self.trainings(study, [subject])
            if VARIANTS[learner].model == "nlm" and not part.is_file()
        ]
        if not missing:
            return
        self.say(f"training {len(missing)} networks of {subject.domain} together")
        training, validation = self.training_data(subject.domain)
        seeds = {seed for _, _, seed in missing}
        drawn = {seed: (self.drawn(training, seed), validation) for seed in seeds}
        loops, checkpoints = [], []
        for scratch, learner, seed in missing:
            scratch.mkdir(parents=True, exist_ok=True)
            loops.append(self.prepared(learner, study, drawn[seed], seed, self.device))
            checkpoints.append(checkpoint_of(scratch / "model"))
        train_together(loops, checkpoints)

    def learn(self, learner: str, lesson: LearnerTask) -> Learnt:
        torch.set_num_threads(1)
        domain, path = lesson.subject.domain, lesson.scratch / "model"
        training, validation = self.training_data(domain)
        data = self.drawn(training, lesson.seed), validation
        device = "cpu" if checkpoint_of(path).is_file() else lesson.device
        loop = self.prepared(learner, lesson.study, data, lesson.seed, device)
        loop.write(path)
        facts: Row = {"seconds": round(loop.seconds, 1)}
        test = self.test_data(domain)
        if loop.metric == "mse":
            facts["curve"] = [(line["step"], line["validation_mse"]) for line in loop.curve]
            if test is not None:
                facts |= evaluate_model(path, test)
                # The likelihood is that of the likeliest weights, as in the paper's Table 8.
                likeliest = lesson.scratch / "likeliest"
                write_model(likeliest, loop.model_file("loss"))
                facts["nll"] = evaluate_model(likeliest, test)["nll"]
        return Learnt(read_model(path), facts)

    def training_options(self, variant: Variant, study: TrialStudy, states: int) -> dict[str, Any]:
        scale, model = self.scale, variant.model
        objective = variant.objective(scale.fixed_sigma)
        if not scale.fit_cap and "cap" in objective.__dataclass_fields__:
            objective = replace(objective, cap=None)  # type: ignore[call-arg]
        given = {**default_options(model, objective), "model": model, "objective": objective}
        given |= {**scale.training, **scale.models.get(model, {})}
        if model == "nlm" and scale.epochs is not None:
            return {**given, "steps": math.ceil(scale.epochs * states / TrainOptions.batch)}
        return {**given, "steps": study.steps[model]}

    def rows(self, results: TrialResults) -> dict[str, list[Row]]:
        """A row for each training or baseline, for each search, and for each point of a curve."""
        (study,) = results.studies
        metrics: list[Row] = []
        curves: list[Row] = []
        for domain in self.scale.domains:
            test = self.test_data(domain)
            if test is not None:
                sizes = {"states": len(test), "problems": len(test.tasks)}
                sizes["of"] = len(self.subject(domain).test)
                for name in ("ff", "lmcut"):
                    about = {"domain": domain, "seed": -1, "model": name}
                    metrics.append({**about, "mse": baseline_mse(test, name), **sizes})
        for one in results.trainings[study.name]:
            about = {"domain": one["domain"], **asdict(VARIANTS[one["learner"]])}
            about["seed"] = one["seed"]
            metrics.append(about | {name: one.get(name) for name in ("mse", "mse_clip", "nll")})
            curves += [{**about, "step": n, "val_mse": mse} for n, mse in one.get("curve", ())]
        planning = [
            {
                **_configuration(run["column"]),
                **{name: run[name] for name in ("domain", "problem", "seed", "solved")},
                "evaluations": run["requested"] if run["solved"] else study.max_evaluations,
                **{name: run.get(name) for name in ("evaluated", "search_time")},
                "error": run["status"],
            }
            for run in results.searches[study.name]
            if run["column"] != DEFAULT
        ]
        return {"metrics": metrics, "planning": planning, "curves": curves}

    def report(self, results: TrialResults, scale: str) -> Report:
        (study,), rows = results.studies, self.rows(results)
        measured = Measured.of(**rows)
        training = [f"{model} {steps} steps" for model, steps in study.steps.items()]
        if self.scale.epochs is not None:
            training.append(f"nlm {self.scale.epochs} passes over its data")
        facts = [
            f"{len(study.seeds)} seed(s), training: {', '.join(training)}",
            WORDS.text("limits", study=study),
        ]
        names = {OURS: LEARNED, FF: BASELINE, DEFAULT: DEFAULT_LABEL}
        if len(study.seeds) > 1:
            names[OURS] += ", seed {seed}"
        runs = [run for run in results.searches[study.name] if run["column"] in names]
        compared = compare_searches((names[run["column"]].format(**run), run) for run in runs)
        learned, worth = compared.labels[0], planning_table(compared)
        figures = [
            (cactus(compared.rows), WORDS.text("evaluations")),
            (cactus(compared.rows, "search_time"), WORDS.text("seconds")),
        ]
        if learned != BASELINE:
            figures.append((scatter(compared.rows, BASELINE, learned), WORDS.text("pairs")))
        failed, shown = results.failures(), self.scale.domains
        tables = [build_table(number, measured) for number in TABLES]
        return WORDS.report(
            scale,
            facts,
            {
                "What the learned heuristic is worth": [worth, tuple(figures)],
                "Runs that failed": [WORDS.text("failed"), failed] if failed else (),
                "Learning": [((figure2(measured), WORDS.text("curves")),)],
                "The paper's tables": [
                    WORDS.text("labels"),
                    self.labelled(study, rows["metrics"]),
                    *(table for table in tables if table.measured or len(shown) == len(DOMAINS)),
                ],
                "TN against N and N+clip": [WORDS.text("compared"), compared_table(measured)],
                "The paper's claims": [Claim.table(claims(measured))],
            },
            worth.text(),
        )

    def labelled(self, study: TrialStudy, metrics: Sequence[Row]) -> Table:
        """How many test problems have labels, and how many are planned for by each kind of
        model."""
        found = {row["domain"]: row for row in metrics if row["model"] == "ff"}
        rows = [
            [domain, *(str(found.get(domain, {}).get(n, 0)) for n in ("of", "problems", "states"))]
            for domain in self.scale.domains
        ]
        planned = ", ".join(f"{study.tests} ({model})" for model in [*models_of(study), "ff"])
        limit = f"{self.scale.label_limits['test']:g} s a problem"
        return WORDS.table("labelled", [*rows, ["planned for", planned, limit, ""]])


def models_of(study: TrialStudy) -> dict[str, None]:
    """The kinds of models, in order."""
    learners = (COLUMNS[column].learner for column in study.columns)
    return dict.fromkeys(VARIANTS[learner].model for learner in learners if learner)


def _configuration(column: str) -> Row:
    learner = COLUMNS[column].learner
    about = asdict(VARIANTS[learner]) if learner else {"model": column}
    about.pop("loss", None)
    return {**about, "variant": column.rpartition(" ")[2].partition(":")[0]}


def figure2(measured: Measured) -> Figure:
    """Validation error during training: a panel per domain that there are curves for (all four
    where there are none)."""
    present = {domain for domain, _ in measured.curves}
    domains = [domain for domain in DOMAINS if domain in present] or list(DOMAINS)

    def draw(axes: Axes, domain: str) -> None:
        for (variant, name), colour in zip(LOSSES.items(), COLOURS[1::-1], strict=True):
            look: dict[str, Any] = {"color": colour, "linewidth": 0.9, "alpha": 0.8}
            for i, curve in enumerate(measured.curves_of(domain, variant)):
                draw_line(axes, sorted(curve.items()), label=name if i == 0 else None, **look)
        axes.set(title=domain, yscale="log", xlabel="training step", ylabel="validation MSE")

    return panels(domains, draw, 2, (3.6, 2.6), 8)


def _frame(rows: list[Row]) -> pl.DataFrame:
    import polars as pl

    numbers = ("mse", "mse_clip", "nll", "val_mse", "search_time")
    types = {name: pl.Float64 for name in numbers if any(name in row for row in rows)}
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides=types)

"""Papers that learn from some problems and search others: the two stages, and their numbers.

    models     every learner and seed, on the problems of a subject that are learned from
    searches   every column on its other problems, within limits of time and evaluations

A subject is a domain or a task; a column of the tables is a way to search, mostly with what a
learner made. Of each training and each search there is a row.
"""

from __future__ import annotations

import shutil
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from hstar.experiments.bench import EXPLAINED
from hstar.experiments.bench.peers import run_peer
from hstar.experiments.study.published import Spread, build, choose, read_toml
from hstar.experiments.study.run import EXPECTED, Piece, Row, StudyRun, read_part, search_within
from hstar.experiments.study.subjects import Entry, Generated, Subject
from hstar.learning import mean_ratio
from hstar.pddl import InputFileError, find_domain
from hstar.planning import DEFAULT_PLANNER, SearchResult, SearchSpecification, plan_problem
from hstar.runtime import Budget, OutOfResources
from hstar.slots import LearnedHeuristic, ModelFile, read_model, write_model

Scale = TypeVar("Scale", bound="TrialScale")
DEFAULT = "plan"  # the column of what 'hstar plan' runs; only time limits it


@dataclass(frozen=True, slots=True)
class Column:
    """A way to search: with what `learner` makes, one for each seed if it `has_seeds`, and beside
    it the heuristics that have a queue of their own. An empty `way` is the search that the network
    names, alone; without a heuristic the default planner. `base` is the column that it is measured
    against. With `plans` it plans by a function of its own."""

    learner: str | None = None
    beside: tuple[str, ...] = ()
    way: Mapping[str, Any] = field(default_factory=lambda: {"algorithm": "gbfs"})
    decode: str | None = None
    base: str | None = None
    has_seeds: bool = False
    plans: Callable[[Path, TrialStudy, Budget], SearchResult] | None = None

    def search(self, model: Path, max_evaluations: int | None) -> SearchSpecification:
        """How to search with the model file of the learner, if any. Raises ModelFileError."""
        heuristics: list[str | LearnedHeuristic] = list(self.beside)
        way = {"cost": "one", **self.way}
        if self.learner is not None:
            learned = LearnedHeuristic(read_model(model), str(model), self.decode)
            heuristics.insert(0, learned)
            named = {n: v for n, v in learned.search.items() if n != "alternating"}
            if not self.way and named.get("algorithm") != "default":
                way = named
        if not heuristics:
            return DEFAULT_PLANNER
        return SearchSpecification(heuristics, max_evaluations=max_evaluations, **way)


@dataclass(frozen=True, slots=True)
class TrialStudy:
    """Columns that run on the same problems; scales.toml says what the fields mean. Without
    `max_evaluations` only time limits a search."""

    name: str
    columns: tuple[str, ...]
    limit: float
    seeds: tuple[int, ...] = (0,)
    tests: int = 0
    states: tuple[int, ...] = ()
    suite: str = ""
    tasks: str = "all"
    steps: Mapping[str, int] = field(default_factory=dict)
    learn: float = 0.0
    label_limit: float = 0.0
    limits: Mapping[str, float] = field(default_factory=dict)
    max_evaluations: int | None = None


@dataclass(frozen=True, slots=True)
class TrialScale:
    """Memory in bytes. Without `domains` it has all there are."""

    memory_limit: int
    studies: tuple[TrialStudy, ...] = ()
    generated: Mapping[str, Generated] = field(default_factory=dict)
    domains: tuple[str, ...] = ()

    def changed(self, columns: Sequence[str] = (), **options: Any) -> Self:
        """With these options in all studies. A study keeps those of the `columns` that it has, the
        first takes those that none has; studies without any are left out. A limit is that of all
        columns. Raises ValueError."""
        if "limit" in options:
            options["limits"] = {}
        domains = tuple(options.pop("domains", self.domains))
        known = {name for one in self.studies for name in one.columns}
        steps, studies = options.pop("steps", {}), []
        for number, one in enumerate(self.studies):
            own = [n for n in columns if n in one.columns or (n not in known and number == 0)]
            if own or not columns:
                kept = dict(one.steps)
                if kept or not one.learn:  # a study that time ends has no steps
                    kept |= dict.fromkeys(kept, steps) if isinstance(steps, int) else steps
                chosen = tuple(own or one.columns)
                studies.append(replace(one, **options, columns=chosen, steps=kept))
        return replace(self, studies=tuple(studies), domains=domains)

    def select(self, folders: Mapping[str, Path]) -> dict[str, Path]:
        """The chosen domains. Raises ValueError for one that there is not."""
        names = choose("domain", folders, self.domains) or folders
        return {name: folders[name] for name in names}


def read_scales(
    module: str, kind: type[Scale], groups: Mapping[str, Sequence[str]] | None = None
) -> dict[str, Scale]:
    """Those of scales.toml, its tables with studies. A scale or a study has what the one that it is
    `like` has and it does not say itself. Studies name groups of columns or single ones."""
    scales = read_toml(module, "scales.toml")
    named = {**scales.pop("columns", {}), **(groups or {})}
    found = {}
    for name, own in scales.items():
        held = {**scales.get(own.pop("like", ""), {}), **own}
        if "studies" not in held:
            continue
        for number, study in enumerate(held["studies"]):
            study = {**scales.get(study.pop("like", ""), held)["studies"][number], **study}
            columns = (named.get(column, [column]) for column in study["columns"])
            study["columns"] = [column for group in columns for column in group]
            held["studies"][number] = study
        scales[name] = held
        found[name] = build(kind, held)
    return found


def read_columns(module: str) -> dict[str, Column]:
    """Those that scales.toml defines under `ways`."""
    ways = read_toml(module, "scales.toml")["ways"]
    return {name: build(Column, held) for name, held in ways.items()}


@dataclass(frozen=True, slots=True)
class LearnerTask:
    """What a learner gets. `scratch` is a folder for files that it needs on the way."""

    subject: Subject
    study: TrialStudy
    seed: int
    budget: Budget
    scratch: Path
    device: str


@dataclass(frozen=True, slots=True)
class Learnt:
    """A model file, if there is one. `facts` are for the tables, such as steps of training."""

    file: ModelFile | None
    facts: Row


# Raises ValueError for problems that it cannot learn on, and OutOfResources.
Learner = Callable[[LearnerTask], Learnt]


@dataclass(frozen=True, slots=True)
class TrialResults:
    """By the name of a study, a row for each training and for each search."""

    studies: tuple[TrialStudy, ...]
    trainings: dict[str, list[Row]]
    searches: dict[str, list[Row]]
    problems: dict[str, Subject] = field(default_factory=dict)

    def failures(self) -> list[str]:
        """Trainings and searches that ended in a way that says nothing about the method."""
        found = [
            f"{name}: {row['domain']} {row['learner']} (seed {row['seed']}) was not learned: "
            f"{row['error']}"
            for name, rows in self.trainings.items()
            for row in rows
            if row["error"]
        ]
        return found + [
            f"{name}: {row['domain']} {row['problem']} {row['column']}: {row['status']}"
            for name, rows in self.searches.items()
            for row in rows
            if row["status"] not in EXPLAINED
        ]


@dataclass(frozen=True)
class TrialRun(StudyRun[TrialScale, TrialResults]):
    """A paper of learners and columns. Where a learner failed, its columns are not searched with
    unless `counts_failures`: then nothing is solved."""

    columns: ClassVar[Mapping[str, Column]]
    learners: ClassVar[Mapping[str, Learner]]
    counts_failures: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in self.peers:
            if name in self.columns:
                raise ValueError(f"the name {name} is that of a planner of ours; choose another")

    @classmethod
    def scale_of(cls, name: str, **options: Any) -> TrialScale:
        choose("column", cls.columns, options.get("columns", ()))
        scale = super().scale_of(name, **options)
        for study in scale.studies:
            for column in study.columns:
                kind = cls.kind_of(scale, study, cls.columns[column].learner or "")
                if kind and kind not in study.steps:
                    raise ValueError(f"the column {column} needs steps; add --steps {kind}=NUMBER")
        return scale

    @classmethod
    def kind_of(cls, scale: Any, study: TrialStudy, learner: str) -> str:
        """What --steps calls a learner, if a number of steps ends it."""
        return ""

    @abstractmethod
    def problems(self, study: TrialStudy, subject: Subject) -> Sequence[Entry]:
        """What is to be searched, once all learners have learned."""

    @property
    def resources(self) -> str:
        memory = self.scale.memory_limit / 2**30
        return f"{self.jobs} runs at a time, {memory:g} GiB for each"

    def model(self, study: TrialStudy, subject: str, learner: str, seed: int) -> Path:
        """What a learner says about itself; the model file lies beside."""
        return self.directory / "models" / study.name / subject / f"{learner} {seed}.json"

    def search(self, study: TrialStudy, subject: str, entry: Entry, column: str, seed: int) -> Path:
        folder = self.directory / "searches" / study.name / subject / entry.path.stem
        return folder / f"{column} {seed}.json"

    def learners_of(self, study: TrialStudy) -> list[str]:
        found = (self.columns[name].learner for name in study.columns)
        return list(dict.fromkeys(name for name in found if name is not None))

    def seeds_of(self, study: TrialStudy, column: str) -> tuple[int, ...]:
        """Columns that draw nothing at random, or that the paper ran once, have one seed."""
        many = column in self.columns and self.columns[column].has_seeds
        return study.seeds if many else study.seeds[:1]

    def trainings(self, study: TrialStudy, subjects: Sequence[Subject]) -> list[Piece]:
        """Of every learner, with the seeds of the columns that search with what it learns."""
        pieces: list[Piece] = []
        learn = self.quiet().learn_once
        for subject in subjects:
            for learner in self.learners_of(study):
                users = [name for name in study.columns if self.columns[name].learner == learner]
                for seed in max((self.seeds_of(study, name) for name in users), key=len):
                    part = self.model(study, subject.name, learner, seed)
                    pieces.append((part, learn, (study, subject, learner, seed)))
        return pieces

    def learn_and_search(
        self, study: TrialStudy, subjects: Sequence[Subject], results: TrialResults
    ) -> None:
        """Both stages of a study; adds their rows to the results. Runs of another planner of the
        same name are made again."""
        for name, command in self.peers.items():
            for part in self.directory.glob(f"searches/{study.name}/**/{name} *.json"):
                if read_part(part).get("command") != command:
                    part.unlink()
        learned = self.carry_out(f"{study.name}: learning", self.trainings(study, subjects))
        results.trainings[study.name] = learned
        failed = {(r["subject"], r["learner"], r["seed"]) for r in learned if r["error"]}
        searches: list[Piece] = []
        search = self.quiet().search_once
        for subject in subjects:
            entries = self.problems(study, subject)
            for column in [*study.columns, *self.peers]:
                learner = None if column in self.peers else self.columns[column].learner
                for seed in self.seeds_of(study, column):
                    if (subject.name, learner, seed) in failed and not self.counts_failures:
                        continue
                    for entry in entries:
                        part = self.search(study, subject.name, entry, column, seed)
                        searches.append((part, search, (study, subject, entry, column, seed)))
        results.searches[study.name] = self.carry_out(f"{study.name}: searching", searches)

    def learn(self, learner: str, lesson: LearnerTask) -> Learnt:
        return self.learners[learner](lesson)

    def learn_once(self, study: TrialStudy, subject: Subject, learner: str, seed: int) -> Row:
        """Learn and keep the model; says how it went."""
        part = self.model(study, subject.name, learner, seed)
        scratch = part.with_suffix(".partial")
        scratch.mkdir(parents=True, exist_ok=True)
        row: Row = {"domain": subject.domain, "subject": subject.name, "learner": learner}
        row |= {"seed": seed, "error": ""}
        budget = Budget(memory_bytes=self.scale.memory_limit)
        lesson = LearnerTask(subject, study, self.seed + seed, budget, scratch, self.device)
        start, facts = time.monotonic(), {}
        try:
            with budget.enforced():
                learned = self.learn(learner, lesson)
        except (OutOfResources, InputFileError, ValueError, FloatingPointError) as error:
            if isinstance(error, OutOfResources) and error.status not in EXPECTED:
                raise
            row["error"] = str(error)
        else:
            facts = learned.facts
            if learned.file is not None:
                write_model(part.with_suffix(".safetensors"), learned.file)
        shutil.rmtree(scratch)
        return {**row, "seconds": time.monotonic() - start, **facts}

    def search_once(
        self, study: TrialStudy, subject: Subject, entry: Entry, column: str, seed: int
    ) -> Row:
        """Plan for one problem; reading and grounding count."""
        path, limit = entry.path, study.limits.get(column, study.limit)
        row: Row = {"domain": subject.domain, "subject": subject.name, "problem": path.stem}
        row |= {"objects": entry.objects, "column": column, "seed": seed}
        row |= {"seconds": limit, "requested": 0}
        if column in self.peers:
            return row | run_peer(self.peers[column], find_domain(path), path, limit)
        chosen = self.columns[column]
        part = self.model(study, subject.name, chosen.learner or "", seed)
        model = part.with_suffix(".safetensors")
        if chosen.learner is not None and not model.is_file():
            return row | {"solved": False, "status": "no network"}

        def search(budget: Budget) -> SearchResult:
            if chosen.plans is not None:
                return chosen.plans(path, study, budget)
            problem = entry.problem()
            return plan_problem(problem, chosen.search(model, study.max_evaluations), budget)

        try:
            row |= search_within(limit, self.scale.memory_limit, search)
        except (InputFileError, ValueError) as error:  # a network that cannot read the problem
            row |= {"solved": False, "status": str(error)}
        return row


class Searches:
    """The searches of a study, by domain and column. Unsolved problems count as the limit."""

    def __init__(self, rows: Iterable[Row], limit: int | None = None) -> None:
        self.limit = limit
        self.by_cell: dict[tuple[str, str], list[Row]] = {}
        for row in rows:
            self.by_cell.setdefault((row["domain"], row["column"]), []).append(row)

    @property
    def domains(self) -> list[str]:
        return list(dict.fromkeys(domain for domain, _ in self.by_cell))

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(column for _, column in self.by_cell))

    def rows(self, domain: str, column: str) -> list[Row]:
        return self.by_cell.get((domain, column), [])

    def tests(self, domain: str, column: str) -> int:
        return len({(row["subject"], row["problem"]) for row in self.rows(domain, column)})

    def solved(self, domain: str, column: str) -> Spread | None:
        """How many problems each seed solved."""
        rows = self.rows(domain, column)
        seeds = sorted({row["seed"] for row in rows})
        if not seeds:
            return None
        return Spread.of([sum(r["solved"] for r in rows if r["seed"] == seed) for seed in seeds])

    def share(self, domain: str, column: str) -> Spread | None:
        solved, tests = self.solved(domain, column), self.tests(domain, column)
        return None if solved is None else Spread.of([value / tests for value in solved.values])

    def cost(self, row: Row) -> float:
        """Evaluations of a search."""
        return float(row["requested"] if row["solved"] or self.limit is None else self.limit)

    def effort(self, domain: str, column: str, base: str) -> float | None:
        """The geometric mean of evaluations, as a ratio to those of another column on the same
        problems."""
        theirs = {row["problem"]: self.cost(row) for row in self.rows(domain, base)}
        rows = [row for row in self.rows(domain, column) if row["problem"] in theirs]
        return mean_ratio([(self.cost(row), theirs[row["problem"]]) for row in rows], 1.0)

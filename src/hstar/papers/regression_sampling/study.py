"""The experiment of "Sampling from Pre-Images to Learn Heuristic Functions for Classical Planning"
(O'Toole, Ramirez, Lipovetzky and Pearce, 2022), with every second counted.

    tasks      one problem and other initial states of it, generated or from a suite
    models     every learner, the same time for each; learners see p1 only
    searches   every column on the other initial states, the same limit for each

A state that a learner trained on or tried is not planned for. Coverage is that of a sample of
tasks and states, so it has an interval, and what lies within chance is called so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar.experiments.bench import FAILED, INVALID, SuiteError
from hstar.experiments.report import Cell, Table, number_text
from hstar.experiments.study import (
    DEFAULT,
    Claim,
    Entry,
    Report,
    Searches,
    Spread,
    Subject,
    TrialResults,
    TrialRun,
    TrialScale,
    TrialStudy,
    Wording,
    make_task,
    read_part,
    read_rows,
    read_scales,
    read_toml,
)
from hstar.learning import mean_ratio
from hstar.papers.regression_sampling.learners import COLUMNS, GRID, HSTAR, LEARNERS

GENERATED = "generated"  # the suite that needs no folder
SCALES = read_scales(__file__, TrialScale, {"grid": list(GRID)})
HELD = read_toml(__file__, "published.toml")
PAPER: list[str] = HELD["columns"]
PRINTED = read_rows(PAPER, HELD["coverage"])
AVERAGES = dict(zip(PAPER, HELD["average"], strict=True))
TRAINING = dict(zip(PAPER, HELD["training"], strict=False))
MODERATE: dict[str, str] = HELD["moderate"]
PAPER_SUITE = "hard"
DRAWS = 2000  # of tasks, for intervals
INTERVAL = (2.5, 97.5)  # percentiles
WORDS = Wording(__file__)


class RegressionSampling(TrialRun):
    """`suite` is a folder with the folders that studies name."""

    scales = SCALES
    columns = COLUMNS
    learners = LEARNERS
    counts_failures = True

    def execute(self) -> TrialResults:
        studies = self.scale.studies
        tasks = {study.name: self.find_tasks(study) for study in studies}
        self.keep_settings()
        for study in studies:
            self.say(self.cost(study, [path for _, path in tasks[study.name]]))
        results = TrialResults(studies, {}, {})
        for study in studies:
            for domain, path in tasks[study.name]:
                if not path.is_dir():
                    self.say(f"generating a {domain} problem")
                    asked = self.scale.generated[domain]
                    make_task(path, asked, max(study.states) - 1, self.seed)
            subjects = [Subject.of_task(*task, study.states) for task in tasks[study.name]]
            self.learn_and_search(study, subjects, results)
        return results

    def find_tasks(self, study: TrialStudy) -> list[tuple[str, Path]]:
        """The domains and folders of a study's tasks in order. Raises SuiteError."""
        if study.suite == GENERATED:
            folders = {name: self.directory / "tasks" / name for name in self.scale.generated}
            return [(name, folder / "task") for name, folder in self.scale.select(folders).items()]
        if self.suite is None:
            raise SuiteError("this scale plans for given tasks; name their folder with --suite", "")
        suite = self.suite / study.suite
        folders = self.scale.select({path.name: path for path in sorted(suite.glob("*/"))})
        found = []
        for name, folder in folders.items():
            tasks = sorted(path for path in folder.iterdir() if (path / "p1.pddl").is_file())
            if study.tasks == "ends":
                tasks = list(dict.fromkeys([*tasks[:1], *tasks[-1:]]))
            found += [(name.partition("-")[0], path) for path in tasks]
        if not found:
            message = "there are no folders DOMAIN/TASK with domain.pddl and p1.pddl"
            raise SuiteError(message, str(suite))
        return found

    def cost(self, study: TrialStudy, tasks: Sequence[Path]) -> str:
        """What a study takes at most; generated tasks are not there yet and have all states."""
        states = [sum((t / f"p{n}.pddl").is_file() for n in study.states) for t in tasks]
        searched = sum(states) or len(tasks) * len(study.states)
        searches = searched * (len(study.columns) + len(self.peers))
        seconds = len(tasks) * len(self.learners_of(study)) * study.learn + searches * study.limit
        hours = f"{seconds / 3600:.1f}"
        return WORDS.text("cost", study=study, tasks=len(tasks), searched=searched, hours=hours)

    def problems(self, study: TrialStudy, subject: Subject) -> Sequence[Entry]:
        """The states that no learner of the study used."""
        used: set[str] = set()
        for learner in self.learners_of(study):
            part = read_part(self.model(study, subject.name, learner, study.seeds[0]))
            used |= set(part.get("used", ()))
        return [entry for entry in subject.test if entry.path.stem not in used]

    def report(self, results: TrialResults, scale: str) -> Report:
        study = results.studies[0]  # the one that Table 1 is about
        facts = [
            WORDS.text("study", study=one, states=", ".join(f"p{state}" for state in one.states))
            for one in results.studies
        ]
        facts.append(f"{self.resources} of ours")
        facts += [WORDS.text("peer", name=name, peer=given) for name, given in self.peers.items()]
        statuses = [row["status"] for rows in results.searches.values() for row in rows]
        invalid, failed = (statuses.count(status) for status in (INVALID, FAILED))
        facts.append(WORDS.text("wrong", invalid=invalid, failed=failed))
        return WORDS.report(
            scale,
            facts,
            {
                "Tables": all_tables(results),
                "Claims": [Claim.table(claims(results), WORDS.text("about", study=study))],
            },
            "\n\n".join(coverage_table(results, one).text() for one in results.studies),
        )


def percent(found: Searches, domain: str, column: str) -> float | None:
    share = found.share(domain, column)
    return None if share is None else 100 * share.mean


def mean_of_domains(found: Searches, column: str) -> float | None:
    """The mean of the domains' percentages, as the paper has it."""
    shares = [percent(found, domain, column) for domain in found.domains]
    known = [share for share in shares if share is not None]
    return sum(known) / len(known) if known else None


def resampled_means(found: Searches) -> dict[str, NDArray[np.float64]]:
    """By column, what `mean_of_domains` is if of each domain as many tasks are drawn as it has,
    with replacement and with all their states, DRAWS times. All columns get the same tasks."""
    sums = {column: np.zeros(DRAWS) for column in found.columns}
    draws = np.random.default_rng(0)
    for domain in found.domains:
        tasks = sorted({row["subject"] for row in found.rows(domain, found.columns[0])})
        drawn = draws.integers(0, len(tasks), (DRAWS, len(tasks)))
        for column, total in sums.items():
            counts = np.zeros((len(tasks), 2))  # solved, all
            for row in found.rows(domain, column):
                counts[tasks.index(row["subject"])] += row["solved"], 1
            solved, states = counts[drawn].sum(axis=1).T
            total += 100 * solved / states / len(found.domains)
    return sums


def interval_text(draws: NDArray[np.float64]) -> str:
    low, high = np.percentile(draws, INTERVAL)
    return f"{low:.1f}-{high:.1f}"


def of_paper(column: str) -> str:
    """What the paper calls a column of which there is one as in its text and one as in its code."""
    return column.partition(" (")[0]


def claims(results: TrialResults) -> list[Claim]:
    """Verdicts by the means of the domains, ours and the paper's: of the first study, or of the one
    that a claim is about. Ours are sure if the interval of their difference lies on one side of 0.
    """
    studies = {one.name: results.searches[one.name] for one in results.studies}
    means = {name: resampled_means(Searches(rows)) for name, rows in studies.items()}
    first = results.studies[0].name

    def shown(mean: float | None, digits: int = 1) -> Spread | None:
        return None if mean is None else Spread(mean, shown=f"{mean:.{digits}f}")

    def sources(about: str) -> Any:
        study = about or first
        if study not in studies:
            return None
        found = Searches(studies[study])

        def ours(metric: str, _domain: str, column: str) -> Spread | None:
            return None if metric == "hours" else shown(mean_of_domains(found, column))

        def theirs(metric: str, _domain: str, column: str) -> Spread | None:
            if metric == "hours":
                return shown(TRAINING.get(of_paper(column)), 2)
            return shown(AVERAGES.get(of_paper(column)))

        return (ours, [""]), (theirs, [""])

    def sure(left: str, right: str) -> bool:
        of = next((one for one in means.values() if {left, right} <= one.keys()), None)
        if of is None:
            return True
        low, high = np.percentile(of[left] - of[right], INTERVAL)
        return bool(low > 0 or high < 0)

    return Claim.judged(__file__, sources, sure=sure)


def coverage_table(results: TrialResults, study: TrialStudy) -> Table:
    """Table 1: solved states in percent by domain, and how long learning took. The paper's numbers
    are shown beside those of its own tasks only."""
    is_paper = study.suite == PAPER_SUITE
    found = Searches(results.searches[study.name])
    columns = found.columns
    lines: list[list[Cell | str]] = []
    for domain in found.domains:
        shares = [percent(found, domain, column) for column in columns]
        row = PRINTED.get(domain, {}) if is_paper else {}
        values = [row.get(of_paper(column)) for column in columns]
        printed = [None if value is None else value.mean for value in values]
        count = str(len(found.rows(domain, columns[0])))
        lines.append([domain, count, *_cells(shares, printed)])
    means = [mean_of_domains(found, column) for column in columns]
    averages = [AVERAGES.get(of_paper(column)) if is_paper else None for column in columns]
    lines.append(["mean of the domains", "", *_cells(means, averages)])
    intervals = map(interval_text, resampled_means(found).values())
    lines.append(["its interval", "", *intervals])
    hours = (_training(results, study, column) for column in columns)
    lines.append(["learning, hours a task", "", *hours])
    below = f" {WORDS.text('of_paper')}" if is_paper else ""
    return WORDS.table("coverage", lines, columns, study=study, below=below)


def grid_table(results: TrialResults, study: TrialStudy) -> Table:
    """The settings of the grid that were run, with their means, the best first."""
    found = Searches(results.searches[study.name])
    means = resampled_means(found)
    known = [(mean_of_domains(found, name) or 0.0, name) for name in found.columns if name in GRID]
    lines = []
    for mean, name in sorted(known, reverse=True):
        values = map(str, asdict(GRID[name]).values())
        lines.append([*values, f"{mean:.1f}", interval_text(means[name]), MODERATE.get(name, "")])
    return WORDS.table("grid", lines, study=study)


def _cells(ours: Sequence[float | None], printed: Sequence[float | None]) -> list[Cell]:
    best = max((share for share in ours if share is not None), default=None)
    return [
        Cell(
            number_text(share, 1),
            bold=share is not None and share == best and share > 0,
            below="" if paper is None else f"{paper:g}",
        )
        for share, paper in zip(ours, printed, strict=True)
    ]


def _training(results: TrialResults, study: TrialStudy, column: str) -> Cell:
    learner = COLUMNS[column].learner if column in COLUMNS else None
    rows = results.trainings[study.name]
    own = [row["seconds"] for row in rows if row["learner"] == learner]
    text = f"{sum(own) / len(own) / 3600:.4f}" if own else ""
    printed = TRAINING.get(of_paper(column)) if study.suite == PAPER_SUITE else None
    return Cell(text, below="" if printed is None else f"{printed:g}")


def together_table(results: TrialResults, study: TrialStudy) -> Table:
    """The planner that learns and the network alone, state by state against the default planner."""
    by_state: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for row in results.searches[study.name]:
        by_state.setdefault((row["subject"], row["problem"]), {})[row["column"]] = row
    lines: list[list[Cell | str]] = []
    for column in Searches(results.searches[study.name]).columns:
        if column == DEFAULT:
            continue
        pairs = [(s[column], s[DEFAULT]) for s in by_state.values() if DEFAULT in s]
        both = [(a, b) for a, b in pairs if a["solved"] and b["solved"]]
        counts = [
            sum(a["solved"] for a, _ in pairs),
            sum(a["solved"] and not b["solved"] for a, b in pairs),
            sum(b["solved"] and not a["solved"] for a, b in pairs),
        ]
        measures = ([(a[name], b[name]) for a, b in both] for name in ("seconds", "length"))
        ratios = (mean_ratio(pairs, 1e-3) for pairs in measures)
        lines.append([column, *map(str, counts), *(number_text(ratio, 2) for ratio in ratios)])
    return WORDS.table("default", lines, study=study, states=len(by_state))


def break_even_table(results: TrialResults, study: TrialStudy) -> Table:
    """After how many initial states of a task learning has paid, if it does."""
    lines: list[list[Cell | str]] = []
    for network in results.trainings[study.name]:
        if network["learner"] != HSTAR:
            continue
        spent: tuple[list[float], list[float]] = [], []
        for row in results.searches[study.name]:
            if row["subject"] == network["subject"] and row["column"] in ("learn", DEFAULT):
                seconds = row["seconds"] if row["solved"] else study.limit
                spent[row["column"] == DEFAULT].append(seconds)
        if not spent[0]:
            continue
        learned, default = (sum(one) / len(one) for one in spent)
        count = network["seconds"] / (default - learned) if default > learned else math.inf
        after = str(math.ceil(count)) if math.isfinite(count) else "never"
        texts = [f"{value:.2f}" for value in (network["seconds"], learned, default)]
        said = "use it" if network.get("pays") else "keep the default"
        lines.append([network["subject"], *texts, after, said])
    return WORDS.table("break-even", lines, study=study)


def all_tables(results: TrialResults) -> list[Table]:
    tables = []
    for study in results.studies:
        is_grid = GRID.keys() & study.columns
        tables.append((grid_table if is_grid else coverage_table)(results, study))
        if DEFAULT in study.columns:
            tables.append(together_table(results, study))
        if {"learn", DEFAULT} <= set(study.columns):
            tables.append(break_even_table(results, study))
    return tables

"""The experiments of "Reinforcement Learning for Classical Planning: Viewing Heuristics as Dense
Reward Generators" (Gehring, Asai, Chitnis, Silver, Kaelbling, Sohrabi and Katz, ICAPS 2022).

    problems   generated or given, smaller ones to train and larger ones to test with
    models     every learner and seed, on the training problems
    searches   every column on the test problems, a limited number of evaluations
    domains    those of appendix A.7: does learning work on them at all?
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hstar.domains import generate
from hstar.experiments.bench import SuiteError
from hstar.experiments.report import COLOURS, Figures, draw_line, panels, scatter
from hstar.experiments.study import (
    SPLITS,
    Claim,
    Entry,
    Report,
    Searches,
    Subject,
    TrialResults,
    TrialRun,
    TrialScale,
    TrialStudy,
    compare_searches,
    read_scales,
)
from hstar.papers.reward_shaping.learners import (
    ABLATION_OF,
    APPENDIX,
    BASES,
    BESIDE_BASE,
    COLUMNS,
    LEARNERS,
    OWN,
    OWN_PRESET,
    PAPER,
    PRINTED,
    SHAPED,
)
from hstar.papers.reward_shaping.tables import (
    COMPATIBLE,
    WORDS,
    WORKS,
    all_claims,
    all_tables,
    appendix,
    as_run,
    searches_of,
    trainings_of,
)
from hstar.pddl import find_problems

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCALES = read_scales(__file__, TrialScale, {"variants": list(ABLATION_OF)})
SHAPE = (4, (2.8, 2.3), 6)  # panels in a row, size, size of letters
GRID = 100  # steps at which cumulative goals are drawn


class RewardShaping(TrialRun):
    """`suite` is a folder of domains: DOMAIN/train and DOMAIN/test, or for the domains of appendix
    A.7 DOMAIN with its problems."""

    scales = SCALES
    columns = COLUMNS
    learners = LEARNERS

    @classmethod
    def kind_of(cls, scale: TrialScale, study: TrialStudy, learner: str) -> str:
        is_own = ABLATION_OF.get(learner, {}).get("preset") == OWN_PRESET
        is_of_paper = learner in (*SHAPED, APPENDIX, *ABLATION_OF) and not is_own
        kind = "paper" if is_of_paper else "own" if is_own else learner
        return kind if study.steps else ""

    def execute(self) -> TrialResults:
        """Raises SuiteError and PddlError for the problems, too."""
        folders, compatible = self.find_folders()
        self.keep_settings()
        problems = {name: self.read(name, folder) for name, folder in folders.items()}
        kept = [one for one in self.scale.studies if one.name != APPENDIX or compatible]
        results = TrialResults(tuple(kept), {}, {}, problems)
        for study in kept:
            subjects = list(problems.values())
            if study.name == APPENDIX:
                subjects = [Subject.of_first(*one, study.tests) for one in compatible.items()]
            self.learn_and_search(study, subjects, results)
        return results

    def read(self, domain: str, folder: Path) -> Subject:
        """Problems of a domain, generated if the folder is that of the run. No problem is in both
        splits, up to the names of objects."""
        part = self.directory / "problems" / f"{domain}.json"
        is_ours = folder.is_relative_to(self.directory)
        if self.begins(part, f"reading problems of {domain}") and is_ours:
            wanted = self.scale.generated[domain]
            for split, count in zip(SPLITS, wanted.counts, strict=True):
                if not (folder / split).is_dir():
                    ranges = getattr(wanted, split)
                    generate(wanted.domain, folder, [split], self.seed, count=count, ranges=ranges)
        return Subject.read(domain, folder, part)

    def find_folders(self) -> tuple[dict[str, Path], dict[str, Path]]:
        """The folders of domains to train and test with, and those of appendix A.7. Raises
        SuiteError if the scale needs some that there are not."""
        scale, suite = self.scale, self.suite
        names = {study.name for study in scale.studies}
        is_paper = names != {APPENDIX}
        given, compatible = {}, {}
        if suite is None:
            given = {name: self.directory / "problems" / name for name in scale.generated}
        elif is_paper:
            given = {
                path.name: path
                for path in sorted(
                    suite.iterdir(), key=lambda path: (path.name not in PRINTED, path)
                )
                if all((path / split).is_dir() and find_problems(path / split) for split in SPLITS)
            }
        if suite is not None and APPENDIX in names:
            compatible = {name: suite / name for name in COMPATIBLE if find_problems(suite / name)}
        if not given and (is_paper or not compatible):
            wanted = "DOMAIN/train and DOMAIN/test of problems"
            if not is_paper:
                wanted = "of problems with the names of appendix A.7"
            if suite is None:
                raise SuiteError(f"this scale needs folders {wanted}; name theirs with --suite", "")
            raise SuiteError(f"there are no folders {wanted}", str(suite))
        chosen = scale.select({**compatible, **given})
        kept = [{n: one[n] for n in one if n in chosen} for one in (given, compatible)]
        return kept[0], kept[1]

    def problems(self, study: TrialStudy, subject: Subject) -> Sequence[Entry]:
        if study.name == APPENDIX:
            return subject.test
        printed = PRINTED.get(subject.domain, {}).get("test", {})
        return subject.chosen(study.tests, printed.get("sizes", 0))

    def report(self, results: TrialResults, scale: str) -> Report:
        found, failed = all_claims(results), results.failures()
        both = [one for one in (results, as_run(results)) if one is not None]
        parts: dict[str, Sequence[Any]] = {
            "Tables": all_tables(results),
            "Claims": [Claim.table(found)] if found else (),
            "Figures": [row for one in both if one.searches.get(PAPER) for row in figures(one)],
            "What failed": [failed] if failed else (),
        }
        lines = [Claim.listed(found)] if found else []
        domains = appendix(results)
        if domains:
            good = sum(row["outcome"] == WORKS for row in domains.values())
            lines.append(f"{good} of {len(domains)} domains of appendix A.7 work")
        return WORDS.report(scale, self.facts(results), parts, "\n".join(lines))

    def facts(self, results: TrialResults) -> list[str]:
        facts = [
            *map(described, results.studies),
            self.resources,
            "problems generated here" if self.suite is None else f"problems of {self.suite}",
        ]
        if results.problems:
            left_out = sum(len(one.left_out) for one in results.problems.values())
            facts.append(f"test problems left out because they are training problems: {left_out}")
        for study in results.studies:
            spent = sum(row["seconds"] for row in results.trainings[study.name])
            searched = sum(row["seconds"] for row in results.searches[study.name])
            facts.append(WORDS.text("spent", study=study, spent=spent, searched=searched))
        return facts


def described(study: TrialStudy) -> str:
    steps = ", ".join(f"{name} {count}" for name, count in study.steps.items())
    learning = f"steps: {steps}" if steps else f"{study.learn:g} s for each learner"
    tests = f"{study.tests} test problems per size" if study.tests else "all test problems"
    limit = study.max_evaluations
    most = "" if limit is None else f"{limit} evaluations and "
    about = {"seeds": len(study.seeds), "learning": learning, "tests": tests, "most": most}
    return WORDS.text("study", study=study, **about)


def figures(results: TrialResults) -> list[Figures]:
    """Those of the paper, in rows."""
    return [
        tuple(evaluation_figures(results)),
        ((rate_figure(results), WORDS.text("rates")),),
        ((goals_figure(results), WORDS.text("goals_curves")),),
    ]


def evaluation_figures(results: TrialResults) -> list[tuple[Figure, str]]:
    """Figure 1, left: a plot for each learned column, all domains."""
    found = searches_of(results)
    runs = [run for own in found.by_cell.values() for run in own]
    rows = compare_searches(
        (run["column"], {**run, "evaluations": found.cost(run)}) for run in runs
    ).rows
    pairs = [(column, COLUMNS[column].base) for column in found.columns]
    return [
        (scatter(rows, base, column), WORDS.text("evaluations", column=column, base=base))
        for column, base in pairs
        if base in found.columns and base is not None
    ]


def rates(found: Searches, domain: str, column: str, limit: int) -> list[tuple[int, float]]:
    """Number of objects and share of problems of that size solved within the limit."""
    by_size: dict[int, list[bool]] = {}
    for row in found.rows(domain, column):
        is_solved = row["solved"] and found.cost(row) <= limit
        by_size.setdefault(row["objects"], []).append(is_solved)
    return [(size, sum(one) / len(one)) for size, one in sorted(by_size.items())]


def rate_figure(results: TrialResults) -> Figure:
    """Figure 3, and for blocks Figure 1, right."""
    found = searches_of(results)

    def draw(axes: Axes, domain: str) -> None:
        limit = PRINTED.get(domain, {}).get("test", {}).get("threshold", found.limit)
        limit = min(limit, found.limit or limit)
        shown = [*((c, i, "dashed") for i, c in enumerate(BASES))]
        shown += [*((c, i, "solid") for i, c in enumerate(SHAPED))]
        for column, number, style in (*shown, (OWN, 3, "solid"), (BESIDE_BASE, 3, "dotted")):
            if points := rates(found, domain, column, limit):
                look: Any = {"color": COLOURS[number], "linestyle": style, "linewidth": 1.0}
                draw_line(axes, points, marker=".", markersize=4, label=column, **look)
        axes.set(title=f"{domain} ({limit})", xlabel="objects", ylabel="solved", ylim=(-0.03, 1.03))

    return panels(found.domains, draw, *SHAPE)


def goal_curve(goal_steps: list[list[int]], steps: int) -> list[tuple[int, float]]:
    """Step and goals reached until then, the mean of trainings; goals are in order."""
    grid = sorted({round(i * steps / GRID) for i in range(GRID + 1)})
    ordered = [sorted(one) for one in goal_steps]
    return [
        (step, sum(bisect.bisect_right(one, step) for one in ordered) / len(ordered))
        for step in grid
    ]


def goals_figure(results: TrialResults) -> Figure:
    """Figures 4 and 5."""

    def draw(axes: Axes, domain: str) -> None:
        for number, column in enumerate(SHAPED):
            rows = trainings_of(results, domain, column)
            if rows:
                curve = goal_curve([row["goal_steps"] for row in rows], rows[0]["steps"])
                draw_line(axes, curve, color=COLOURS[number], label=column, linewidth=1.0)
        axes.set(title=domain, xlabel="training step", ylabel="goals reached")

    return panels(list(results.problems), draw, *SHAPE)

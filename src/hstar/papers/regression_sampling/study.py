"""The experiment of "Sampling from Pre-Images to Learn Heuristic Functions for Classical Planning"
(O'Toole, Ramirez, Lipovetzky and Pearce, 2022), with every second counted.

    tasks      one problem and other initial states of it, generated or from a suite
    models     every learner, the same time for each; learners see p1 only
    searches   every column on the other initial states, the same limit for each

A state that a learner trained on or tried is not planned for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hstar.experiments.bench import FAILED, INVALID, SuiteError
from hstar.experiments.study import (
    Entry,
    Report,
    TaskFolder,
    TrialResults,
    TrialRun,
    TrialScale,
    TrialStudy,
    claims_table,
    find_tasks,
    make_task,
    named_scale,
    read_part,
    read_scales,
)
from hstar.papers.regression_sampling.learners import COLUMNS, LEARNERS
from hstar.papers.regression_sampling.tables import all_tables, claims, coverage_table

GENERATED = "generated"  # the suite that needs no folder
INTRODUCTION = (
    "A small network is learned for one planning task, from states sampled around regressions of "
    "its goal (O'Toole, Ramirez, Lipovetzky and Pearce, 2022), and used in greedy search from "
    "other initial states of the task. Learning has a clock of its own here, and 'plan --learn' "
    "counts it."
)
SCALES = read_scales(__file__)


class RegressionSampling(TrialRun[TrialResults]):
    """`suite` is a folder with the folders that studies name."""

    columns = COLUMNS
    learners = LEARNERS

    @classmethod
    def scale_of(cls, name: str, **options: Any) -> TrialScale:
        return named_scale(SCALES, name).changed(COLUMNS, **options)

    def execute(self) -> TrialResults:
        studies = self.scale.studies
        tasks = {study.name: self.find_tasks(study) for study in studies}
        self.keep_settings()
        results = TrialResults(studies, {}, {})
        for study in studies:
            for task in tasks[study.name] if study.suite == GENERATED else ():
                if not task.path.is_dir():
                    self.say(f"generating a {task.domain} problem")
                    asked = self.scale.generated[task.domain]
                    make_task(task, asked, max(study.states) - 1, self.seed)
            self.learn_and_search(study, tasks[study.name], results)
        return results

    def find_tasks(self, study: TrialStudy) -> list[TaskFolder]:
        """The tasks of a study in order. Raises SuiteError."""
        if study.suite == GENERATED:
            folders = {name: self.directory / "tasks" / name for name in self.scale.generated}
            chosen = self.scale.select(folders)
            return [TaskFolder(name, folder / "task") for name, folder in chosen.items()]
        if self.suite is None:
            raise SuiteError("this scale plans for given tasks; name their folder with --suite", "")
        suite = self.suite / study.suite
        folders = self.scale.select({path.name: path for path in sorted(suite.glob("*/"))})
        return find_tasks(suite, folders, study.tasks == "ends")

    def problems(self, study: TrialStudy, subject: TaskFolder, column: str) -> Sequence[Entry]:
        """The states that no learner of the study used."""
        used: set[int] = set()
        for learner in self.learners_of(study):
            part = read_part(self.model(study, subject.name, learner, study.seeds[0]))
            used |= set(part.get("used", ()))
        return subject.entries(
            [state for state in subject.states(study.states) if state not in used]
        )

    def can_search(self, *_: Any) -> bool:
        """Where nothing was learned, nothing is solved."""
        return True

    def report(self, results: TrialResults, scale: str) -> Report:
        study = results.studies[0]  # the one that Table 1 is about
        facts = [
            f"{one.name}: {one.tasks} of the tasks, states {', '.join(f'p{s}' for s in one.states)}"
            f", {one.learn:g} s for each learner, {one.limit:g} s for each search"
            for one in results.studies
        ]
        memory = self.scale.memory_limit / 2**30
        facts.append(f"{self.jobs} runs at a time, {memory:g} GiB for each of ours")
        facts += [
            f"{name}, its start included, without a limit of memory: {given}"
            for name, given in self.peers.items()
        ]
        statuses = [row["status"] for rows in results.searches.values() for row in rows]
        invalid, failed = (statuses.count(status) for status in (INVALID, FAILED))
        facts.append(f"plans that are invalid: {invalid}; peers that failed: {failed}")
        about = f"By the means of the domains ({study.name})."
        return Report(
            f"Learning for one task from regressions of its goal ({scale})",
            INTRODUCTION,
            facts,
            {
                "Tables": all_tables(results),
                "Claims": [claims_table(claims(results.searches[study.name]), about)],
            },
            "\n\n".join(coverage_table(results, one).text() for one in results.studies),
        )

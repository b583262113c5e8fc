"""The experiment of "Sampling from Pre-Images to Learn Heuristic Functions for Classical Planning"
(O'Toole, Ramirez, Lipovetzky and Pearce, 2022), with every second counted.

    tasks      one problem and other initial states of it, generated or from a suite
    models     every learner, the same time for each; learners see p1 only
    searches   every column on the other initial states, the same limit for each

A state that a learner trained on or tried is not planned for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hstar.experiments.bench import FAILED, INVALID, SuiteError
from hstar.experiments.study import (
    Entry,
    Report,
    Subject,
    TrialResults,
    TrialRun,
    TrialScale,
    TrialStudy,
    claims_table,
    make_task,
    read_part,
    read_scales,
    read_task,
    task_folders,
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
SCALES = read_scales(__file__, TrialScale)


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
        results = TrialResults(studies, {}, {})
        for study in studies:
            for domain, path in tasks[study.name]:
                if not path.is_dir():
                    self.say(f"generating a {domain} problem")
                    asked = self.scale.generated[domain]
                    make_task(path, asked, max(study.states) - 1, self.seed)
            subjects = [read_task(*task, study.states) for task in tasks[study.name]]
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
        found = task_folders(folders, study.tasks == "ends")
        if not found:
            message = "there are no folders DOMAIN/TASK with domain.pddl and p1.pddl"
            raise SuiteError(message, str(suite))
        return found

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

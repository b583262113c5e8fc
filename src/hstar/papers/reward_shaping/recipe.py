"""The experiments of "Reinforcement Learning for Classical Planning: Viewing Heuristics as Dense
Reward Generators" (Gehring, Asai, Chitnis, Silver, Kaelbling, Sohrabi and Katz, ICAPS 2022).

    problems   generated or given, smaller ones to train and larger ones to test with
    models     every learner and seed, on the training problems
    searches   every column on the test problems, a limited number of evaluations
    domains    those of appendix A.7: does learning work on them at all?

Each part is a file below one directory; a run that was stopped makes only what is missing.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hstar.papers import experiment as shared
from hstar.papers.experiment import (
    EXPECTED,
    read_part,
    run_all,
    say_nothing,
    search_within,
    write_part,
)
from hstar.papers.reward_shaping.columns import COLUMNS
from hstar.papers.reward_shaping.compatibility import (
    check_domain,
    compatible_folders,
)
from hstar.papers.reward_shaping.learners import LEARNERS, Lesson
from hstar.papers.reward_shaping.problems import (
    DomainProblems,
    Entry,
    SuiteError,
    domain_folders,
    make_problems,
    read_problems,
)
from hstar.papers.reward_shaping.scales import Scale, Study
from hstar.pddl import find_domain, parse
from hstar.pddl.errors import InputFileError
from hstar.planning.result import SearchResult
from hstar.planning.search import plan_problem
from hstar.runtime.resources import Budget, OutOfResources
from hstar.slots.model_file import write_model

Row = dict[str, Any]


@dataclass(frozen=True)
class Experiment(shared.Experiment[Scale]):
    """`suite` is a folder of domains: DOMAIN/train and DOMAIN/test, or for the domains of appendix
    A.7 DOMAIN with its problems."""

    suite: Path | None = None

    def settings(self) -> dict[str, Any]:
        suite = None if self.suite is None else str(self.suite.absolute())
        return {**super().settings(), "suite": suite}

    def model(self, study: Study, domain: str, learner: str, seed: int) -> Path:
        """What a learner says about itself; the model file lies beside."""
        return self.directory / "models" / study.name / domain / f"{learner} {seed}.json"

    def run(self, study: Study, domain: str, entry: Entry, column: str, seed: int) -> Path:
        folder = self.directory / "searches" / study.name / domain / entry.path.stem
        return folder / f"{column} {seed}.json"

    def checked(self, domain: str) -> Path:
        return self.directory / "domains" / f"{domain}.json"


@dataclass(frozen=True, slots=True)
class Results:
    """By the name of a study, a row for each training and for each search. `domains` are rows of
    appendix A.7."""

    studies: tuple[Study, ...]
    problems: dict[str, DomainProblems]
    trainings: dict[str, list[Row]]
    searches: dict[str, list[Row]]
    domains: list[Row]


def run_experiment(experiment: Experiment) -> Results:
    """All stages but the page. Raises JournalError where the directory holds another experiment,
    SuiteError and PddlError for the problems."""
    scale = experiment.scale
    folders, compatible = find_folders(experiment)
    experiment.keep_settings()
    problems = dict(all_problems(experiment, folders))
    quiet = replace(experiment, say=say_nothing)
    results = Results(scale.studies, problems, {}, {}, [])
    for study in scale.studies:
        trainings = [
            (quiet, study, problems[domain], learner, seed)
            for domain in problems
            for learner in study.learners
            for seed in learner_seeds(study, learner)
        ]
        untrained = [one for one in trainings if not is_trained(*one)]
        run_all(experiment, f"{study.name}: learning", train_once, untrained)
        searches = [
            (quiet, study, domain, entry, column, seed)
            for domain in problems
            for column in study.columns
            for seed in study.searched_seeds(column)
            if has_model(experiment, study, domain, column, seed)
            for entry in problems[domain].chosen(study.fewer_tests.get(column, study.tests))
        ]
        unsearched = [one for one in searches if not experiment.run(*one[1:]).is_file()]
        run_all(experiment, f"{study.name}: searching", search_once, unsearched)
        results.trainings[study.name] = [
            read_part(experiment.model(study, given.domain, learner, seed))
            for _, study, given, learner, seed in trainings
        ]
        results.searches[study.name] = [read_part(experiment.run(*one[1:])) for one in searches]
    checks = [
        (domain, folder, scale.compatibility, scale.memory_limit, experiment.checked(domain))
        for domain, folder in compatible.items()
    ]
    unchecked = [one for one in checks if not experiment.checked(one[0]).is_file()]
    run_all(experiment, "domains of appendix A.7", check_domain, unchecked)
    results.domains.extend(read_part(experiment.checked(domain)) for domain in compatible)
    return results


def find_folders(experiment: Experiment) -> tuple[dict[str, Path], dict[str, Path]]:
    """The folders of domains to train and test with, and those of appendix A.7. Raises SuiteError
    if the scale needs some that there are not."""
    scale, suite = experiment.scale, experiment.suite
    given = domain_folders(suite) if suite is not None and scale.studies else {}
    compatible = {}
    if scale.compatibility is not None and suite is not None:
        compatible = compatible_folders(suite)
    if not given and scale.generated and (suite is None or compatible):
        given = {name: experiment.directory / "problems" / name for name in scale.generated}
    if not given and (scale.studies or not compatible):
        wanted = "DOMAIN/train and DOMAIN/test of problems"
        if not scale.studies:
            wanted = "of problems with the names of appendix A.7"
        if suite is None:
            raise SuiteError(f"this scale needs folders {wanted}; name theirs with --suite", "")
        raise SuiteError(f"there are no folders {wanted}", str(suite))
    return given, compatible


def all_problems(
    experiment: Experiment, folders: dict[str, Path]
) -> Iterator[tuple[str, DomainProblems]]:
    for domain, folder in folders.items():
        part = experiment.directory / "problems" / f"{domain}.json"
        if experiment.begins(part, f"reading problems of {domain}"):
            is_ours = folder.is_relative_to(experiment.directory)
            if is_ours:
                make_problems(folder, experiment.scale.generated[domain], experiment.seed)
        yield domain, read_problems(domain, folder, part)


def learner_seeds(study: Study, learner: str) -> tuple[int, ...]:
    """Those of the columns that search with what it learns."""
    columns = [name for name in study.columns if COLUMNS[name].learner == learner]
    return max((study.seeds_of(name) for name in columns), key=len)


def is_trained(
    experiment: Experiment, study: Study, problems: DomainProblems, learner: str, seed: int
) -> bool:
    return experiment.model(study, problems.domain, learner, seed).is_file()


def has_model(experiment: Experiment, study: Study, domain: str, column: str, seed: int) -> bool:
    """Whether what the column needs was learned."""
    learner = COLUMNS[column].learner
    if learner is None:
        return True
    return not read_part(experiment.model(study, domain, learner, seed))["error"]


def train_once(
    experiment: Experiment, study: Study, problems: DomainProblems, learner: str, seed: int
) -> str:
    """Learn; keeps the model beside a file that says how it went."""
    part = experiment.model(study, problems.domain, learner, seed)
    scratch = part.with_suffix(".partial")
    scratch.mkdir(parents=True, exist_ok=True)
    row: Row = {"domain": problems.domain, "learner": learner, "seed": seed, "error": ""}
    budget = Budget(memory_bytes=experiment.scale.memory_limit)
    lesson = Lesson(problems, study, experiment.seed + seed, budget, scratch, experiment.device)
    start = time.monotonic()
    try:
        with budget.enforced():
            learned = LEARNERS[learner].learn(lesson)
    except (OutOfResources, ValueError, FloatingPointError) as error:
        if isinstance(error, OutOfResources) and error.status not in EXPECTED:
            raise
        row["error"] = str(error)
    else:
        row |= learned.facts
        write_model(part.with_suffix(".safetensors"), learned.file)
    row["seconds"] = time.monotonic() - start
    write_part(part, row)
    shutil.rmtree(scratch)
    return f"{problems.domain} {learner} {seed}: {row['error'] or 'done'}, {row['seconds']:.0f} s"


def search_once(
    experiment: Experiment, study: Study, domain: str, entry: Entry, column: str, seed: int
) -> str:
    """Plan for one problem; reading and grounding count."""
    chosen = COLUMNS[column]
    model = experiment.model(study, domain, chosen.learner or "", seed).with_suffix(".safetensors")
    path = entry.path
    options = chosen.search(model, study.max_evaluations)

    def search(budget: Budget) -> SearchResult:
        return plan_problem(parse(find_domain(path), path), options, budget)

    row: Row = {"domain": domain, "problem": path.stem, "objects": entry.objects}
    row |= {"column": column, "seed": seed, "seconds": study.limit, "requested": 0}
    try:
        row |= search_within(study.limit, experiment.scale.memory_limit, search)
    except (InputFileError, ValueError) as error:  # such as a network that cannot read the problem
        row |= {"solved": False, "status": str(error)}
    write_part(experiment.run(study, domain, entry, column, seed), row)
    return f"{domain} {path.stem} {column}: {row['status']}"

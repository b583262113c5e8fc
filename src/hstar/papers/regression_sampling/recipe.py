"""The experiment of "Sampling from Pre-Images to Learn Heuristic Functions for Classical Planning"
(O'Toole, Ramirez, Lipovetzky and Pearce, 2022), with every second counted.

    tasks      one problem and other initial states of it, generated or from a suite
    networks   every learner, the same time for each; learners see p1 only
    planning   every planner on the other initial states, the same limit for each

A state that a learner trained on or tried is not planned for. Each part is a file below one
directory; a run that was stopped makes only what is missing.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar.domains import generate
from hstar.domains.walks import write_walks
from hstar.learning.instance import InstanceLearner, search_of
from hstar.learning.networks import hashes_of
from hstar.learning.planning import plan_with_learning
from hstar.papers import experiment as shared
from hstar.papers.experiment import (
    EXPECTED,
    read_part,
    run_all,
    say_nothing,
    search_within,
    write_part,
)
from hstar.papers.peers import run_peer
from hstar.papers.regression_sampling.columns import LEARNERS, PLANNERS, Column
from hstar.papers.regression_sampling.scales import GENERATED, Scale, Study
from hstar.pddl import Problem, parse
from hstar.pddl.errors import InputFileError
from hstar.planning.result import SearchResult
from hstar.planning.search import plan_problem
from hstar.planning.specification import SearchSpecification
from hstar.planning.task import Task, ground
from hstar.runtime.resources import Budget, OutOfResources
from hstar.slots.features.facts import true_atoms
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import read_model, write_model
from hstar.training.native import FactRows


class SuiteError(InputFileError):
    """A folder of tasks is missing or holds something else."""


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """A task with several initial states: domain.pddl, p1.pddl, p2.pddl and so on."""

    domain: str
    path: Path

    @property
    def name(self) -> str:
        return f"{self.domain}/{self.path.name}"

    def file(self, number: int) -> Path:
        return self.path / f"p{number}.pddl"

    def problem(self, number: int) -> Problem:
        return parse(self.path / "domain.pddl", self.file(number))

    def states(self, study: Study) -> list[int]:
        """Those of the study that there are: a tiny task has few."""
        return [number for number in study.states if self.file(number).is_file()]


@dataclass(frozen=True)
class Experiment(shared.Experiment[Scale]):
    """`suite` is a folder with the folders that studies name. `peers` maps the name of another
    planner to a command with {domain}, {problem}, {plan} and {limit} in it."""

    suite: Path | None = None
    peers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.peers:
            if name in PLANNERS:
                raise ValueError(f"the name {name} is that of a planner of ours; choose another")

    def settings(self) -> dict[str, Any]:
        suite = None if self.suite is None else str(self.suite.absolute())
        return {**super().settings(), "suite": suite}

    def network(self, study: Study, task: TaskFolder, learner: str) -> Path:
        return self.directory / "networks" / study.name / task.name / f"{learner}.json"

    def run(self, study: Study, task: TaskFolder, planner: str, state: int) -> Path:
        return self.directory / "runs" / study.name / task.name / f"p{state}" / f"{planner}.json"

    def has_run(self, study: Study, task: TaskFolder, planner: str, state: int) -> bool:
        """A peer must have run by the same command."""
        found = read_part(self.run(study, task, planner, state))
        return found is not None and found.get("command") == self.peers.get(planner)


@dataclass(frozen=True, slots=True)
class Results:
    """By the name of a study: a row for each network and for each run, and all planners."""

    studies: tuple[Study, ...]
    networks: dict[str, list[dict[str, Any]]]
    runs: dict[str, list[dict[str, Any]]]
    planners: dict[str, list[str]]


def run_experiment(experiment: Experiment) -> Results:
    """All stages but the page. Raises JournalError where the directory holds another experiment,
    SuiteError."""
    tasks = {study.name: find_tasks(experiment, study) for study in experiment.scale.studies}
    experiment.keep_settings()
    quiet = replace(experiment, say=say_nothing)
    results = Results(experiment.scale.studies, {}, {}, {})
    for study in experiment.scale.studies:
        found = tasks[study.name]
        if study.suite == GENERATED:
            make_tasks(experiment, study, found)
        work = [
            (quiet, study, task, learner)
            for task in found
            for learner in study.learners
            if not experiment.network(study, task, learner).is_file()
        ]
        run_all(experiment, f"{study.name}: learning", make_network, work)
        planners = [*study.planners, *experiment.peers]
        runs = [
            (quiet, study, task, planner, state)
            for task in found
            for state in unused_states(experiment, study, task)
            for planner in planners
            if not experiment.has_run(study, task, planner, state)
        ]
        run_all(experiment, f"{study.name}: planning", plan_once, runs)
        results.planners[study.name] = planners
        results.networks[study.name] = [
            read_part(experiment.network(study, task, learner))
            for task in found
            for learner in study.learners
        ]
        results.runs[study.name] = [
            read_part(experiment.run(study, task, planner, state))
            for task in found
            for state in unused_states(experiment, study, task)
            for planner in planners
        ]
    return results


def find_tasks(experiment: Experiment, study: Study) -> list[TaskFolder]:
    """The tasks of a study in order. Raises SuiteError."""
    if study.suite == GENERATED:
        folder = experiment.directory / "tasks"
        return [TaskFolder(name, folder / name / "task") for name in experiment.scale.generated]
    if experiment.suite is None:
        raise SuiteError("this scale plans for given tasks; name their folder with --suite", "")
    suite = experiment.suite / study.suite
    found = []
    for domain in sorted(path for path in suite.glob("*") if path.is_dir()):
        tasks = sorted(path for path in domain.iterdir() if (path / "p1.pddl").is_file())
        chosen = dict.fromkeys([tasks[0], tasks[-1]]) if study.tasks == "ends" and tasks else tasks
        found += [TaskFolder(domain.name.partition("-")[0], path) for path in chosen]
    if not found:
        raise SuiteError(
            "there are no folders DOMAIN/TASK with domain.pddl and p1.pddl", str(suite)
        )
    return found


def make_tasks(experiment: Experiment, study: Study, tasks: list[TaskFolder]) -> None:
    """Generate a problem for each task, and other initial states of it by random walks."""
    for task in tasks:
        if task.path.is_dir():
            continue
        experiment.say(f"generating a {task.domain} problem")
        ranges = experiment.scale.generated[task.domain]
        generate(task.domain, task.path.parent, ["test"], experiment.seed, count=1, ranges=ranges)
        test = task.path.parent / "test"
        (problem,) = (path for path in test.glob("*.pddl") if path.name != "domain.pddl")
        with tempfile.TemporaryDirectory(dir=task.path.parent) as scratch:
            folder = Path(scratch) / "task"
            count = max(study.states) - 1
            seed = experiment.seed + 2**16  # other walks than those of the trials
            write_walks(test / "domain.pddl", problem, folder, count, 200, seed)
            made = Path(scratch) / "made"
            made.mkdir()
            for number, path in enumerate(sorted(folder.glob("p*.pddl")), start=2):
                path.rename(made / f"p{number}.pddl")
            shutil.copy(problem, made / "p1.pddl")
            shutil.copy(folder / "domain.pddl", made)
            made.rename(task.path)


def make_network(experiment: Experiment, study: Study, task: TaskFolder, learner: str) -> str:
    """Learn from p1; keeps the network beside a file that says how it went."""
    options = replace(LEARNERS[learner], seconds=study.learn, seed=experiment.seed)
    part = experiment.network(study, task, learner)
    row: dict[str, Any] = {"task": task.name, "domain": task.domain, "learner": learner}
    start = time.monotonic()
    budget = Budget(memory_bytes=experiment.scale.memory_limit)
    try:
        with budget.enforced():
            made = InstanceLearner(task.problem(1), options, budget, say_nothing)
            made.maker.used = []
            found = made.run()
        if found.interrupted:
            raise KeyboardInterrupt
    except (OutOfResources, ValueError) as error:
        if isinstance(error, OutOfResources) and error.status not in EXPECTED:
            raise
        row |= {"networks": 0, "error": str(error), "used": []}
        seconds = time.monotonic() - start
    else:
        seconds = time.monotonic() - start
        row |= {**found.to_dict(), "networks": found.finished, "error": ""}
        row["used"] = used_states(made, task, study)
        if found.file is not None:
            part.parent.mkdir(parents=True, exist_ok=True)
            write_model(part.with_suffix(".safetensors"), found.file)
            row["way"] = search_of(found.file)
    write_part(part, {**row, "seconds": seconds})
    return f"{task.name} {learner}: {row.get('learned_solved', 0)}/{row.get('states', 0)}"


def used_states(learner: InstanceLearner, task: TaskFolder, study: Study) -> list[int]:
    """The numbers of the states to plan for that training or trials saw, compared by hash."""
    features = learner.maker.features

    def hashes(of: Task, states: NDArray[np.int32]) -> NDArray[np.uint64]:
        starts, atoms = true_atoms(features, of, states)
        none = np.zeros(len(states), np.float32)
        return hashes_of(FactRows(features["width"], starts, atoms, none, none, none))

    seen = [hashes(learner.task, one) for one in (learner.states, learner.verdict_states)]
    seen += learner.maker.used or []
    used = []
    for number in task.states(study):
        test = ground(task.problem(number))
        if np.isin(hashes(test, test.initial_state[None]), np.concatenate(seen)).any():
            used.append(number)
    return used


def unused_states(experiment: Experiment, study: Study, task: TaskFolder) -> list[int]:
    """The states that no learner of the study used."""
    used = {
        state
        for learner in study.learners
        for state in read_part(experiment.network(study, task, learner))["used"]
    }
    return [state for state in task.states(study) if state not in used]


def plan_once(
    experiment: Experiment, study: Study, task: TaskFolder, planner: str, state: int
) -> str:
    """Plan for one state; reading and grounding count."""
    start = time.monotonic()
    if planner in experiment.peers:
        files = task.path / "domain.pddl", task.file(state)
        row = run_peer(experiment.peers[planner], *files, study.limit)
    else:
        row = run_planner(experiment, study, task, PLANNERS[planner], state)
    row = {"task": task.name, "domain": task.domain, "state": state, "planner": planner, **row}
    row.setdefault("seconds", time.monotonic() - start)
    write_part(experiment.run(study, task, planner, state), row)
    return f"{task.name} p{state} {planner}: {row['status']}"


def run_planner(
    experiment: Experiment, study: Study, task: TaskFolder, column: Column, state: int
) -> dict[str, Any]:
    def search(budget: Budget) -> SearchResult | None:
        problem = task.problem(state)
        if column.learns:
            return plan_and_learn(problem, study, budget)
        options = search_options(experiment, study, task, column)
        return None if options is None else plan_problem(problem, options, budget)

    return search_within(study.limit, experiment.scale.memory_limit, search)


def plan_and_learn(problem: Problem, study: Study, budget: Budget) -> SearchResult:
    task = ground(problem, budget=budget)
    found = plan_with_learning(task, study.limit / 2, budget, say_nothing)
    return replace(found.result, training_time=found.training_time, found_by=found.found_by)


def search_options(
    experiment: Experiment, study: Study, task: TaskFolder, column: Column
) -> SearchSpecification | None:
    """None if there is no network."""
    if column.learner is None:
        return column.search
    path = experiment.network(study, task, column.learner).with_suffix(".safetensors")
    if not path.is_file():
        return None
    heuristic = LearnedHeuristic(read_model(path), str(path), column.decode)
    way = {"cost": "one", **column.way} if column.way else heuristic.search
    return SearchSpecification(heuristic, **way)


def rows_of(rows: list[dict[str, Any]], **fields: Any) -> Iterator[dict[str, Any]]:
    """The rows with these values."""
    return (row for row in rows if all(row[name] == value for name, value in fields.items()))

"""Labelling a folder of problems: attempts in parallel, retries, a journal, the files at the end.

The labels do not depend on the number of processes, nor on being killed and run again. They do
depend on the machine where a limit of time or memory decides whether a problem is solved; a limit
on expansions (`max_expansions`) does not have that flaw.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hstar import _core
from hstar.runtime.atomic import check_writable
from hstar.runtime.progress import Progress
from hstar.runtime.resources import Budget
from hstar.teachers.attempt import COSTS, SOLVED, Attempt, read_problem_text
from hstar.teachers.candidates import Candidates
from hstar.teachers.folder import (
    FolderProblem,
    ProblemFolder,
    ProblemFolderError,
    read_folder,
    text_digest,
)
from hstar.teachers.journal import Journal
from hstar.teachers.labels import (
    LabelledProblem,
    LabelsError,
    make_rows,
    read_manifest,
    rows_match,
    write_labels,
)
from hstar.teachers.plans import find_plan, read_valid_plan
from hstar.teachers.pool import Key, Pool
from hstar.version import VERSION

NO_PLAN_FILE = "no plan file"
TIMES_FORMAT = "hstar-label-times-1"
TIMES = ("status", "search_time", "total_time", "peak_memory_kb", "expanded", "evaluated")


@dataclass(frozen=True, slots=True)
class LabelOptions:
    """How to label. Limits hold for every single attempt; None means no limit.

    `cost` "one" lets every action cost 1, "normal" takes the costs of the problem. `jobs` None
    means one process per core. `limit_problems` takes the first problems of the folder, or with a
    `seed` as many drawn at random. With `plans`, a folder, nothing is searched: its files are used.
    """

    time_limit: float | None = 300.0
    memory_limit: int | None = 8 << 30
    max_expansions: int | None = None
    jobs: int | None = None
    retries: int = 20
    cost: str = "one"
    limit_problems: int | None = None
    seed: int | None = None
    plans: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.cost not in COSTS:
            raise ValueError(f"unknown cost '{self.cost}'; choose one of {', '.join(COSTS)}")
        if self.retries < 0:
            raise ValueError(
                f"the number of retries must not be negative, but it is {self.retries}"
            )
        if self.seed is not None and self.limit_problems is None:
            raise ValueError("a seed draws problems, so say how many with a limit on problems")
        for name in ("time_limit", "memory_limit", "max_expansions", "jobs", "limit_problems"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name.replace('_', ' ')} must be positive, not {value}")


@dataclass(frozen=True, slots=True)
class LabelSummary:
    """What was done. `left_out` counts the problems without labels by the reason.

    `was_complete` says that the output was there already and nothing had to be done.
    """

    problems: int
    solved: int
    replaced: int
    states: int
    left_out: dict[str, int]
    seconds: float
    was_complete: bool
    warnings: tuple[str, ...]


def label(
    directory: str | os.PathLike[str],
    output: str | os.PathLike[str],
    options: LabelOptions | None = None,
    *,
    show_progress: bool = False,
) -> LabelSummary:
    """Label the problems of a folder and write the files of `hstar.teachers.labels`.

    What is finished is kept in the folder OUTPUT.partial until the end; the same call goes on from
    there. A complete output of the same call is left as it is. Raises InputFileError for bad input,
    OutOfResources when a signal ends the run, OSError where writing fails.
    """
    labelling = _Labelling(read_folder(directory), Path(output), options or LabelOptions())
    return labelling.complete_already() or labelling.carry_out(show_progress)


class _Labelling:
    """One call of `label`."""

    def __init__(self, folder: ProblemFolder, output: Path, options: LabelOptions) -> None:
        self.started = _core.monotonic_seconds()
        self.folder = replace(folder, problems=_chosen(folder.problems, options))
        self.output = output
        self.options = options
        self.warnings: list[str] = []
        self.version = VERSION
        self.limits = {
            "time_limit": options.time_limit,
            "memory_limit": options.memory_limit,
            "max_expansions": options.max_expansions,
        }
        self.retries = _possible_retries(folder, options)
        self.plans = _given_plans(self.folder, options)
        reserved = frozenset(problem.content for problem in folder.problems)
        self.candidates = [
            Candidates(problem, self.folder, self.retries, reserved)
            for problem in self.folder.problems
        ]
        about = self._about()
        self.digest = text_digest(json.dumps(about))
        self.journal = Journal(
            output.with_name(f"{output.name}.partial"), about, self.warnings.append
        )

    def complete_already(self) -> LabelSummary | None:
        """The summary of the output, if it is there and of this very work."""
        try:
            manifest = read_manifest(self.output)
        except LabelsError:
            return None
        if manifest.get("run") != self.digest or not rows_match(self.output, manifest):
            return None
        if self.journal.path.exists():  # killed while it was being removed
            with self.journal.opened():
                self.journal.remove()
        problems = [LabelledProblem(**fields) for fields in manifest["problems"]]
        return self._summary(problems, was_complete=True)

    def carry_out(self, show_progress: bool) -> LabelSummary:
        check_writable(self.output)
        with Budget().enforced(), self.journal.opened():
            self._attempt_all(show_progress)
            problems = [self._labelled(candidates) for candidates in self.candidates]
            self._write(problems)
            self.journal.remove()
        unsolvable = [p.problem for p in problems if p.status == "unsolvable"]
        if unsolvable:
            self.warnings.append(f"no plan exists for {', '.join(unsolvable)}")
        return self._summary(problems, was_complete=False)

    def _about(self) -> dict[str, Any]:
        """All that decides what comes out, in words that explain a difference."""
        return {
            "hstar": self.version,
            "teacher": self._teacher(),
            "cost": self.options.cost,
            **self.limits,
            "retries": self.retries,
            "domain_hash": text_digest(self.folder.domain_text),
            "problems": {p.file: text_digest(p.text) for p in self.folder.problems},
            "plans": {name: text_digest(" ".join(plan)) for name, plan in self.plans.items()},
        }

    def _teacher(self) -> str:
        return "optimal" if self.options.plans is None else "plans"

    def _request(self, key: Key) -> dict[str, Any]:
        """What a worker needs to know, which is all that an attempt depends on."""
        index, retry = key
        candidates = self.candidates[index]
        replaced = f" (retry {retry})" if retry > candidates.problem.retry else ""
        return {
            "path": f"{self.folder.path / candidates.problem.file}{replaced}",  # for messages only
            "domain": self.folder.domain_text,
            "problem": candidates.text(retry),
            "cost": self.options.cost,
            "plan": self.plans.get(candidates.problem.file),
            **self.limits,
        }

    def _attempt_all(self, show_progress: bool) -> None:
        """Try until every problem is solved or given up.

        First each for itself; then, as long as two have been given the same replacement, the later
        one of them again.
        """
        with Pool(self._jobs()) as pool, Progress("labelling", len(self.candidates)) as progress:
            while True:
                taken: set[str] = set()
                for index, candidates in enumerate(self.candidates):
                    candidates.taken = frozenset(taken)
                    self._try_next(index, pool)
                    solution = candidates.solution()
                    if solution is not None and solution[0] > candidates.problem.retry:
                        content = candidates.content(solution[0])
                        assert content is not None
                        taken.add(content)
                if show_progress:
                    self._report(progress)
                if not pool.waiting:
                    return
                while pool.waiting:
                    key, attempt = pool.next()
                    self._keep(key, attempt)
                    self._try_next(key[0], pool)
                    if show_progress:
                        self._report(progress)

    def _try_next(self, index: int, pool: Pool) -> None:
        """Submit the next text of a problem, unless the journal knows how it ends."""
        candidates = self.candidates[index]
        while (retry := candidates.untried()) is not None:
            key = index, retry
            if self.options.plans is not None and candidates.problem.file not in self.plans:
                found: Attempt | None = Attempt(NO_PLAN_FILE)
            else:
                found = self.journal.read(_name(key), self._task(key))
            if found is None:
                pool.submit(key, self._request(key))
                return
            candidates.attempts[retry] = found

    def _keep(self, key: Key, attempt: Attempt) -> None:
        self.journal.write(_name(key), self._task(key), attempt)
        self.candidates[key[0]].attempts[key[1]] = attempt

    def _task(self, key: Key) -> str:
        """A digest of all that an attempt depends on."""
        return text_digest(json.dumps([self.version, {**self._request(key), "path": ""}]))

    def _jobs(self) -> int:
        jobs = self.options.jobs or len(os.sched_getaffinity(0))
        return min(jobs, len(self.candidates))

    def _report(self, progress: Progress) -> None:
        settled = [c for c in self.candidates if c.untried() is None]
        solved = [solution[1] for c in settled if (solution := c.solution()) is not None]
        states = sum(len(attempt.states) for attempt in solved)
        failed = len(settled) - len(solved)
        left = len(self.candidates) - len(settled)
        progress.update(
            len(settled), f"{len(solved)} solved, {failed} failed, {left} to do, {states} states"
        )

    def _labelled(self, candidates: Candidates) -> LabelledProblem:
        """What the manifest says about a problem: nothing that differs from run to run."""
        tried = [(retry, a) for retry, a in candidates.tried() if a is not None]
        solution = candidates.solution()
        retry, attempt = solution if solution is not None else tried[0]
        solved = solution is not None
        searched = solved and self.options.plans is None
        return LabelledProblem(
            problem=candidates.problem.file,
            pddl=candidates.text(retry),
            status=attempt.status,
            plan=attempt.plan,
            plan_cost=attempt.plan_cost,
            retry=retry,
            expanded=attempt.expanded if searched else None,
            evaluated=attempt.evaluated if searched else None,
            attempts=[(number, a.status) for number, a in tried],
        )

    def _write(self, problems: list[LabelledProblem]) -> None:
        solved = [
            (c.problem.file, solution[1])
            for c in self.candidates
            if (solution := c.solution()) is not None
        ]
        manifest = {
            "teacher": self._teacher(),
            "cost": self.options.cost,
            "domain": self.folder.domain_text,
            "domain_hash": text_digest(self.folder.domain_text),
            "problems": [asdict(problem) for problem in problems],
            "limits": {**self.limits, "retries": self.retries},
            "hstar": self.version,
            "run": self.digest,
        }
        write_labels(self.output, make_rows(solved), manifest, self._times(), self.journal.path)

    def _times(self) -> dict[str, Any]:
        """What every attempt took; unlike the rest it is never the same twice."""
        attempts = []
        for candidates in self.candidates:
            for retry, attempt in sorted(candidates.attempts.items()):
                took = {name: getattr(attempt, name) for name in TIMES}
                attempts.append({"problem": candidates.problem.file, "retry": retry, **took})
        return {"format": TIMES_FORMAT, "attempts": attempts}

    def _summary(self, problems: list[LabelledProblem], was_complete: bool) -> LabelSummary:
        solved = [p for p in problems if p.status == SOLVED]
        first = {p.file: p.retry for p in self.folder.problems}
        return LabelSummary(
            problems=len(problems),
            solved=len(solved),
            replaced=sum(p.retry > first[p.problem] for p in solved),
            states=sum(len(p.plan) + 1 for p in solved),
            left_out=dict(Counter(p.status for p in problems if p.status != SOLVED)),
            seconds=_core.monotonic_seconds() - self.started,
            was_complete=was_complete,
            warnings=tuple(self.warnings),
        )


def _name(key: Key) -> str:
    return f"{key[0]:05d}-{key[1]:02d}"


def _chosen(
    problems: tuple[FolderProblem, ...], options: LabelOptions
) -> tuple[FolderProblem, ...]:
    """The problems to label, in the order of the folder."""
    count = options.limit_problems
    if count is None or count >= len(problems):
        return problems
    if options.seed is None:
        return problems[:count]
    drawn = random.Random(options.seed).sample(range(len(problems)), count)
    return tuple(problems[i] for i in sorted(drawn))


def _possible_retries(folder: ProblemFolder, options: LabelOptions) -> int:
    """How often a problem can be replaced. Raises ProblemFolderError for an unknown generator."""
    if folder.generator is None or options.retries == 0 or options.plans is not None:
        return 0
    from hstar.domains import find_generator

    try:
        find_generator(folder.generator)
    except ValueError as error:
        raise ProblemFolderError(
            f"{error}; without it nothing can be retried, so ask for no retries",
            str(folder.path / "manifest.json"),
        ) from None
    return options.retries


def _given_plans(folder: ProblemFolder, options: LabelOptions) -> dict[str, list[str]]:
    """The plans of the user by problem, each replayed. Raises InputFileError."""
    if options.plans is None:
        return {}
    directory = Path(options.plans)
    if not directory.is_dir():
        raise ProblemFolderError("there is no such folder; check the path", str(directory))
    plans = {}
    for problem in folder.problems:
        path = find_plan(directory, problem.file)
        if path is not None:
            where = str(folder.path / problem.file)
            parsed = read_problem_text(where, problem.text, folder.domain, options.cost)
            plans[problem.file] = read_valid_plan(path, parsed)
    if not plans:
        raise ProblemFolderError(
            "there is no plan for any of the problems; a plan of p01.pddl is called "
            "p01.plan or p01.soln",
            str(directory),
        )
    return plans

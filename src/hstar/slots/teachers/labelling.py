"""Labelling a folder of problems: attempts in parallel, retries, a journal, the files at the end.

The labels do not depend on the number of processes, nor on whether the run was killed and resumed.
They do depend on the machine if a limit of time or memory ends an attempt.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from hstar import _core
from hstar.pddl.errors import check_known
from hstar.runtime.atomic import check_writable
from hstar.runtime.code import code_digest
from hstar.runtime.journal import Journal, digest_of
from hstar.runtime.pool import Job, Lost, Pool
from hstar.runtime.progress import Progress
from hstar.runtime.resources import Budget, OutOfResources
from hstar.runtime.version import VERSION
from hstar.slots.teachers.attempt import COSTS, Attempt, carry_out
from hstar.slots.teachers.candidates import Candidates
from hstar.slots.teachers.folder import (
    FolderProblem,
    ProblemFolder,
    ProblemFolderError,
    read_folder,
)
from hstar.slots.teachers.labels import (
    SOLVED,
    LabelledProblem,
    LabelRows,
    LabelsError,
    read_manifest,
    rows_match,
    write_labels,
)
from hstar.slots.teachers.registry import TEACHERS

TIMES_FORMAT = "hstar-label-times-1"
COUNTS = ("expanded", "evaluated")
TIMES = ("status", "search_time", "total_time", "peak_memory_kb", *COUNTS)
# What LabelledProblem has too.
SHARED = ("status", "plan", "plan_cost", "atoms", "has_irrelevant", "has_open")
LARGE_WORKER_KB = 256 << 10  # a worker that needed more is replaced by a fresh one

Key = tuple[int, int]  # the position of a problem in the folder, and the number of the retry
Problems = tuple[FolderProblem, ...]


@dataclass(frozen=True, slots=True)
class LabelOptions:
    """How to label. Limits hold for every single attempt; None means no limit.

    `options` are those of the teacher. `cost` "one" lets every action cost 1, "normal" takes the
    costs of the problem. `jobs` None means one process per core. `limit_problems` takes the first
    problems of the folder, or draws as many at random with a `seed`.
    """

    teacher: str = "optimal"
    options: Mapping[str, Any] = field(default_factory=dict)
    time_limit: float | None = 300.0
    memory_limit: int | None = 8 << 30
    jobs: int | None = None
    retries: int = 20
    cost: str = "one"
    limit_problems: int | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        TEACHERS.find(self.teacher).settings(self.options)
        check_known("cost", self.cost, COSTS)
        if self.retries < 0:
            raise ValueError(f"the number of retries must be at least 0, not {self.retries}")
        if self.seed is not None and self.limit_problems is None:
            raise ValueError("a seed draws problems, so say how many with a limit on problems")
        for name in ("time_limit", "memory_limit", "jobs", "limit_problems"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name.replace('_', ' ')} must be positive, not {value}")


@dataclass(frozen=True, slots=True)
class LabelSummary:
    """What was done. `left_out` counts the problems without labels by the reason. `was_complete`
    says that the output was there already and nothing had to be done."""

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
    """Label the problems of a folder and write the files of `hstar.slots.teachers.labels`.

    Finished attempts are kept in the folder OUTPUT.partial until the end; the same call resumes
    from there. A complete output of the same call is left as it is. Raises InputFileError for bad
    input, OutOfResources when a signal ends the run, OSError if writing fails.
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
        self.teacher = TEACHERS.find(options.teacher)
        self.teacher_options = self.teacher.settings(options.options)
        self.limits: dict[str, Any] = {
            name: getattr(options, name) for name in ("time_limit", "memory_limit")
        }
        self.retries = _possible_retries(folder, options) if self.teacher.replaces else 0
        self.given = None
        if self.teacher.prepare is not None:
            self.given = self.teacher.prepare(self.folder, options.cost, **self.teacher_options)
        reserved = frozenset(problem.content for problem in folder.problems)
        self.candidates = [
            Candidates(problem, self.folder, self.retries, reserved)
            for problem in self.folder.problems
        ]
        settings = self._settings()
        self.digest = digest_of(json.dumps(settings))
        self.journal = Journal(output, settings, self.warnings.append)

    def complete_already(self) -> LabelSummary | None:
        """The summary of the output, if it is there and was made with the same settings."""
        try:
            manifest = read_manifest(self.output)
        except LabelsError:
            return None
        if manifest.get("run") != self.digest or not rows_match(self.output, manifest):
            return None
        if self.journal.path.exists():  # killed while it was being removed
            with self.journal.held():
                self.journal.remove()
        problems = [LabelledProblem(**fields) for fields in manifest["problems"]]
        return self._summary(problems, manifest["states"], was_complete=True)

    def carry_out(self, show_progress: bool) -> LabelSummary:
        check_writable(self.output)
        with Budget().enforced(), self.journal.held():
            self._attempt_all(show_progress)
            problems = [self._labelled(candidates) for candidates in self.candidates]
            states = self._write(problems)
            self.journal.remove()
        unsolvable = [p.problem for p in problems if p.status == "unsolvable"]
        if unsolvable:
            self.warnings.append(f"no plan exists for {', '.join(unsolvable)}")
        return self._summary(problems, states, was_complete=False)

    def _settings(self) -> dict[str, Any]:
        """Everything that decides the result, by names that explain a difference."""
        given = (self.given or {}).items()
        return {
            **self.teacher_options,
            "code": code_digest(),
            "teacher": self.options.teacher,
            "code_of_the_teacher": self.teacher.code,
            "cost": self.options.cost,
            **self.limits,
            "retries": self.retries,
            "domain": digest_of(self.folder.domain_text),
            "problems": {p.file: digest_of(p.text) for p in self.folder.problems},
            "given": {name: digest_of(json.dumps(item)) for name, item in given},
        }

    def _attempt_all(self, show_progress: bool) -> None:
        """Try until every problem is solved or given up. First each for itself. Then, as long as
        two were given the same replacement, the later one of them again."""
        most = min(self.options.jobs or len(os.sched_getaffinity(0)), len(self.candidates))
        already = len(self.candidates) - len(self._untried())
        with (
            Pool(most, lambda attempt: attempt.peak_memory_kb > LARGE_WORKER_KB) as pool,
            Progress("labelling", len(self.candidates), already) as progress,
        ):
            if show_progress:
                self._report(progress)
            while untried := self._untried():
                jobs = (self._job(untried[number]) for number in spread_order(len(untried)))
                for key, answer in pool.answers(jobs, self.options.time_limit):
                    attempt = _status_of_lost(answer) if isinstance(answer, Lost) else answer
                    if attempt.status in ("terminated", "interrupted"):
                        raise OutOfResources("terminated", 143)
                    self.journal.write(_name(key), attempt.to_bytes(), self._digest_of(key))
                    self.candidates[key[0]].attempts[key[1]] = attempt
                    for following in self._next_attempt(key[0]):
                        pool.add(self._job(following))
                    if show_progress:
                        self._report(progress)

    def _untried(self) -> list[Key]:
        """What to try next, where no two problems are given the same replacement."""
        taken: set[str] = set()
        untried: list[Key] = []
        for index, candidates in enumerate(self.candidates):
            candidates.taken = frozenset(taken)
            untried += self._next_attempt(index)
            solution = candidates.solution()
            if solution is not None and solution[0] > candidates.problem.retry:
                _, content = candidates.text(solution[0])
                assert content is not None
                taken.add(content)
        return untried

    def _job(self, key: Key) -> Job:
        candidates, retry = self.candidates[key[0]], key[1]
        problem = candidates.problem
        replaced = f" (retry {retry})" if retry > problem.retry else ""
        attempt = partial(
            carry_out,
            f"{self.folder.path / problem.file}{replaced}",
            teacher=self.options.teacher,
            options=self.teacher_options,
            domain=self.folder.domain_text,
            problem=candidates.text(retry)[0],
            cost=self.options.cost,
            **self.limits,
            given=self.given and self.given.get(problem.file),
        )
        return key, attempt

    def _next_attempt(self, index: int) -> list[Key]:
        """The next attempt at a problem, if it needs one that the journal does not hold."""
        candidates = self.candidates[index]
        while (retry := candidates.untried()) is not None:
            key = index, retry
            if self.given is not None and candidates.problem.file not in self.given:
                candidates.attempts[retry] = Attempt(self.teacher.not_given)
                continue
            found = self.journal.read(_name(key), self._digest_of(key))
            if found is None:
                return [key]
            candidates.attempts[retry] = Attempt.from_bytes(found)
        return []

    def _digest_of(self, key: Key) -> str:
        """Of what an attempt depends on besides the settings: a generator may have changed."""
        return digest_of(self.candidates[key[0]].text(key[1])[0])

    def _report(self, progress: Progress) -> None:
        settled = [c for c in self.candidates if c.untried() is None]
        solved = [solution[1] for c in settled if (solution := c.solution()) is not None]
        states = sum(len(attempt.rows or ()) for attempt in solved)
        failed, left = len(settled) - len(solved), len(self.candidates) - len(settled)
        text = f"{len(solved)} solved, {failed} failed, {left} to do, {states} states"
        progress.update(len(settled), text)

    def _labelled(self, candidates: Candidates) -> LabelledProblem:
        """What the manifest says about a problem: nothing that differs from run to run."""
        tried = [(retry, a) for retry, a in candidates.tried() if a is not None]
        solution = candidates.solution()
        retry, attempt = tried[0] if solution is None else solution
        counted = {} if solution is None else {n: getattr(attempt, n) for n in COUNTS}
        return LabelledProblem(
            problem=candidates.problem.file,
            pddl=candidates.text(retry)[0],
            retry=retry,
            attempts=[(number, a.status) for number, a in tried],
            **{name: getattr(attempt, name) for name in SHARED},
            **counted,
        )

    def _write(self, problems: list[LabelledProblem]) -> int:
        """Write the files; returns the number of labelled states."""
        nothing = LabelRows.concatenate([])
        solutions = [candidates.solution() for candidates in self.candidates]
        rows = LabelRows.concatenate([(s and s[1].rows) or nothing for s in solutions])
        manifest = {
            "teacher": self.options.teacher,
            "options": self.teacher_options,
            "kinds": self.teacher.kinds,
            "cost": self.options.cost,
            "domain": self.folder.domain_text,
            "domain_hash": digest_of(self.folder.domain_text),
            "problems": [asdict(problem) for problem in problems],
            "states": len(rows),
            "limits": {**self.limits, "retries": self.retries},
            "hstar": VERSION,
            "run": self.digest,
        }
        write_labels(self.output, rows, manifest, self._times(), self.journal.file)
        return len(rows)

    def _times(self) -> dict[str, Any]:
        """What every attempt took; unlike the rest it is never the same twice."""
        attempts = [
            {"problem": candidates.problem.file, "retry": retry}
            | {name: getattr(attempt, name) for name in TIMES}
            for candidates in self.candidates
            for retry, attempt in sorted(candidates.attempts.items())
        ]
        return {"format": TIMES_FORMAT, "attempts": attempts}

    def _summary(
        self, problems: list[LabelledProblem], states: int, was_complete: bool
    ) -> LabelSummary:
        solved = [p for p in problems if p.status == SOLVED]
        first = {p.file: p.retry for p in self.folder.problems}
        return LabelSummary(
            problems=len(problems),
            solved=len(solved),
            replaced=sum(p.retry > first[p.problem] for p in solved),
            states=states,
            left_out=dict(Counter(p.status for p in problems if p.status != SOLVED)),
            seconds=_core.monotonic_seconds() - self.started,
            was_complete=was_complete,
            warnings=tuple(self.warnings),
        )


def _name(key: Key) -> str:
    return f"{key[0]:05d}-{key[1]:02d}.npz"


def _status_of_lost(lost: Lost) -> Attempt:
    """The attempt of a worker that died. The kernel kills processes when memory runs out."""
    if lost.overdue:
        return Attempt("out of time")
    if lost.exit_code >= 0:
        raise RuntimeError(str(lost))
    by_signal = {-9: "out of memory", -15: "terminated", -2: "terminated", -1: "terminated"}
    return Attempt(by_signal.get(lost.exit_code, "crashed"))


def spread_order(count: int) -> list[int]:
    """The numbers below `count` in an order whose every beginning is spread over all of them.
    Folders list small problems first. Trying them in this order makes the problems tried so far a
    fair sample, so that the estimate of the time left does not grow all the time."""
    bits = max(count - 1, 0).bit_length()
    return sorted(range(count), key=lambda number: f"{number:0{bits}b}"[::-1])


def _chosen(problems: Problems, options: LabelOptions) -> Problems:
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
    if folder.generator is None or options.retries == 0:
        return 0
    from hstar.domains import DOMAINS

    try:
        DOMAINS.find_installed(folder.generator)
    except ValueError as error:
        raise ProblemFolderError(
            f"{error}; without it nothing can be retried, so ask for no retries",
            str(folder.path / "manifest.json"),
        ) from None
    return options.retries

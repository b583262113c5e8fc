"""A pool of worker processes, for everything that runs several jobs at a time.

    with Pool(processes=4) as pool:
        for key, answer in pool.answers([("first", function, argument)], time_limit=60):
            print(key, answer)

A job is a function that can be imported, and its arguments. Each worker runs one job at a time. If
a worker dies, a new one takes its place, and its job is done again or gets the answer `Lost`. All
workers die with the process that started them, even if that process is killed.
"""

from __future__ import annotations

import collections
import contextlib
import math
import os
import pickle
import selectors
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

import hstar
from hstar import _core

COMMAND = (sys.executable, "-P", "-m", "hstar.runtime.worker")
EXIT_SECONDS = 10.0  # from the end of a worker's output to its exit
GRACE_SECONDS = 30.0  # past the time limit of a job before its worker is killed: it may be loading

Job: TypeAlias = tuple[Hashable, Callable[..., Any], *tuple[Any, ...]]  # key, function, arguments


@dataclass(frozen=True, slots=True)
class Lost:
    """The worker died before it had an answer. A negative exit code is minus a signal's number.

    `overdue` means that the pool killed it, because it ignored the time limit.
    """

    exit_code: int
    overdue: bool
    last_words: str  # the last line that it wrote to standard error

    def __str__(self) -> str:
        if self.overdue:
            return "did not stop at the time limit and was killed"
        code = self.exit_code
        how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
        return ": ".join(filter(None, [f"the process ended with {how}", self.last_words]))


class _Worker:
    """A process, and the job that it works on."""

    def __init__(self) -> None:
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `end`)
        packages = str(Path(hstar.__file__).absolute().parent.parent)
        inherited = os.environ.get("PYTHONPATH")
        self.process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env={
                "OMP_NUM_THREADS": "1",  # one busy core per worker
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, (packages, inherited))),
            },
            start_new_session=True,  # Ctrl-C is for the parent, which then ends the workers
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.requests, self.answers = self.process.stdin, self.process.stdout
        self.job: Job | None = None
        self.kill_at = math.inf
        self.overdue = False
        self._send(pickle.dumps([path or os.getcwd() for path in sys.path]))

    def start(self, job: Job, time_limit: float | None) -> None:
        self.job = job
        limit = math.inf if time_limit is None else time_limit + GRACE_SECONDS
        self.kill_at = _core.monotonic_seconds() + limit
        self._send(pickle.dumps((job[1], job[2:])))

    def _send(self, content: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # it is dead, so its output ends as well
            self.requests.write(content)
            self.requests.flush()

    def receive(self) -> tuple[bool, Any]:
        """Whether the job returned, and what it returned or raised; `Lost` if the worker died."""
        try:
            returned, content = pickle.load(self.answers)
        except (EOFError, pickle.UnpicklingError):
            with contextlib.suppress(subprocess.TimeoutExpired):  # it closes its files first
                self.process.wait(EXIT_SECONDS)
            self.process.kill()
            code = self.process.wait()
            self.errors.seek(0)
            lines = self.errors.read().decode(errors="replace").strip().splitlines()
            return True, Lost(code, self.overdue, lines[-1] if lines else "")
        return returned, content

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for file in (self.requests, self.answers, self.errors):
            with contextlib.suppress(BrokenPipeError):
                file.close()


class Pool:
    """Use as a context manager: leaving it ends all workers.

    A worker is replaced after an answer for which `is_spent` is true. Memory that the job left
    behind in the process would otherwise count against the limit of the next job.
    """

    def __init__(self, processes: int, is_spent: Callable[[Any], bool] = lambda _: False) -> None:
        self._processes = processes
        self._is_spent = is_spent
        self._added: collections.deque[Job] = collections.deque()
        self._workers: list[_Worker] = []
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self._workers[::-1]:
            self._end(worker)
        self._selector.close()

    def add(self, job: Job) -> None:
        """One more job for `answers`, before those that it has not taken yet."""
        self._added.append(job)

    def answers(
        self,
        jobs: Iterable[Job] = (),
        time_limit: float | None = None,
        tries: int = 1,
        say: Callable[[str], None] = print,
    ) -> Iterator[tuple[Any, Any]]:
        """The key of each job and what it returned, as they end. A job is taken when a process is
        free for it. One whose worker dies is tried so often, unless it ignored the time limit, and
        then gives `Lost`. Raises what a job raised."""
        coming, deaths = iter(jobs), collections.Counter[Hashable]()
        while True:
            idle = [worker for worker in self._workers if worker.job is None]
            while idle or len(self._workers) < self._processes:
                job = self._added.popleft() if self._added else next(coming, None)
                if job is None:
                    break
                worker = idle.pop() if idle else self._add_worker()
                worker.start(job, time_limit)
            if len(idle) == len(self._workers):
                return
            for ready, _ in self._selector.select(self._seconds_until_overdue())[:1]:
                worker = ready.data
                job, (returned, answer) = worker.job, worker.receive()
                worker.job = None
                is_lost = isinstance(answer, Lost)
                if not returned or is_lost or self._is_spent(answer):
                    self._end(worker)
                if not returned:
                    raise answer
                if job is None:  # it died while it was idle
                    continue
                deaths[job[0]] += is_lost
                if is_lost and deaths[job[0]] < tries and not answer.overdue:
                    say(f"a worker process died ({answer}); its job is done again")
                    self.add(job)
                else:
                    yield job[0], answer

    def _add_worker(self) -> _Worker:
        worker = _Worker()
        self._workers.append(worker)
        self._selector.register(worker.answers, selectors.EVENT_READ, worker)
        return worker

    def _end(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        self._selector.unregister(worker.answers)
        worker.end()

    def _seconds_until_overdue(self) -> float | None:
        """How long to wait for an answer; kills workers that ignore their time limit."""
        now = _core.monotonic_seconds()
        busy = [worker for worker in self._workers if worker.job and not worker.overdue]
        for worker in busy:
            if worker.kill_at <= now:
                worker.overdue = True
                worker.process.kill()
        earliest = min((one.kill_at for one in busy if not one.overdue), default=math.inf)
        return None if earliest == math.inf else earliest - now

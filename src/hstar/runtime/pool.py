"""A pool of worker processes, for everything that runs several jobs at a time.

    with Pool(processes=4) as pool:
        pool.submit("first", function, argument, time_limit=60)
        key, answer = pool.next()

A job is a function that can be imported, and its arguments. Each worker runs one job at a time. If
a worker dies, its job gets the answer `Lost`, and a new worker takes its place. All workers die
with the process that started them, even if that process is killed.
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
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import hstar
from hstar import _core

COMMAND = (sys.executable, "-P", "-m", "hstar.runtime.worker")
EXIT_SECONDS = 10.0  # from the end of a worker's output to its exit
GRACE_SECONDS = 30.0  # past the time limit of a job before its worker is killed: it may be loading


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


@dataclass(frozen=True, slots=True)
class _Job:
    key: Hashable
    call: bytes  # the pickled function and arguments
    time_limit: float | None


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
        self.job: _Job | None = None
        self.kill_at = math.inf
        self.overdue = False
        self._send(pickle.dumps([path or os.getcwd() for path in sys.path]))

    def start(self, job: _Job) -> None:
        self.job = job
        limit = math.inf if job.time_limit is None else job.time_limit + GRACE_SECONDS
        self.kill_at = _core.monotonic_seconds() + limit
        self._send(job.call)

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
        self._waiting: collections.deque[_Job] = collections.deque()
        self._workers: list[_Worker] = []
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self._workers[::-1]:
            self._end(worker)
        self._selector.close()

    def __len__(self) -> int:
        """How many jobs have no answer yet."""
        return len(self._waiting) + sum(worker.job is not None for worker in self._workers)

    def submit(
        self,
        key: Hashable,
        function: Callable[..., Any],
        *arguments: Any,
        time_limit: float | None = None,
    ) -> None:
        """Add a job. Jobs start in the order in which they are submitted."""
        self._waiting.append(_Job(key, pickle.dumps((function, arguments)), time_limit))

    def next(self) -> tuple[Any, Any]:
        """Wait for a job: its key, and what it returned, or `Lost` if its worker died.

        Raises what the job raised.
        """
        while True:
            self._start_jobs()
            for key, _ in self._selector.select(self._seconds_until_overdue()):
                worker: _Worker = key.data
                job, (returned, answer) = worker.job, worker.receive()
                worker.job = None
                if not returned or isinstance(answer, Lost) or self._is_spent(answer):
                    self._end(worker)
                if not returned:
                    raise answer
                if job is not None:  # else it died while it was idle
                    return job.key, answer

    def _start_jobs(self) -> None:
        idle = [worker for worker in self._workers if worker.job is None]
        while self._waiting and (idle or len(self._workers) < self._processes):
            worker = idle.pop() if idle else self._add_worker()
            worker.start(self._waiting.popleft())
        if not len(self):
            raise ValueError("the pool has no job to wait for")

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

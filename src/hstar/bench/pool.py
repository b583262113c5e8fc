"""Worker processes for benchmark runs: hand out jobs, collect outcomes, survive what crashes.

One process waits for all workers; nothing here is threaded. A worker that dies costs the run it was
working on, which gets the outcome "crashed", and is replaced.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import IO, Any

import hstar
from hstar import _core

COMMAND = (sys.executable, "-P", "-m", "hstar.bench.worker")
GRACE_SECONDS = 30.0  # past its time limit before a worker is ended: it may be loading a model

Job = dict[str, Any]
Outcome = dict[str, Any]


class _Worker:
    """A process, and the job it is busy with."""

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
                "OMP_NUM_THREADS": "1",  # as many busy processes as jobs, not more
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, (packages, inherited))),
            },
            start_new_session=True,  # Ctrl-C is for the parent, which then ends the workers
        )
        self.job = -1  # index; -1 when there is none
        self.kill_at = float("inf")
        self.overdue = False

    @property
    def answers(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    def send(self, index: int, job: Job) -> None:
        self.job = index
        limit = job["time_limit"]
        self.kill_at = float("inf")
        if limit is not None:
            self.kill_at = _core.monotonic_seconds() + limit + GRACE_SECONDS
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it died while idle: its output has ended
            self.process.stdin.write(json.dumps(job).encode() + b"\n")
            self.process.stdin.flush()

    def receive(self) -> Outcome | None:
        """The outcome of the job; None if the process ended instead."""
        line = self.answers.readline()
        return json.loads(line) if line.endswith(b"\n") else None

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for file in (self.process.stdin, self.process.stdout, self.errors):
            if file is not None:
                with contextlib.suppress(BrokenPipeError):
                    file.close()

    def post_mortem(self) -> Outcome:
        """The outcome of the job that a process did not survive."""
        self.process.kill()
        code = self.process.wait()
        if self.overdue:
            message = "did not stop at the time limit and was ended"
            return {"coverage": 0, "error": "out of time", "exit_code": 23, "message": message}
        how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace").strip().splitlines()
        message = ": ".join([f"the process ended with {how}", *said[-1:]])
        return {"coverage": 0, "error": "crashed", "exit_code": code, "message": message}


def run_jobs(jobs: Sequence[Job], processes: int) -> Generator[tuple[int, Outcome], None, None]:
    """Carry out all jobs, `processes` at a time; yields (index of the job, outcome) as they end.

    Jobs begin in their order. Workers are ended when the iterator is closed.
    """
    waiting = iter(range(len(jobs)))
    workers: list[_Worker] = []
    with selectors.DefaultSelector() as selector:
        try:

            def start(worker: _Worker | None) -> None:
                """Give the next job to a worker, or to a new one; none are left over idle."""
                index = next(waiting, -1)
                if index < 0:
                    return
                if worker is None:
                    worker = _Worker()
                    workers.append(worker)
                    selector.register(worker.answers, selectors.EVENT_READ, worker)
                worker.send(index, jobs[index])

            for _ in range(min(processes, len(jobs))):
                start(None)
            while any(worker.job >= 0 for worker in workers):
                for key, _ in selector.select(_seconds_until_overdue(workers)):
                    worker: _Worker = key.data
                    index, outcome = worker.job, worker.receive()
                    worker.job = -1
                    healthy = outcome is not None and outcome["error"] != "out of memory"
                    if outcome is None:
                        outcome = worker.post_mortem()
                    if not healthy:  # what is left of it must not count against the next run
                        selector.unregister(worker.answers)
                        workers.remove(worker)
                        worker.end()
                    if index >= 0:
                        yield index, outcome
                    start(worker if healthy else None)
        finally:
            for worker in workers:
                worker.end()


def _seconds_until_overdue(workers: list[_Worker]) -> float | None:
    """How long to wait for answers; ends those who should have answered long ago."""
    now = _core.monotonic_seconds()
    for worker in workers:
        if worker.job >= 0 and worker.kill_at <= now:
            worker.overdue = True
            worker.process.kill()
    times = [w.kill_at for w in workers if w.job >= 0 and not w.overdue]
    earliest = min(times, default=float("inf"))
    return None if earliest == float("inf") else max(earliest - now, 0.0)

"""Worker processes, and a thread for each that hands it requests and waits for the answers.

A worker that dies takes down only the attempt it was at. A worker that has needed much memory is
replaced, because what an allocator keeps would count against the limit of the next problem.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

import hstar
from hstar.pddl import PddlError, UnsupportedPddlError
from hstar.runtime.resources import OutOfResources
from hstar.search import InvalidPlanError
from hstar.teachers.attempt import Attempt

Key = tuple[int, int]

_REPLACED_ABOVE_BYTES = 256 << 20
_ENDED_FROM_OUTSIDE = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Pool:
    """Attempts run in `jobs` processes. Use as a context manager; leaving it ends them all."""

    def __init__(self, jobs: int) -> None:
        self._requests: queue.SimpleQueue[tuple[Key, dict[str, Any]] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[tuple[Key, dict[str, Any] | int]] = queue.SimpleQueue()
        self._workers: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self._closing = False
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(jobs)]
        self.waiting = 0

    def __enter__(self) -> Pool:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._closing = True
            for worker in self._workers:
                worker.kill()
        for _ in self._threads:
            self._requests.put(None)
        for thread in self._threads:
            thread.join()

    def submit(self, key: Key, request: dict[str, Any]) -> None:
        self.waiting += 1
        self._requests.put((key, request))

    def next(self) -> tuple[Key, Attempt]:
        """Wait for an attempt to end. Raises what must end the whole run.

        A worker that was killed is reported as out of memory, since the kernel does so then.
        """
        key, answer = self._answers.get()
        self.waiting -= 1
        if isinstance(answer, int):
            return key, Attempt(_status_of_death(answer))
        if "error" in answer:
            raise _failure(answer["error"], answer["details"])
        attempt = Attempt.from_json(answer["attempt"])
        if attempt.status in ("terminated", "interrupted"):
            raise OutOfResources("terminated", 128 + signal.SIGTERM)
        return key, attempt

    def _serve(self) -> None:
        """The life of a thread: one worker at a time, one request at a time."""
        worker: subprocess.Popen[bytes] | None = None
        try:
            while (item := self._requests.get()) is not None:
                key, request = item
                if worker is not None and worker.poll() is not None:  # died with nothing to do
                    self._end(worker)
                    worker = None
                try:
                    worker = worker or self._start()
                except OSError:  # no more processes or memory
                    details = [traceback.format_exc()]
                    self._answers.put((key, {"error": "internal", "details": details}))
                    return
                if worker is None:
                    return
                answer = _ask(worker, request)
                self._answers.put((key, answer))
                if isinstance(answer, int) or answer.get("peak_bytes", 0) > _REPLACED_ABOVE_BYTES:
                    self._end(worker)
                    worker = None
        finally:
            if worker is not None:
                self._end(worker)

    def _start(self) -> subprocess.Popen[bytes] | None:
        """A new worker in a group of its own: Ctrl-C on a terminal is for us alone."""
        root = str(Path(hstar.__file__).absolute().parent.parent)
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
        with self._lock:
            if self._closing:
                return None
            worker = subprocess.Popen(
                [sys.executable, "-P", "-m", "hstar.teachers.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
                process_group=0,
            )
            self._workers.append(worker)
        return worker

    def _end(self, worker: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._workers.remove(worker)
        worker.kill()
        worker.wait()
        for stream in (worker.stdin, worker.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def _ask(worker: subprocess.Popen[bytes], request: dict[str, Any]) -> dict[str, Any] | int:
    """The answer to a request, or the exit code of a worker that died over it."""
    assert worker.stdin is not None and worker.stdout is not None
    try:
        worker.stdin.write(json.dumps(request).encode() + b"\n")
        worker.stdin.flush()
        line = worker.stdout.readline()
    except BrokenPipeError:
        line = b""
    if not line.endswith(b"\n"):
        return worker.wait()
    answer: dict[str, Any] = json.loads(line)
    return answer


def _status_of_death(code: int) -> str:
    if code == -signal.SIGKILL:
        return "out of memory"
    if -code in _ENDED_FROM_OUTSIDE:
        raise OutOfResources("terminated", 128 + signal.SIGTERM)
    if code < 0:
        return "crashed"
    raise RuntimeError(f"a worker process ended with exit code {code}; see its messages above")


def _failure(kind: str, details: list[Any]) -> Exception:
    """The exception that a worker met, as good as new."""
    if kind == "input":
        return PddlError(*details)
    if kind == "unsupported":
        return UnsupportedPddlError(*details)
    if kind == "invalid plan":
        return InvalidPlanError(*details)
    return RuntimeError(f"in a worker process:\n{details[0]}")

"""Limits of time and memory, in Python and in the core.

The core checks the deadline and the resident size itself. While Python code runs, a timer signal
guards the deadline; a limit on the data segment guards memory in both.
"""

from __future__ import annotations

import re
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from hstar import _core


class OutOfResources(Exception):
    """A limit was reached or a signal arrived before there was a result."""

    def __init__(self, status: str, exit_code: int) -> None:
        super().__init__(status)
        self.status = status
        self.exit_code = exit_code


_STOPPED = {  # the core's word -> (status, exit code)
    "time": ("out of time", 23),
    "memory": ("out of memory", 22),
    "interrupt": ("interrupted", 128 + signal.SIGINT),
    "terminate": ("terminated", 128 + signal.SIGTERM),
}


@dataclass(frozen=True, slots=True)
class Budget:
    """`deadline` is a time of the monotonic clock, 0 for none; `memory_bytes` 0 for no limit."""

    deadline: float = 0.0
    memory_bytes: int = 0

    @staticmethod
    def starting_now(seconds: float | None, memory_bytes: int | None) -> Budget:
        deadline = _core.monotonic_seconds() + seconds if seconds is not None else 0.0
        return Budget(deadline, memory_bytes or 0)

    @contextmanager
    def enforced(self) -> Iterator[None]:
        """Holds Python code to the budget; raises OutOfResources."""
        limits = resource.getrlimit(resource.RLIMIT_DATA)
        if self.memory_bytes:
            resource.setrlimit(resource.RLIMIT_DATA, (self.memory_bytes, limits[1]))
        old = _install(signal.SIGALRM, _on_alarm)
        self._start_timer()
        try:
            yield
        except MemoryError:
            raise OutOfResources(*_STOPPED["memory"]) from None
        finally:
            _stop_timer()
            if old is not None:
                signal.signal(signal.SIGALRM, old)
            if self.memory_bytes:
                resource.setrlimit(resource.RLIMIT_DATA, limits)

    @contextmanager
    def native(self) -> Iterator[None]:
        """Around calls of the core, which keeps the deadline itself."""
        _stop_timer()
        try:
            yield
        except _core.Stopped as error:
            raise OutOfResources(*_STOPPED[str(error)]) from None
        finally:
            self._start_timer()

    def _start_timer(self) -> None:
        if self.deadline and _in_main_thread() and signal.getsignal(signal.SIGALRM) is _on_alarm:
            remaining = max(self.deadline - _core.monotonic_seconds(), 1e-3)
            signal.setitimer(signal.ITIMER_REAL, remaining)


def _on_alarm(_signal: int, _frame: FrameType | None) -> None:
    raise OutOfResources(*_STOPPED["time"])


def _install(number: int, handler: signal.Handlers | object) -> signal.Handlers | None:
    return signal.signal(number, handler) if _in_main_thread() else None  # type: ignore[arg-type,return-value]


def _stop_timer() -> None:
    if _in_main_thread():
        signal.setitimer(signal.ITIMER_REAL, 0)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


_TIME_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_MEMORY_UNITS = {"": 2**20, "K": 2**10, "M": 2**20, "G": 2**30}


def parse_time(text: str) -> float:
    """Seconds in "300", "5s", "1.5m", "2h". Raises ValueError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if not match or float(match[1]) == 0:
        raise ValueError(f"'{text}' is not a time; write for example 300, 5s, 5m or 2h")
    return float(match[1]) * _TIME_UNITS[match[2]]


def parse_memory(text: str) -> int:
    """Bytes in "500M", "8G", "4000K"; a plain number is megabytes. Raises ValueError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMG]?)(?:i?B)?", text, re.IGNORECASE)
    if not match or float(match[1]) == 0:
        raise ValueError(f"'{text}' is not an amount of memory; write for example 500M or 8G")
    return int(float(match[1]) * _MEMORY_UNITS[match[2].upper()])

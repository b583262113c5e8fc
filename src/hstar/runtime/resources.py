"""Limits of time and memory, in Python and in the core.

The core checks the deadline and the resident size itself. While Python code runs, a timer signal
does the same. A limit on the data segment stops what would grow too much between two checks; Python
must not approach that limit in small steps, because CPython 3.11 can hang when no memory is left.
"""

from __future__ import annotations

import math
import os
import re
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType

from hstar import _core

Handler = Callable[[int, FrameType | None], object] | int | None

_LONGEST_TIME = 1e9  # longer than any run; timers refuse larger numbers
_LARGEST_MEMORY = 2**62
_CHECK_SECONDS = 0.005
_GROWTH_BYTES = 4 * 2**20  # Python code allocates about 3 MB between two checks
_REMINDER_SECONDS = 0.5
_PR_SET_PDEATHSIG = 1


class OutOfResources(Exception):
    """A limit was reached or a signal arrived before there was a result."""

    def __init__(self, status: str, exit_code: int) -> None:
        super().__init__(status)
        self.status = status
        self.exit_code = exit_code


STOPPED = {  # reason given by the core -> (status, exit code)
    "time": ("out of time", 23),
    "memory": ("out of memory", 22),
    "interrupt": ("interrupted", 128 + signal.SIGINT),
    "terminate": ("terminated", 128 + signal.SIGTERM),
}


def stopped(reason: str) -> OutOfResources:
    return OutOfResources(*STOPPED[reason])


@dataclass(frozen=True, slots=True)
class Budget:
    """`deadline` is a time of the monotonic clock, 0 for none; `memory_bytes` 0 for no limit."""

    deadline: float = 0.0
    memory_bytes: int = 0

    @staticmethod
    def starting_now(seconds: float | None, memory_bytes: int | None, age: float = 0.0) -> Budget:
        """Limits from now on, or from `age` seconds ago; None means no limit. Raises ValueError
        unless they are positive."""
        for limit, name in ((seconds, "time"), (memory_bytes, "memory")):
            if limit is not None and not limit > 0:
                raise ValueError(f"the {name} limit must be positive, not {limit}")
        end = _core.monotonic_seconds() - age + min(seconds or 0, _LONGEST_TIME)
        return Budget(end if seconds else 0.0, min(memory_bytes or 0, _LARGEST_MEMORY))

    @staticmethod
    def by_default() -> Budget:
        """No limit of time, and half of the memory that the machine can still give."""
        return Budget(0.0, _resident_bytes() + available_bytes() // 2)

    @property
    def seconds_left(self) -> float:
        """Infinite without a deadline."""
        return self.deadline - _core.monotonic_seconds() if self.deadline else math.inf

    def within(self, seconds: float) -> Budget:
        """The budget, but at most so many seconds from now."""
        if seconds >= self.seconds_left:
            return self
        return Budget(_core.monotonic_seconds() + seconds, self.memory_bytes)

    @property
    def limits(self) -> tuple[float, int]:
        """As the functions of the core take them, as their last arguments."""
        return self.deadline, self.memory_bytes

    @contextmanager
    def enforced(self) -> Iterator[None]:
        """Enforce the budget on Python code. Raises OutOfResources, also for SIGINT and SIGTERM."""
        self.check()
        limits = resource.getrlimit(resource.RLIMIT_DATA)
        if self.memory_bytes:
            finite = [limit for limit in limits if limit != resource.RLIM_INFINITY]
            # What is reserved by now, but not resident, may stay so: stacks and buffers of threads.
            # Leave some room, so that the timer stops steady growth and only large jumps run into
            # this limit.
            room = self.memory_bytes - _resident_bytes() + _GROWTH_BYTES
            data = _resident_bytes(kind=_DATA) + room
            resource.setrlimit(resource.RLIMIT_DATA, (min([data, *finite]), limits[1]))
        old = _install({signal.SIGALRM: self._on_alarm, signal.SIGTERM: _on_terminate})
        self._start_timer()
        try:
            yield
        except MemoryError:
            raise OutOfResources(*STOPPED["memory"]) from None
        except KeyboardInterrupt:
            raise OutOfResources(*STOPPED["interrupt"]) from None
        finally:
            # A handler that runs late must not start the timer again: without it, an alarm kills.
            _install({signal.SIGALRM: lambda _signal, _frame: None})
            _stop_timer()
            _install(old)
            if self.memory_bytes:
                resource.setrlimit(resource.RLIMIT_DATA, limits)

    @contextmanager
    def native(self, *, resume: bool = True) -> Iterator[None]:
        """Use around calls of the core, which checks the deadline itself.

        `resume` says whether the timer guards the Python code that follows. If another budget is
        in force around this one, its timer keeps running.
        """
        if self._has_timer():
            _stop_timer()
        try:
            yield
        except _core.Stopped as error:
            raise stopped(str(error)) from None
        finally:
            if resume:
                self._start_timer()

    def _start_timer(self) -> None:
        if self._has_timer() and (self.memory_bytes or self.deadline):
            left = max(self.deadline - _core.monotonic_seconds(), 1e-3)
            signal.setitimer(signal.ITIMER_REAL, _CHECK_SECONDS if self.memory_bytes else left)

    def _has_timer(self) -> bool:
        return _in_main_thread() and signal.getsignal(signal.SIGALRM) == self._on_alarm

    def _on_alarm(self, _signal: int, _frame: FrameType | None) -> None:
        try:
            self.check()
        except OutOfResources:
            # Fire again later, in case a destructor swallows this exception, but not immediately,
            # while it is still propagating.
            signal.setitimer(signal.ITIMER_REAL, _REMINDER_SECONDS)
            raise
        self._start_timer()

    def check(self) -> None:
        """Raises OutOfResources if a limit is reached."""
        if self.deadline and _core.monotonic_seconds() >= self.deadline:
            raise OutOfResources(*STOPPED["time"])
        if self.memory_bytes and _resident_bytes() > self.memory_bytes:
            raise OutOfResources(*STOPPED["memory"])


def process_age() -> float:
    """Seconds since this process was started, most of them spent on importing modules."""
    with open("/proc/self/stat", "rb") as file:
        ticks = int(file.read().rpartition(b")")[2].split()[19])
    return max(time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"), 0.0)


@contextmanager
def raising_interrupts() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt, as Python users expect, instead of OutOfResources."""
    try:
        yield
    except OutOfResources as error:
        if error.status == "interrupted":
            raise KeyboardInterrupt from None
        raise


_RESIDENT, _DATA = 1, 5  # columns of statm: resident pages; pages of data, resident or not


def _resident_bytes(kind: int = _RESIDENT) -> int:
    with open("/proc/self/statm", "rb", buffering=0) as file:
        return int(file.read().split()[kind]) * resource.getpagesize()


def available_bytes() -> int:
    """How much memory this process could still have without swapping, by the system's estimate."""
    with open("/proc/meminfo") as file:
        found = re.search(r"^MemAvailable: *(\d+) kB", file.read(), re.MULTILINE)
    free = 1024 * int(found[1]) if found else _LARGEST_MEMORY
    with suppress(OSError, ValueError), open("/sys/fs/cgroup/memory.max") as file:
        free = min(free, max(int(file.read()) - _resident_bytes(), 0))  # "max" is no number
    return free


def _on_terminate(_signal: int, _frame: FrameType | None) -> None:
    raise OutOfResources(*STOPPED["terminate"])


def _install(handlers: Mapping[int, Handler]) -> dict[int, Handler]:
    """Set signal handlers and return the previous ones; only the main thread can do this."""
    if not _in_main_thread():
        return {}
    return {
        number: signal.signal(number, handler)
        for number, handler in handlers.items()
        if handler is not None  # set by C code, so Python cannot restore it
    }


def _stop_timer() -> None:
    if _in_main_thread():
        signal.setitimer(signal.ITIMER_REAL, 0)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def end_with_parent(parent: int) -> None:
    """Ask the system to kill this process when its parent (this process id) dies."""
    import ctypes  # takes as long to import as all that planning needs of the standard library

    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent had died before this call
        os._exit(1)


_TIME_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_MEMORY_UNITS = {"": 2**20, "K": 2**10, "M": 2**20, "G": 2**30}


def parse_time(text: str) -> float:
    """Seconds in "300", "5s", "1.5m", "2h". Raises ValueError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if not match or float(match[1]) == 0:
        raise ValueError(f"'{text}' is not a time; write for example 300, 5s, 5m or 2h")
    return min(float(match[1]) * _TIME_UNITS[match[2]], _LONGEST_TIME)


def parse_memory(text: str) -> int:
    """Bytes in "500M", "8G", "4000K"; a plain number is megabytes. Raises ValueError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMG]?)(?:i?B)?", text, re.IGNORECASE)
    if not match or float(match[1]) == 0:
        raise ValueError(f"'{text}' is not an amount of memory; write for example 500M or 8G")
    return int(min(float(match[1]) * _MEMORY_UNITS[match[2].upper()], _LARGEST_MEMORY))

"""How long learning may take, and what it has taken so far."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path

from hstar import _core
from hstar.learning.trials import Effort, MayStart
from hstar.runtime.journal import Journal, digest_of
from hstar.runtime.progress import Progress

SPENT = "spent"
# To read or to ground one problem: a share of the time, but a second; in short runs a larger share.
PREPARING_SHARE, LEAST_PREPARING, SHORT_PREPARING_SHARE = 0.02, 1.0, 0.1


class NotKept:
    """What a journal keeps, so that a run that was stopped goes on, is forgotten here."""

    def file(self, name: str) -> Path | None:
        return None

    def read(self, name: str) -> bytes | None:
        return None

    def write(self, name: str, content: bytes) -> None:
        pass


Kept = Journal | NotKept


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """`seconds` for everything, or with `steps` as much work for each search and no time limit.
    `memory_bytes` is for each of the `processes`. Without `is_judged` there is no verdict, and the
    race ends with the (one) problem itself: a plan of it ends everything. `began` is a time of the
    monotonic clock."""

    seconds: float = 600.0
    steps: int | None = None
    seed: int = 0
    processes: int = 1
    memory_bytes: int = 2**30
    is_judged: bool = True
    began: float = field(default_factory=_core.monotonic_seconds)

    @property
    def is_timed(self) -> bool:
        return self.steps is None

    def seconds_left(self, before: float = 0.0) -> float:
        """`before` are those of earlier runs. A moment is always left."""
        gone = before + _core.monotonic_seconds() - self.began
        return max(self.seconds - gone, 1e-9) if self.is_timed else math.inf

    @property
    def preparing_seconds(self) -> float:
        """To read one of many problems, and again to ground it; what takes longer is left out."""
        short = min(LEAST_PREPARING, SHORT_PREPARING_SHARE * self.seconds)
        return max(PREPARING_SHARE * self.seconds, short) if self.is_timed else math.inf

    def effort(self, share: float, most: float, times: int = 1) -> Effort:
        """For one job: a share of the time, or so many times the work of a search."""
        work = None if self.steps is None else times * self.steps
        return Effort(min(max(share * self.seconds, 0.1), most), work, self.memory_bytes)


class Watch:
    """The clock of a run, which goes on where an earlier one was stopped, and what it shows."""

    def __init__(self, options: LearnOptions, journal: Kept, progress: Progress) -> None:
        self.options, self.journal, self.progress = options, journal, progress
        self.before = float(json.loads(journal.read(SPENT) or b"0"))
        self.began = options.began - self.before
        self.jobs = 0

    def gone(self) -> float:
        return _core.monotonic_seconds() - self.began

    def may_start(self, share: float, needed: float) -> MayStart:
        """Whether there are so many seconds left within the first `share` of all time."""
        if not self.options.is_timed:
            return lambda: True
        return lambda: self.gone() + needed < share * self.options.seconds

    def read(self, name: str) -> bytes | None:
        """What was kept under a name of any length."""
        return self.journal.read(digest_of(name))

    def keep(self, name: str, content: bytes) -> None:
        self.journal.write(digest_of(name), content)
        if self.options.is_timed:
            self.journal.write(SPENT, json.dumps(self.gone()).encode())

    def show(self, text: str) -> None:
        """A live line after each job."""
        self.jobs += 1
        left = f"; {max(0.0, self.options.seconds - self.gone()):.0f} s left"
        self.progress.update(self.jobs, text + (left if self.options.is_timed else ""))

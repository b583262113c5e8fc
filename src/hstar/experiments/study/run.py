"""What all papers share: finished pieces on disk, work in processes, searches within limits."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

from hstar.experiments.study.page import Report
from hstar.experiments.study.published import choose
from hstar.planning import SearchResult
from hstar.runtime.atomic import write_atomically
from hstar.runtime.code import code_digest
from hstar.runtime.journal import JournalError, claim_settings
from hstar.runtime.pool import Lost, Pool
from hstar.runtime.progress import Progress
from hstar.runtime.resources import Budget, OutOfResources

Row: TypeAlias = dict[str, Any]
Say = Callable[[str], None]
Piece = tuple[Path, Callable[..., Any], tuple[Any, ...]]  # its file, what makes it, of what
S = TypeVar("S")
R = TypeVar("R")

EXPECTED = ("out of time", "out of memory")


@dataclass(frozen=True)
class StudyRun(ABC, Generic[S, R]):
    """The experiments of a paper with the settings `scale`, below a directory. A stopped run makes
    only what is missing. `jobs` pieces are made at once, one thread each. `suite` is a folder of
    given problems, `models` one of certified files; `peers` maps the names of other planners to
    commands with {domain}, {problem}, {plan} and {limit}."""

    scales: ClassVar[Mapping[str, Any]]
    scale: S
    directory: Path
    jobs: int = 1
    device: str = "auto"
    seed: int = 0
    say: Say = print
    suite: Path | None = None
    models: Path | None = None
    peers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def scale_of(cls, name: str, **options: Any) -> S:
        """The settings of a named scale, with these options in place of its own. Raises
        ValueError."""
        found: S = cls.scales[choose("scale", cls.scales, [name])[0]].changed(**options)
        return found

    @abstractmethod
    def execute(self) -> R:
        """All stages but the page. Raises JournalError where the directory holds another run."""

    @abstractmethod
    def report(self, results: R, scale: str) -> Report:
        """What the page shows."""

    def keep_settings(self) -> None:
        """Write the settings to experiment.json, so that files of other settings are not reused.
        Raises JournalError if the directory holds another experiment, or anything else."""
        settings = self.directory / "experiment.json"
        if not settings.exists() and any(self.directory.iterdir()):
            message = "this folder holds files of other work; choose another -o"
            raise JournalError(message, str(self.directory))
        scale = asdict(self.scale)  # type: ignore[call-overload]
        suite = None if self.suite is None else str(self.suite.absolute())
        held = {"scale": scale, "seed": self.seed, "suite": suite, "code": code_digest()}
        claim_settings(settings, held)

    def quiet(self) -> Self:
        """For worker processes, which leave talking to the one that started them."""
        return replace(self, say=say_nothing)

    def begins(self, output: Path, what: str) -> bool:
        """Whether a file is still to be made; if so, says what is done and makes its folder."""
        if output.is_file():
            return False
        output.parent.mkdir(parents=True, exist_ok=True)
        self.say(what)
        return True

    def carry_out(self, what: str, pieces: Sequence[Piece]) -> list[Any]:
        """What all pieces hold, after those that are not there yet have been made, by up to `jobs`
        processes."""
        missing = [piece for piece in pieces if not piece[0].is_file()]
        if missing:
            self.say(f"{what}, {len(missing)} parts")
            here = ((piece[0], make(*piece)) for piece in missing)
            jobs = ((piece[0], make, *piece) for piece in missing)
            with Progress(what, len(missing)) as progress, Pool(self.jobs) as pool:
                made = here if self.jobs == 1 else pool.answers(jobs)
                for count, (_, said) in enumerate(made, start=1):
                    if isinstance(said, Lost):
                        raise RuntimeError(f"a worker process failed: {said}")
                    progress.update(count, said)
        return [read_part(part) for part, *_ in pieces]


def make(part: Path, work: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    """Make a piece and keep it; returns a line about it."""
    start = time.monotonic()
    held = work(*arguments)
    write_part(part, held)
    said = (held.get("error") or held.get("status")) if isinstance(held, dict) else ""
    name = " ".join([*part.parts[-3:-1], part.stem])
    return f"{name}: {said or 'done'}, {time.monotonic() - start:.0f} s"


def write_part(path: Path, content: Any) -> None:
    """Keep a finished part of an experiment: its file is either whole or absent. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(content) + "\n")


def read_part(path: Path) -> Any:
    """None if the part is not finished yet."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def search_within(limit: float, memory: int, search: Callable[[Budget], SearchResult]) -> Row:
    """The row of a search that had so many seconds and bytes. What is found later or not validated
    is not solved. Raises OutOfResources and KeyboardInterrupt when the run itself is ended."""
    start = time.monotonic()
    budget = Budget.starting_now(limit, memory)
    try:
        with budget.enforced():
            result = search(budget)
    except OutOfResources as error:
        if error.status not in EXPECTED:
            raise
        return {"solved": False, "status": error.status}
    if result.status in ("interrupted", "terminated"):
        raise KeyboardInterrupt
    seconds = time.monotonic() - start
    is_late = result.solved and (result.unchecked is not None or seconds > limit)
    counted = ["plan_cost", "search_time", "evaluations", "evaluated", "expanded", "requested"]
    counted += ["training_time", "found_by"]
    return {
        "solved": result.solved and not is_late,
        "status": "out of time" if is_late else result.status,
        "seconds": seconds,
        "length": result.plan_length,
        **{name: getattr(result, name) for name in counted},
    }


def say_nothing(_: str) -> None:
    """Takes the place of `say` where nobody listens."""

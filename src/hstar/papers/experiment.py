"""What all recipes share: settings and finished parts on disk, published numbers, processes."""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from hstar.learning.trials import SIGNALS
from hstar.planning.result import SearchResult
from hstar.runtime.atomic import write_atomically
from hstar.runtime.code import code_digest
from hstar.runtime.journal import JournalError, claim_settings
from hstar.runtime.pool import Lost, Pool
from hstar.runtime.progress import Progress
from hstar.runtime.resources import Budget, OutOfResources

Say = Callable[[str], None]
S = TypeVar("S")

EXPECTED = ("out of time", "out of memory")


@dataclass(frozen=True)
class Experiment(Generic[S]):
    """Where and how to run a recipe. `jobs` processes work at once, one thread each."""

    scale: S
    directory: Path
    jobs: int = 1
    device: str = "auto"
    seed: int = 0
    say: Say = print

    def keep_settings(self) -> None:
        """Write the settings to experiment.json, so that files of other settings are not reused.
        Raises JournalError if the directory holds another experiment, or anything else."""
        settings = self.directory / "experiment.json"
        if not settings.exists() and any(self.directory.iterdir()):
            message = "this folder holds files of other work; choose another -o"
            raise JournalError(message, str(self.directory))
        claim_settings(settings, self.settings())

    def settings(self) -> dict[str, Any]:
        """All that results depend on."""
        scale = asdict(self.scale)  # type: ignore[call-overload]
        return {"scale": scale, "seed": self.seed, "code": code_digest()}

    def begins(self, output: Path, what: str) -> bool:
        """Whether a file is still to be made; if so, says what is done and makes its folder."""
        if output.is_file():
            return False
        output.parent.mkdir(parents=True, exist_ok=True)
        self.say(what)
        return True


def read_published(module: str, name: str = "published.toml") -> dict[str, Any]:
    """What a paper prints, from a TOML file beside the module's file."""
    return tomllib.loads(Path(module).with_name(name).read_text(encoding="utf-8"))


def write_part(path: Path, content: Any) -> None:
    """Keep a finished part of an experiment: its file is either whole or absent. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(content) + "\n")


def read_part(path: Path) -> Any:
    """None if the part is not finished yet."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def in_processes(
    jobs: int, work: Callable[..., str], arguments: Iterable[tuple[Any, ...]]
) -> Iterator[str]:
    """The results of `work` on each of the arguments, as they come, from up to `jobs` processes."""
    if jobs == 1:
        for item in arguments:
            yield work(*item)
        return
    with Pool(jobs) as pool:
        for number, item in enumerate(arguments):
            pool.submit(number, work, *item)
        while pool:
            _, answer = pool.next()
            if isinstance(answer, Lost):
                raise RuntimeError(f"a worker process failed: {answer}")
            yield answer


def run_all(
    experiment: Experiment[Any],
    what: str,
    work: Callable[..., str],
    arguments: list[tuple[Any, ...]],
) -> None:
    """In processes, with a line for each part that is done."""
    if not arguments:
        return
    experiment.say(f"{what}, {len(arguments)} parts")
    with Progress(what, len(arguments)) as progress:
        for count, text in enumerate(in_processes(experiment.jobs, work, arguments), start=1):
            progress.update(count, text)


def search_within(
    limit: float, memory: int, search: Callable[[Budget], SearchResult | None]
) -> dict[str, Any]:
    """The row of a search that had so many seconds and bytes. What is found later or not validated
    is not solved. `search` returns None where there is no network to search with. Raises
    OutOfResources and KeyboardInterrupt when the run itself is ended."""
    start = time.monotonic()
    budget = Budget.starting_now(limit, memory)
    try:
        with budget.enforced():
            result = search(budget)
    except OutOfResources as error:
        if error.status not in EXPECTED:
            raise
        return {"solved": False, "status": error.status}
    if result is None:
        return {"solved": False, "status": "no network", "seconds": limit}
    if result.status in SIGNALS:
        raise KeyboardInterrupt
    seconds = time.monotonic() - start
    is_late = result.solved and (result.unchecked is not None or seconds > limit)
    return {
        "solved": result.solved and not is_late,
        "status": "out of time" if is_late else result.status,
        "seconds": seconds,
        "length": result.plan_length,
        **{name: getattr(result, name) for name in ("search_time", "evaluated", "expanded")},
        **{name: getattr(result, name) for name in ("requested", "training_time", "found_by")},
    }


def say_nothing(_: str) -> None:
    """Worker processes leave reporting to the one that started them."""


def timed(say: Say) -> Say:
    """Puts the seconds since now before each line."""
    start = time.monotonic()
    return lambda text: say(f"[{time.monotonic() - start:6.1f} s] {text}")

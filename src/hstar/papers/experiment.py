"""What all recipes share: settings kept beside the files they made, work in processes, progress."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from hstar.pddl.errors import InputFileError
from hstar.runtime.atomic import write_atomically
from hstar.runtime.resources import end_with_parent
from hstar.version import VERSION

Say = Callable[[str], None]


class ExperimentError(InputFileError):
    """A directory holds the files of another experiment."""


def keep_settings(directory: Path, settings: Mapping[str, Any]) -> None:
    """Write what is run to experiment.json, so that files of other settings are not reused.

    Raises ExperimentError where the directory holds another experiment.
    """
    path = directory / "experiment.json"
    text = json.dumps({**settings, "hstar": VERSION}, indent=1, default=list) + "\n"
    if path.is_file() and path.read_text(encoding="utf-8") != text:
        raise ExperimentError(
            "the directory holds an experiment with other settings; choose another directory "
            "with -o, or delete this one",
            str(path),
        )
    write_atomically(path, text)


def in_processes(
    jobs: int, work: Callable[..., str], arguments: Iterable[tuple[Any, ...]]
) -> Iterator[str]:
    """Results of `work` on each of the arguments, as they come, from up to `jobs` processes.

    The processes end with this one, even if it is killed: two runs never write the same files.
    """
    waiting = list(arguments)
    if jobs == 1:
        for item in waiting:
            yield work(*item)
        return
    with ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=end_with_parent, initargs=(os.getpid(),)
    ) as pool:
        futures: list[Future[str]] = [pool.submit(work, *item) for item in waiting]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def say_nothing(_: str) -> None:
    """Worker processes leave reporting to the one that started them."""


def timed(say: Say) -> Say:
    """Puts the seconds since now before each line."""
    start = time.monotonic()

    def say_with_time(text: str) -> None:
        say(f"[{time.monotonic() - start:6.1f} s] {text}")

    return say_with_time

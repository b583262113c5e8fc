"""What is finished, kept on disk while a run lasts, so that a killed run goes on where it was.

A folder beside the output:

    run.json      what is being done: options and digests, to notice that something else is asked
    00012-03.json problem 12 of the folder, retry 3: the attempt, under a digest of its bytes
    lock          held by the process that writes here

Every file is written under another name and renamed. A file that does not match its digest, or that
belongs to another problem text or other limits, is as good as none.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hstar.pddl.errors import InputFileError
from hstar.runtime.atomic import write_atomically
from hstar.teachers.attempt import Attempt


class JournalError(InputFileError):
    """A journal that this run cannot go on with."""

    exit_code = 36


class Journal:
    """`run` describes the work; `warn` is told of what could not be used."""

    def __init__(self, path: Path, run: dict[str, Any], warn: Callable[[str], None]) -> None:
        self.path = path
        self._run = run
        self._warn = warn

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Hold the folder. Raises JournalError if it is of another run or in use, and OSError."""
        existed = self.path.exists()
        self.path.mkdir(exist_ok=True)
        handle = os.open(self.path / "lock", os.O_CREAT | os.O_RDWR, 0o666)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise JournalError(
                    "another process is labelling into this file; wait for it to end",
                    str(self.path),
                ) from None
            if existed:
                self._check()
            write_atomically(self.path / "run.json", json.dumps(self._run, indent=1) + "\n")
            yield
        finally:
            os.close(handle)

    def read(self, name: str, task: str) -> Attempt | None:
        """The attempt kept under a name, if it is whole and of this task (a digest)."""
        path = self._file(name)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            text = ""
        digest, _, content = text.partition("\n")
        if digest == hashlib.sha256(content.encode()).hexdigest():
            fields = json.loads(content)
            try:
                if fields["task"] == task:
                    return Attempt.from_json(fields["attempt"])
            except (KeyError, TypeError):
                pass
        self._warn(f"{path} is damaged; its problem is solved again")
        return None

    def write(self, name: str, task: str, attempt: Attempt) -> None:
        content = json.dumps({"task": task, "attempt": attempt.to_json()})
        digest = hashlib.sha256(content.encode()).hexdigest()
        write_atomically(self._file(name), f"{digest}\n{content}")

    def remove(self) -> None:
        """Once the output is complete."""
        shutil.rmtree(self.path)

    def _file(self, name: str) -> Path:
        return self.path / f"{name}.json"

    def _check(self) -> None:
        """Raises JournalError where the journal was begun for something else."""
        path = self.path / "run.json"
        try:
            before = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:  # killed before it was written, so before anything else was
            return
        except ValueError:
            self._warn(f"{path} is damaged; what was finished is checked one by one")
            return
        differences = list(_differences(before, self._run))
        if differences:
            raise JournalError(
                f"an unfinished run with other settings is kept here ({'; '.join(differences)}); "
                "go on with the same settings, or delete this folder to begin anew",
                str(self.path),
            )


def _differences(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """What is not as it was, for a person; long lists are named, not shown."""
    for name in dict.fromkeys([*before, *now]):
        old, new = before.get(name), now.get(name)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            names = [key for key in dict.fromkeys([*old, *new]) if old.get(key) != new.get(key)]
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            yield f"{name}: {', '.join(names[:3])}{more} changed"
        elif name.endswith("_hash"):
            yield f"the {name.removesuffix('_hash')} changed"
        else:
            yield f"{name.replace('_', ' ')} was {_shown(old)}, is now {_shown(new)}"


def _shown(value: Any) -> str:
    return "not given" if value is None else str(value)

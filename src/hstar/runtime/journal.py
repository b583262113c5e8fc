"""A journal: finished pieces of long work, kept on disk so that a killed run loses none of them.

The journal of OUTPUT is the folder OUTPUT.partial:

    run.json     the settings: everything that decides the result
    NAME         one finished piece, with a digest of its content and of the settings
    lock         locked by the process that works here; lists the names of all files here

Every file is written under another name and then renamed. A piece that is damaged, or that was made
with other settings, does not count as finished. What is not listed in `lock` is not ours: a folder
without such a list is refused, and nothing else is ever removed.
"""

from __future__ import annotations

import fcntl
import glob
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hstar.pddl.errors import InputFileError
from hstar.runtime.atomic import naming_target, write_atomically

SETTINGS = "run.json"
LOCK = "lock"
MARK = "files of a journal of hstar:"


class JournalError(InputFileError):
    """The journal belongs to other work, or another process is using it."""

    exit_code = 36


def digest_of(content: bytes | str) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


class Journal:
    """`settings` is plain JSON. `warn` is called with a line about each damaged file."""

    def __init__(
        self, output: Path, settings: Mapping[str, Any], warn: Callable[[str], None]
    ) -> None:
        self.path = output.with_name(f"{output.name}.partial")
        self._settings = settings
        self._digest = digest_of(json.dumps(settings))
        self._warn = warn

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the folder. Raises JournalError if it is no journal, has other settings or is in
        use, OSError."""
        lock = self._open_lock()
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                advice = "wait for it to end, or choose another -o"
                message = f"another process is writing this output; {advice}"
                raise JournalError(message, str(self.path)) from None
            if self._names()[:1] != [MARK]:  # killed before it was written
                os.write(lock, f"{MARK}\n".encode())
            claim_settings(self.file(SETTINGS), self._settings, self._warn)
            yield
        finally:
            os.close(lock)

    def _open_lock(self) -> int:
        """Of a folder that is new, or empty, or ours."""
        try:
            with naming_target(self.path):
                self.path.mkdir(exist_ok=True)
                inside, lock = os.listdir(self.path), self.path / LOCK
                is_new = not inside or (inside == [LOCK] and not lock.lstat().st_size)
                mark, *names = self._names() or [""]
                is_ours = mark == MARK and all(map(_is_inside, names))
                if self.path.is_symlink() or not (is_new or is_ours):
                    raise FileExistsError
                how = os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW
                return os.open(lock, how, 0o666)
        except FileExistsError:
            message = "this is not a journal of hstar; move it away, or choose another -o"
            raise JournalError(message, str(self.path)) from None

    def _names(self) -> list[str]:
        """The lines of the lock: our mark, then names; none where there is no such file."""
        lock = self.path / LOCK
        if lock.is_symlink() or not lock.is_file():
            return []
        return lock.read_text(encoding="utf-8", errors="replace").splitlines()

    def file(self, name: str) -> Path:
        """The path of a file in this folder, which is removed with it."""
        if name not in self._names():
            with (self.path / LOCK).open("a", encoding="utf-8") as lock:
                lock.write(f"{name}\n")
        return self.path / name

    def read(self, name: str, key: str = "") -> bytes | None:
        """The content kept under a name, if it is whole and was written with the same key."""
        path = self.path / name
        try:
            found = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError:
            found = b""
        head, _, content = found.partition(b"\n")
        if head.decode(errors="replace") == self._head(key, content):
            return content
        self._warn(f"{path} is damaged; its work is done again")
        return None

    def write(self, name: str, content: bytes, key: str = "") -> None:
        write_atomically(self.file(name), self._head(key, content).encode() + b"\n" + content)

    def _head(self, key: str, content: bytes) -> str:
        return digest_of(f"{self._digest} {key} {digest_of(content)}")

    def count(self) -> int:
        return sum((self.path / name).is_file() for name in self._names()[1:] if name != SETTINGS)

    def remove(self) -> None:
        """Call this when the output is complete."""
        for name in [*self._names()[1:], LOCK]:
            halves = self.path.glob(f".{glob.escape(name)}.*")  # what a kill left
            for path in (self.path / name, *halves):
                path.unlink(missing_ok=True)
        if others := os.listdir(self.path):
            self._warn(f"{self.path} stays, because hstar did not write {', '.join(others)}")
        else:
            self.path.rmdir()


def _is_inside(name: str) -> bool:
    """Whether a name is one of a file in a folder, and leads nowhere else."""
    return name == os.path.basename(name) and name not in ("", os.curdir, os.pardir)


def claim_settings(
    path: Path, settings: Mapping[str, Any], warn: Callable[[str], None] = lambda _: None
) -> None:
    """Write the settings of some work to a file, unless it holds them already.

    Raises JournalError if it holds others, whose work must be neither mixed with this nor lost.
    """
    text = json.dumps(settings, indent=1, default=list) + "\n"
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        before = json.loads(text)
    except ValueError:
        warn(f"{path} is damaged; each finished piece is checked on its own")
        before = json.loads(text)
    differences = list(_differences(before, json.loads(text)))
    if differences:
        found = f"an unfinished run with other settings is kept here ({'; '.join(differences)})"
        advice = "run with the same settings, choose another -o, or delete this folder"
        raise JournalError(f"{found}; {advice} to start again", str(path.parent))
    write_atomically(path, text)


def _differences(before: Any, now: Mapping[str, Any]) -> Iterator[str]:
    """The settings that differ, for messages. Long values are named but not shown."""
    if not isinstance(before, dict):
        yield "the file does not contain settings"
        return
    for name in dict.fromkeys([*before, *now]):
        old, new = before.get(name), now.get(name)
        shown = name.replace("_", " ")
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            names = [key for key in dict.fromkeys([*old, *new]) if old.get(key) != new.get(key)]
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            yield f"{shown}: {', '.join(names[:3])}{more} changed"
        elif len(f"{old}{new}") > 60:
            yield f"the {shown} changed"
        else:
            yield f"{shown} was {_shown(old)}, is now {_shown(new)}"


def _shown(value: Any) -> str:
    return "not given" if value is None else str(value)

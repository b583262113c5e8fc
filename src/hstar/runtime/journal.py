"""A journal: finished pieces of long work, kept on disk so that a killed run loses none of them.

The journal of OUTPUT is the folder OUTPUT.partial:

    run.json     the settings: everything that decides the result
    NAME         one finished piece, with a digest of its content and of the settings
    lock         locked by the process that works here

Every file is written under another name and then renamed. A piece that is damaged, or that was made
with other settings, does not count as finished.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hstar.pddl.errors import InputFileError
from hstar.runtime.atomic import write_atomically

SETTINGS = "run.json"
LOCK = "lock"


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
        """Lock the folder. Raises JournalError if it has other settings or is in use, OSError."""
        try:
            self.path.mkdir(exist_ok=True)
        except FileExistsError:
            raise JournalError("this is not a journal; delete it", str(self.path)) from None
        except OSError as error:
            error.filename = f"cannot write {self.path}"
            raise
        handle = os.open(self.path / LOCK, os.O_CREAT | os.O_RDWR, 0o666)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise JournalError(
                    "another process is writing this output; wait for it to end, or choose "
                    "another -o",
                    str(self.path),
                ) from None
            claim_settings(self.path / SETTINGS, self._settings, self._warn)
            yield
        finally:
            os.close(handle)

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
        write_atomically(self.path / name, self._head(key, content).encode() + b"\n" + content)

    def _head(self, key: str, content: bytes) -> str:
        return digest_of(f"{self._digest} {key} {digest_of(content)}")

    def count(self) -> int:
        """How many pieces are kept."""
        names = {path.name for path in self.path.iterdir() if not path.name.startswith(".")}
        return len(names - {SETTINGS, LOCK})

    def remove(self) -> None:
        """Call this when the output is complete."""
        shutil.rmtree(self.path)


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
        raise JournalError(
            f"an unfinished run with other settings is kept here ({'; '.join(differences)}); run "
            "with the same settings, choose another -o, or delete this folder to start again",
            str(path.parent),
        )
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

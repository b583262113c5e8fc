"""Atomic files: a killed process never leaves a half-written file under its final name."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise now the OSError that write_atomically would raise later, after long work."""
    target = Path(path)
    with naming_target(target):
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if target.is_file() or not target.exists():
            tempfile.TemporaryFile(dir=target.parent).close()


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file completely or not at all. Raises OSError that names the final path."""
    write_parts_atomically(path, [content.encode() if isinstance(content, str) else content])


def write_parts_atomically(
    path: str | os.PathLike[str], parts: Iterable[bytes | memoryview]
) -> None:
    """The same for content in parts, which are not joined in memory."""
    target = Path(path)
    with naming_target(target):
        if target.exists() and not target.is_file():  # a pipe or device: nothing to rename over
            with target.open("wb") as file:
                file.writelines(parts)
            return
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(parts)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, target)
        except BaseException:
            with suppress(FileNotFoundError):  # a signal came right after the renaming
                os.unlink(temporary)
            raise


@contextmanager
def naming_target(target: Path) -> Iterator[None]:
    """Lets an OSError say what could not be written."""
    try:
        yield
    except OSError as error:
        error.filename = f"cannot write {target}"
        raise

"""Writing files so that a killed process never leaves half of one under its final name."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file completely or not at all. Raises OSError naming the final path."""
    target = Path(path)
    try:
        if target.exists() and not target.is_file():  # a pipe or device: nothing to rename over
            target.write_text(text, encoding="utf-8")
            return
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        error.filename = f"cannot write {target}"
        raise

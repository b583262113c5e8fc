"""What the program writes to: streams that are open, and a standard output that is safe to show."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from hstar.pddl.errors import escape


class Output(io.TextIOBase):
    """A stream on which control characters, in names from files, are shown and not obeyed. An error
    of writing says that it is one."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._naming():
            self._stream.write(escape(text, keep="\n\t"))
        return len(text)

    def flush(self) -> None:
        with self._naming():
            self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    @contextlib.contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            error.filename = "cannot write to standard output"
            # The rest of the output is dropped, or Python would fail over it again at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            raise


class Errors(Output):
    """Standard error. Where it cannot be written to, nothing can be said, and work goes on."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()


def open_streams() -> None:
    """Standard streams that the caller closed: nobody wants to read them, but files that are opened
    later must not take their place."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    sys.stdout = sys.stdout or io.StringIO()
    sys.stderr = Errors(sys.stderr or io.StringIO())
    if isinstance(sys.stdout, io.TextIOWrapper):  # it may not know the letters of PDDL names
        sys.stdout.reconfigure(errors="backslashreplace", line_buffering=True)

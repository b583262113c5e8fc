"""Finished runs on disk while a benchmark is under way, so that a kill loses only those in flight.

A text file beside the output: its first line says what the benchmark is, every further line is one
finished run. Lines are appended and synced one by one; a last line cut short by a kill is dropped.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from hstar.bench.rows import Row
from hstar.pddl.errors import InputFileError

FORMAT = "hstar-bench-journal-1"


class JournalError(InputFileError):
    """What is left of an earlier benchmark does not fit this one."""


class Journal:
    """Rows by run id. Use as a context manager: only one process can hold a journal."""

    def __init__(self, output: Path, setting: Mapping[str, Any]) -> None:
        """Open the journal of an output, or begin it. `setting` is what the rows depend on.

        Raises JournalError if another process holds it or if it was begun with another setting,
        and OSError naming the file.
        """
        self.path = output.with_name(output.name + ".journal")
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            error.filename = f"cannot write {self.path}"
            raise
        self._file = os.fdopen(handle, "r+b")
        self.rows: dict[str, Row] = {}
        try:
            self._lock()
            self._load(dict(setting))
        except BaseException:
            self._file.close()
            raise

    def add(self, row: Row) -> None:
        """Keep a finished run for good."""
        self._append(row)
        self.rows[row["run"]] = row

    def count_kept(self) -> int:
        """How many runs are in the file: after an interruption `rows` may lack the last."""
        self._file.flush()
        return self.path.read_bytes().count(b"\n") - 1

    def remove(self) -> None:
        """The benchmark is complete and written elsewhere."""
        self.path.unlink()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalError(
                "another 'hstar bench' is writing this output; wait for it or choose another -o",
                str(self.path),
            ) from None

    def _load(self, setting: dict[str, Any]) -> None:
        *lines, rest = self._file.read().split(b"\n")
        if rest:  # cut short by a kill while it was written
            self._file.truncate(sum(len(line) + 1 for line in lines))
        if not lines:
            self._append({"format": FORMAT, "setting": setting})
            return
        try:
            head, *rows = map(json.loads, lines)
            found = head["setting"] if head["format"] == FORMAT else None
            self.rows = {row["run"]: row for row in rows}
        except (ValueError, KeyError, TypeError):
            found = None
        if found is None:
            raise JournalError("this is no journal of 'hstar bench'; delete it", str(self.path))
        different = [name for name in setting if found.get(name) != setting[name]]
        if different:
            raise JournalError(
                "an unfinished benchmark with this output was begun with other "
                f"{_explain(different, found, setting)}; "
                "use the same again, choose another -o, or delete this file",
                str(self.path),
            )

    def _append(self, entry: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(entry).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def _explain(names: list[str], old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """What differs, with the values where they are short enough to read."""
    parts = []
    for name in names:
        before, now = json.dumps(old.get(name)), json.dumps(new[name])
        values = f" ({before}, now {now})" if len(before) + len(now) < 60 else ""
        parts.append(name.replace("_", " ") + values)
    return ", ".join(parts)

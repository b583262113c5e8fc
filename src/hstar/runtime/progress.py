"""Progress of long work: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time

from hstar.pddl.errors import escape

BAR_WIDTH = 28
TERMINAL_SECONDS = 0.1
PLAIN_SECONDS = 10.0


class Progress:
    """Reports on stderr, so that the output of a command can be piped.

    `total` is None if the end is not known. `already` is how much an earlier run finished; it is
    left out of the estimate of the time left. Use as a context manager, or call `close`.
    """

    shown_at_all = True  # --quiet turns it off for the whole program

    def __init__(self, title: str, total: int | None = None, already: int = 0) -> None:
        self.title = title
        self.total = total
        self.already = already
        self.stream = sys.stderr
        self.on_terminal = self.stream.isatty()
        self.started = time.monotonic()
        self.shown_at = float("-inf")
        self.line = ""
        self.shown = ""

    def update(self, done: int, text: str = "") -> None:
        """Report how much is `done`; shown only if the last line is old enough."""
        if not Progress.shown_at_all:
            return
        self.line = self._format(done, text)
        pause = TERMINAL_SECONDS if self.on_terminal else PLAIN_SECONDS
        if time.monotonic() - self.shown_at >= pause:
            self._show()

    def close(self) -> None:
        if self.line and self.line != self.shown:
            self._show()
        if self.on_terminal and self.shown:
            print(file=self.stream, flush=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _format(self, done: int, text: str) -> str:
        elapsed = time.monotonic() - self.started
        parts = [self.title]
        if self.total:
            share = min(done / self.total, 1.0)
            if self.on_terminal:
                filled = int(share * BAR_WIDTH)
                parts.append(f"[{'#' * filled}{'.' * (BAR_WIDTH - filled)}]")
            parts.append(f"{done}/{self.total}")
            if self.already < done < self.total:
                left = elapsed * (self.total - done) / (done - self.already)
                parts.append(f"{_clock(left)} left")
        else:
            parts.append(str(done))
        parts.append(f"{_clock(elapsed)} gone")
        if text:
            parts.append(text)
        return escape("  ".join(parts))

    def _show(self) -> None:
        self.shown_at = time.monotonic()
        self.shown = self.line
        if self.on_terminal:
            print(f"\r\x1b[2K{self.line}", end="", file=self.stream, flush=True)
        else:
            print(self.line, file=self.stream, flush=True)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"

"""Errors in input files: one line that says what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice


def escape(text: str, keep: str = "") -> str:
    """Make a message safe to print as one line, whatever names or paths it quotes. `keep` are
    control characters to leave as they are."""

    def shown(char: str) -> str:
        if char.isprintable() or char in keep:
            return char
        return char.encode("unicode_escape", "surrogatepass").decode()

    return text if text.isprintable() else "".join(map(shown, text))


def shorten(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 3] + "..."


def quote(name: object) -> str:
    """A name for a message: in quotes, and shortened if very long."""
    return f"'{shorten(str(name), 60)}'"


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """A hint for a message: the closest known name, if one is close."""
    import difflib  # slow to load, and only errors need it

    close = difflib.get_close_matches(name[:200], list(islice(known, 5000)), 1, cutoff)
    return f" (did you mean {quote(close[0])}?)" if close else ""


def check_known(what: str, name: str, known: Collection[str]) -> None:
    """Raises ValueError for a name that is not known."""
    if name not in known:
        hint = did_you_mean(str(name), known)
        raise ValueError(f"unknown {what} '{name}'{hint}; choose one of {', '.join(known)}")


class InputFileError(Exception):
    """A problem in an input file; `str(error)` is "file:line:column: what is wrong; what to do".

    `line` and `column` count from 1 and are None when the file could not be read at all.
    """

    exit_code = 31

    def __init__(
        self, message: str, path: str = "", line: int | None = None, column: int | None = None
    ) -> None:
        super().__init__(message, path, line, column)
        self.message = message
        self.path = path
        self.line = line
        self.column = column

    def __str__(self) -> str:
        place = self.path
        if self.line is not None:
            place += f":{self.line}:{self.column}"
        return escape(f"{place}: {self.message}" if place else self.message)


class PddlError(InputFileError):
    """The PDDL is malformed or uses undeclared names."""


class PddlWarning(UserWarning):
    """The PDDL breaks a rule, but its meaning is clear, and it is accepted."""


class UnsupportedPddlError(PddlError):
    """The PDDL uses a feature that hstar does not support; the message names it."""

    exit_code = 34

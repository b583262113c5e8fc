"""Errors in input files: one line that says what is wrong, where, and what to do."""

from __future__ import annotations

_LONGEST_QUOTE = 60


def escape(text: str) -> str:
    """Make a message safe to print as one line, whatever names or paths it quotes."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode()
        for char in text
    )


def quote(name: object) -> str:
    """A name for a message: in quotes, and shortened if very long."""
    text = str(name)
    if len(text) > _LONGEST_QUOTE:
        text = text[: _LONGEST_QUOTE - 3] + "..."
    return f"'{text}'"


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

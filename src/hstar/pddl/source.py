"""A text file in memory, and positions in it.

Positions are character offsets; only errors convert them to line and column. To keep offsets valid,
nothing here changes the length of the text: comments become spaces, CR LF becomes space LF,
and only ASCII letters are lower-cased (lower-casing the rest can change their number).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from hstar.pddl.errors import InputFileError, PddlError

# Larger than any real benchmark; stops `hstar plan /dev/zero` before it fills the memory.
_MAX_BYTES = 1 << 30
_CHUNK_BYTES = 1 << 20
_COMMENT = re.compile(r";[^\n]*")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_UNREADABLE = {
    FileNotFoundError: "there is no such file; check the path",
    IsADirectoryError: "this is a directory; name a file inside it",
    PermissionError: "no permission to read the file; check its mode",
}
_PARENTHESIS_OR_NAME = re.compile(r"[()]|\??[^()\s?]+|\?")


@dataclass(slots=True)
class Source:
    """The text of one file, lower-cased and without comments."""

    path: str
    text: str
    error_class: type[InputFileError] = PddlError
    warned: set[str] = field(default_factory=set)  # kinds of warnings given

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1."""
        return self.text.count("\n", 0, offset) + 1, offset - self.text.rfind("\n", 0, offset)

    def error(
        self, offset: int, message: str, kind: type[InputFileError] | None = None
    ) -> InputFileError:
        return (kind or self.error_class)(message, self.path, *self.place(offset))

    def item_offset(self, list_start: int, index: int) -> int:
        """Offset of item number `index` of the list whose "(" is at `list_start`.

        Lists do not store where their items start, which keeps reading fast; this scans again.
        """
        depth = 0
        for match in _PARENTHESIS_OR_NAME.finditer(self.text, list_start + 1):
            if depth == 0 and (index == 0 or match[0] == ")"):
                return match.start()
            if depth == 0:
                index -= 1
            depth += {"(": 1, ")": -1}.get(match[0], 0)
        return len(self.text)


def load_source(
    path: str | os.PathLike[str],
    error_class: type[InputFileError] = PddlError,
    *,
    may_be_empty: bool = False,
) -> Source:
    """Read a file; raises `error_class` when it is missing, unreadable, binary or empty."""
    name = os.fspath(path)
    source = source_from_bytes(name, _read_bytes(name, error_class), error_class)
    if not may_be_empty and (not source.text or source.text.isspace()):
        message = "the file is empty or has only comments; check that it was written completely"
        raise source.error(0, message)
    return source


def source_from_bytes(
    name: str, raw: bytes, error_class: type[InputFileError] = PddlError
) -> Source:
    raw = raw.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b" \n").replace(b"\r", b"\n")
    if 0 in raw:
        before = Source(name, raw[: raw.index(0)].decode("latin-1"), error_class)
        message = (
            "a NUL byte, so this is a binary or UTF-16 file; give a text file in UTF-8 encoding"
        )
        raise before.error(len(before.text), message)
    raw = raw.lower()
    try:
        return Source(name, _blank_comments(raw.decode()), error_class)
    except UnicodeDecodeError:
        pass
    # Old benchmark files carry Latin-1 author names in comments, which is harmless; but a name
    # read with the wrong encoding would not match the same name in another file.
    source = Source(name, _blank_comments(raw.decode("latin-1")), error_class)
    strange = _NOT_ASCII.search(source.text)
    if strange:
        byte = f"byte 0x{ord(strange[0]):02x}"
        message = f"{byte} is not valid UTF-8; save the file in UTF-8 encoding"
        raise source.error(strange.start(), message)
    return source


def _read_bytes(name: str, error_class: type[InputFileError]) -> bytes:
    """The bytes of a file, up to the first NUL. In chunks, because read(size) takes memory for all
    of `size`, however short the file is."""
    raw = bytearray()
    try:
        with open(name, "rb") as file:
            while 0 not in raw[-_CHUNK_BYTES:] and (chunk := file.read(_CHUNK_BYTES)):
                raw += chunk
                if len(raw) > _MAX_BYTES:
                    raise error_class("the file is larger than 1 GiB; give a smaller file", name)
    except (OSError, ValueError) as failure:
        known = [text for kind, text in _UNREADABLE.items() if isinstance(failure, kind)]
        reason = failure.strerror if isinstance(failure, OSError) else str(failure)
        message = known[0] if known else f"cannot read the file ({reason}); check the path"
        raise error_class(message, name) from None
    return bytes(raw)


def _blank_comments(text: str) -> str:
    return _COMMENT.sub(lambda match: " " * len(match[0]), text)

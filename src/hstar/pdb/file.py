"""The file of a pattern database: prefix, header and tables, as docs/architecture.md describes.

The header is a JSON list with an object for each table, that of the database and then that of its
base: its layout (see Layout), its SHA-256 and the counts of its values. Tables begin at multiples
of 64 bytes and are memory mapped. A file is refused if a digest does not match.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from dataclasses import asdict
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from hstar.pdb.database import Layout, PatternDatabase
from hstar.pddl.errors import InputFileError
from hstar.runtime.atomic import write_parts_atomically

MAGIC = b"HSTARPDB"
VERSION = 1
ALIGNMENT = 64
PREFIX = struct.Struct("<8sII32s")
LONGEST_HEADER = 2**24
_ADVICE = "build the pattern database again"


class PdbFileError(InputFileError):
    """The file is not an intact pattern database; the message says why and what to do."""


def write_pdb(path: str | os.PathLike[str], database: PatternDatabase) -> None:
    """Write a database to a file, completely or not at all. Raises OSError."""
    chain = [database]
    while (base := chain[-1].base) is not None:
        chain.append(base)
    header = []
    for one in chain:
        counts, unreached = one.histogram
        digest = hashlib.sha256(one.table.data).hexdigest()
        about = {"sha256": digest, "counts": counts, "unreached": unreached}
        header.append({**asdict(one.layout), **about})
    text = json.dumps(header, sort_keys=True).encode()
    text += b" " * (-(PREFIX.size + len(text)) % ALIGNMENT)
    parts: list[bytes | memoryview] = [
        PREFIX.pack(MAGIC, VERSION, len(text), hashlib.sha256(text).digest()),
        text,
    ]
    for one in chain:
        parts += [one.table.data, bytes(-one.table.nbytes % ALIGNMENT)]
    write_parts_atomically(path, parts)


def read_pdb(path: str | os.PathLike[str]) -> PatternDatabase:
    """Open a database, its tables memory mapped; digests are compared. Raises PdbFileError."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            header = _read_header(file, name)
            start = file.tell()
        raw: NDArray[np.uint8] = np.memmap(name, dtype=np.uint8, mode="r")
    except OSError as error:
        raise PdbFileError(f"cannot read the pattern database: {error.strerror}", name) from None
    parts: list[tuple[Layout, NDArray[np.uint8], str]] = []
    for description in header:
        try:
            layout, digest = Layout.of(description), description["sha256"]
        except (KeyError, TypeError):
            raise PdbFileError(f"the header is incomplete; {_ADVICE}", name) from None
        length = (layout.cells * layout.bits + 7) // 8
        if start + length > len(raw):
            raise PdbFileError(f"the file is cut off; {_ADVICE}", name)
        parts.append((layout, raw[start : start + length], digest))
        start += length + -length % ALIGNMENT
    if len(raw) != start:
        raise PdbFileError(f"the file has the wrong length; {_ADVICE}", name)
    database: PatternDatabase | None = None
    for layout, table, digest in reversed(parts):
        if hashlib.sha256(table.data).hexdigest() != digest:
            message = "the table was changed (its digest does not match); build it again"
            raise PdbFileError(message, name)
        database = PatternDatabase(layout, table, database)
    assert database is not None
    return database


def _read_header(file: BinaryIO, name: str) -> list[dict[str, Any]]:
    prefix = file.read(PREFIX.size)
    if len(prefix) < PREFIX.size or prefix[: len(MAGIC)] != MAGIC:
        raise PdbFileError(
            "this is not a pattern database of hstar; build one with 'hstar pdb'", name
        )
    _, version, length, digest = PREFIX.unpack(prefix)
    if version != VERSION:
        raise PdbFileError(f"format {version} is unknown; this hstar reads format {VERSION}", name)
    text = file.read(min(length, LONGEST_HEADER))
    if len(text) < length:
        raise PdbFileError(f"the file is cut off; {_ADVICE}", name)
    if hashlib.sha256(text).digest() != digest:
        raise PdbFileError("the header was changed (its digest does not match)", name)
    header = json.loads(text)
    if not isinstance(header, list) or not header:
        raise PdbFileError(f"the header does not describe a table; {_ADVICE}", name)
    return header


def is_pdb_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file starts like a pattern database."""
    try:
        with open(path, "rb") as opened:
            return opened.read(len(MAGIC)) == MAGIC
    except OSError:
        return False

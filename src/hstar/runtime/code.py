"""A digest of hstar's own code, so that results of different code are never mixed."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import hstar
from hstar import _core

SUFFIXES = (".py", ".pddl", ".toml")


@functools.cache
def code_digest() -> str:
    """Of the native core and of the whole package with its data: no list of modules that someone
    must remember to extend. It depends on the source text alone, not on the compiler or on where
    hstar is installed.
    """
    package = Path(hstar.__file__).parent
    sha = hashlib.sha256(_core.source_digest.encode())
    for path in sorted(path for path in package.rglob("*") if path.suffix in SUFFIXES):
        content = path.read_bytes()
        sha.update(f"{path.relative_to(package).as_posix()} {len(content)} ".encode() + content)
    return sha.hexdigest()

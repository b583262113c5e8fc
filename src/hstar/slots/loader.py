"""Heuristics from what a user gives: a name, a file, several files, or an object.

ff, lmcut, ...             a built-in heuristic
model.safetensors          a learned one, of any form
pdb:FILE,FILE+FILE         pattern databases, tables and certified networks alike
module:attribute           code outside the package
"""

from __future__ import annotations

import os
from typing import Any

from hstar.pdb import PdbHeuristic, load_heuristic
from hstar.pdb.heuristic import PREFIX
from hstar.planning.heuristics import HEURISTICS
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import is_model_file, read_model
from hstar.slots.pattern_network import learned_of, read_learned


def find_heuristic(given: Any, decode: str | None = None, *, trust: bool = False) -> Any:
    """What search takes. Raises ModelFileError, PdbFileError, ValueError."""
    if not isinstance(given, (str, os.PathLike)):
        return given
    text = os.fspath(given)
    if text in HEURISTICS:
        return text
    if text.startswith(PREFIX):
        return load_pattern_heuristic(text)
    if text.endswith(".safetensors"):
        return load_model(text, decode, trust=trust)
    return text


def load_model(
    path: str | os.PathLike[str], decode: str | None = None, *, trust: bool = False
) -> Any:
    """A learned heuristic from its file. Raises ModelFileError, ValueError for a decode that does
    not fit. A network in integers whose decode is "strict" must have a certificate that holds. Only
    with `trust` may the file name code outside the installed packages."""
    name = os.fspath(path)
    file = read_model(name, trust=trust)
    if file.metadata["form"] != "integers":
        return LearnedHeuristic(file, name, decode)
    strict = file.metadata["decode"]["name"] == "strict"
    if decode is not None and decode != file.metadata["decode"]["name"]:
        raise ValueError(f"the file was made for decode '{file.metadata['decode']['name']}' alone")
    return PdbHeuristic([learned_of(file, name, need_certificate=strict).model], name)


def load_pattern_heuristic(text: str) -> PdbHeuristic:
    """From "pdb:FILE,FILE+FILE": the maximum of what commas separate, each a sum of files. A file
    is a pattern database or a learned one; a learned one without a certificate that holds is
    refused. Raises PdbFileError, ModelFileError and ValueError."""
    return load_heuristic(
        text, lambda name: read_learned(name).model if is_model_file(name) else None
    )

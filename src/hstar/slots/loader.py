"""Heuristics from what a user gives: a name, a file, several files, or an object.

ff, lmcut, ...             a built-in heuristic
model.safetensors          a learned one, of any form
pdb:FILE,FILE+FILE         pattern databases, tables and certified networks alike
module:attribute           code outside the package

What reads the files is imported when there is one to read.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hstar.planning.heuristics import HEURISTICS, PATTERNS, is_model_file
from hstar.planning.specification import SearchSpecification

if TYPE_CHECKING:
    from hstar.pdb import PdbHeuristic
    from hstar.slots.learned_heuristic import LearnedHeuristic


def load_search(specification: SearchSpecification) -> SearchSpecification:
    """The specification with heuristics in place of the names of files. Raises ModelFileError,
    PdbFileError, and ValueError if the files are for another search."""
    loaded = replace(specification, alternating=tuple(map(load_search, specification.alternating)))
    if not specification.files:
        return loaded
    decode, trust = specification.decode, bool(specification.trust)
    found = [find_heuristic(one, decode, trust=trust) for one in specification.heuristics]
    heuristic = found[0] if len(found) == 1 else found
    return replace(loaded, heuristic=heuristic, trust=None)


def find_heuristic(given: Any, decode: str | None = None, *, trust: bool = False) -> Any:
    """What search takes. Raises ModelFileError, PdbFileError, ValueError."""
    if not isinstance(given, (str, os.PathLike)):
        return given
    text = os.fspath(given)
    if text in HEURISTICS:
        return text
    if text.startswith(PATTERNS):
        return load_pattern_heuristic(text)
    if is_model_file(text):
        return load_model(text, decode, trust=trust)
    return text


def load_model(
    path: str | os.PathLike[str], decode: str | None = None, *, trust: bool = False
) -> LearnedHeuristic | PdbHeuristic:
    """A learned heuristic from its file. Raises ModelFileError, ValueError for a decode that does
    not fit. A network in integers whose decode is "strict" must have a certificate that holds. Only
    with `trust` may the file name code outside the installed packages."""
    from hstar.slots.model_file import read_model

    name = os.fspath(path)
    file = read_model(name, trust=trust)
    if file.metadata["form"] != "integers":
        from hstar.slots.learned_heuristic import LearnedHeuristic

        return LearnedHeuristic(file, name, decode)
    from hstar.pdb import PdbHeuristic
    from hstar.slots.pattern_network import learned_of

    strict = file.metadata["decode"]["name"] == "strict"
    if decode is not None and decode != file.metadata["decode"]["name"]:
        raise ValueError(f"the file was made for decode '{file.metadata['decode']['name']}' alone")
    return PdbHeuristic([learned_of(file, name, need_certificate=strict).model], name)


def load_pattern_heuristic(text: str) -> PdbHeuristic:
    """From "pdb:FILE,FILE+FILE": the maximum of what commas separate, each a sum of files. A file
    is a pattern database or a learned one; a learned one without a certificate that holds is
    refused. Raises PdbFileError, ModelFileError and ValueError."""
    from hstar.pdb import PdbHeuristic, read_pdb
    from hstar.slots.pattern_network import read_learned

    names = [one.split("+") for one in text.removeprefix(PATTERNS).split(",")]
    every = sorted({name for one in names for name in one})
    if "" in every:
        raise ValueError(f"'{text}' names no file; write pdb:FILE,FILE or pdb:FILE+FILE")
    files = {n: read_learned(n).model if is_model_file(n) else read_pdb(n) for n in every}
    label = ",".join("+".join(map(os.path.basename, one)) for one in names)
    return PdbHeuristic([[files[name] for name in one] for one in names], f"{PATTERNS}{label}")

"""Pattern heuristics from files, tables and certified networks alike."""

from __future__ import annotations

from hstar.learned.certified_file import is_learned_file, read_learned
from hstar.pdb import PdbHeuristic, load_heuristic


def load_pattern_heuristic(text: str) -> PdbHeuristic:
    """From "pdb:FILE,FILE+FILE": the maximum of what commas separate, each a sum of files.

    A file is a pattern database or a learned one; a learned one without a certificate that holds is
    refused. Raises PdbFileError, CertifiedFileError and ValueError.
    """
    return load_heuristic(
        text, lambda name: read_learned(name).model if is_learned_file(name) else None
    )

"""Networks instead of pattern databases, certified: no state at all is overestimated.

A network in integers reads a state; a table of exceptions lowers the few states it overestimates; a
sweep over every state shows that none is left, and the certificate in the file says so.
"""

from hstar.certified.certificate import Certificate, certify, verify_file
from hstar.certified.decoding import Decoding, ratio_of
from hstar.certified.file import (
    CertifiedFileError,
    LearnedFile,
    is_learned_file,
    read_learned,
    write_learned,
)
from hstar.certified.heuristic import load_pattern_heuristic
from hstar.certified.model import ExceptionSet, LearnedDatabase
from hstar.certified.network import IntegerLayer, Network
from hstar.certified.sweep import SweepOptions, count_values
from hstar.certified.thresholds import Choice, make_strict

__all__ = [
    "Certificate",
    "CertifiedFileError",
    "Choice",
    "Decoding",
    "ExceptionSet",
    "IntegerLayer",
    "LearnedDatabase",
    "LearnedFile",
    "Network",
    "SweepOptions",
    "certify",
    "count_values",
    "is_learned_file",
    "load_pattern_heuristic",
    "make_strict",
    "ratio_of",
    "read_learned",
    "verify_file",
    "write_learned",
]

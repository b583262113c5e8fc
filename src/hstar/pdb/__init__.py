"""Pattern databases: exact distances in an abstraction, as a table over all abstract states.

Build one of a puzzle or of a planning task, compress it, store it, and search with several.
"""

from hstar.pdb.alternatives import (
    Compressions,
    describe_compression,
    list_compressions,
    strongest,
    table_row,
)
from hstar.pdb.compression import best_levels, build_difference, compress, subtract
from hstar.pdb.database import Layout, PatternDatabase, build_pdb, make_index
from hstar.pdb.file import PdbFileError, read_pdb, write_pdb
from hstar.pdb.heuristic import PdbHeuristic
from hstar.pdb.pattern import choose_pattern, parse_pattern
from hstar.pdb.theory import PatternPaths, inadmissibility_bound, tightest_bounds

__all__ = ["Compressions", "Layout", "PatternDatabase", "PatternPaths", "PdbFileError"]
__all__ += ["PdbHeuristic", "inadmissibility_bound", "tightest_bounds"]
__all__ += ["best_levels", "build_difference", "build_pdb", "choose_pattern", "compress"]
__all__ += ["describe_compression", "list_compressions", "make_index", "parse_pattern", "read_pdb"]
__all__ += ["strongest", "subtract", "table_row", "write_pdb"]

"""Files of pattern databases: complete, mapped, and refused when anything is wrong with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from small_patterns import database_of

from hstar.pdb import PdbFileError, compress, read_pdb, subtract, write_pdb
from hstar.planning.puzzle import make_puzzle
from hstar.slots.loader import load_pattern_heuristic


def test_files_hold_everything(tmp_path: Path) -> None:
    small = database_of("cube3", "edges:0-3")
    chained = compress(
        subtract(small, database_of("cube3", "edges:1,2")), div=3, order="lex", levels="best"
    )
    cube = make_puzzle("cube3")
    states = np.stack([cube.scramble(1 + seed % 30, seed) for seed in range(300)])
    for database in (small, chained):
        path = tmp_path / "one.pdb"
        write_pdb(path, database)
        again = read_pdb(path)
        assert again.layout == database.layout
        assert again.histogram == database.histogram
        assert np.array_equal(again.lookup(states), database.lookup(states))
        before = path.read_bytes()
        write_pdb(path, again)
        assert path.read_bytes() == before


def test_every_changed_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "small.pdb"
    write_pdb(path, database_of("pancake-5", "0-3"))
    good = path.read_bytes()
    for position in range(len(good)):
        if good[position:].strip(b"\0") == b"":  # padding after the table means nothing
            break
        changed = bytearray(good)
        changed[position] ^= 1
        path.write_bytes(changed)
        with pytest.raises(PdbFileError):
            read_pdb(path)


@pytest.mark.parametrize(
    ("cut", "message"),
    [(0, "not a pattern database"), (30, "not a pattern"), (100, "cut off"), (-1, "length")],
)
def test_files_that_are_cut_off_are_refused(tmp_path: Path, cut: int, message: str) -> None:
    path = tmp_path / "small.pdb"
    write_pdb(path, database_of("pancake-5", "0-3"))
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(PdbFileError, match=message):
        read_pdb(path)


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "foreign.pdb"
    path.write_bytes(b"PK\3\4" * 100)
    with pytest.raises(PdbFileError, match="not a pattern database of hstar"):
        load_pattern_heuristic(f"pdb:{path}")
    with pytest.raises(PdbFileError, match="cannot read"):
        load_pattern_heuristic(f"pdb:{tmp_path / 'missing.pdb'}")
    with pytest.raises(ValueError, match="names no file"):
        load_pattern_heuristic("pdb:a,")

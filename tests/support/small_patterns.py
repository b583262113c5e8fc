"""Small pattern databases and quick learning, for tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from golden_cases import QUICK, SHAPE

from hstar.pdb import PatternDatabase, build_pdb, parse_pattern, subtract
from hstar.planning.puzzle import Puzzle, make_puzzle
from hstar.slots.objectives import make_objective
from hstar.training.loop import Loop, Report
from hstar.training.options import TABLE_DEFAULTS, TrainOptions
from hstar.training.source import TableData
from hstar.training.train import prepare_table

SETTINGS: dict[str, Any] = {
    **TABLE_DEFAULTS,
    "model_options": SHAPE,
    "objective": make_objective("cea"),
    "decode": "strict",
    **QUICK,
    "device": "cpu",
}
OPTIONS = TrainOptions(**SETTINGS)


@cache
def database_of(name: str, pattern: str, additive: bool = False) -> PatternDatabase:
    puzzle = make_puzzle(name)
    return build_pdb(puzzle, parse_pattern(puzzle, pattern), additive=additive)


def data_of(name: str, pattern: str) -> TableData:
    return TableData(database_of(name, pattern), make_puzzle(name))


@cache
def difference() -> tuple[PatternDatabase, Puzzle]:
    """What three edges add to the first two."""
    puzzle = make_puzzle("cube3")
    return subtract(database_of("cube3", "edges:0-2"), database_of("cube3", "edges:0-1")), puzzle


def learn_float(
    data: TableData, output: Path, options: TrainOptions, report: Report | None = None
) -> Loop:
    """With a network in floating point: not certified."""
    return prepare_table(data, options).write(output, report)

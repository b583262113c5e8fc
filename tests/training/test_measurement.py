"""Comparing any heuristic with a table: against values looked up one by one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from program import check_one_line, hstar
from small_patterns import OPTIONS, data_of, database_of, difference, learn_float

from hstar.pdb import PatternDatabase, write_pdb
from hstar.planning.puzzle import Puzzle, make_puzzle
from hstar.slots.loader import load_model
from hstar.slots.model_file import ModelFileError
from hstar.slots.objectives import make_objective
from hstar.slots.pattern_network import read_learned
from hstar.training.certified.learning import learn
from hstar.training.certified.measurement import measure
from hstar.training.source import TableData

CPU = torch.device("cpu")
PUZZLE, PATTERN = "pancake-6", "pancakes"
FLOAT = replace(OPTIONS, bits=16, decode="argmax", steps=40, evaluate_every=20)


def odd(states: np.ndarray) -> np.ndarray:
    """A heuristic of nobody's: fractions, some of them too large."""
    return 0.5 + (states[:, 0] * 2.4) % 7


def check(heuristic: object, database: PatternDatabase, puzzle: Puzzle, h: np.ndarray) -> None:
    """`h` and the table's values, by index."""
    found = measure(heuristic, database, puzzle, CPU)
    exact = database.lookup(puzzle.unrank(np.arange(puzzle.num_states or 0))).astype(int)
    pairs = Counter(
        (int(own), int(np.ceil(value))) for own, value in zip(exact, h, strict=True) if value > own
    )
    assert pairs, "the test must see states that are overestimated"
    assert {(a, b): n for a, b, n in found.overestimates} == pairs
    assert found.mean == pytest.approx(float(h.mean()))
    assert found.rate == pytest.approx(float((h > exact).mean()))
    over = Counter(own for own, value in zip(exact, h, strict=True) if value > own)
    states = Counter(exact.tolist())
    assert found.by_value == [[value, states[value], over[value]] for value in sorted(states)]


@pytest.mark.parametrize("bits", [0, 16, 6])
def test_networks_of_floats_and_of_integers(bits: int, tmp_path: Path) -> None:
    data, path = data_of(PUZZLE, PATTERN), tmp_path / "model.safetensors"
    options = replace(FLOAT, bits=bits, objective=make_objective("ce"))
    learn(data, path, options) if bits == 6 else learn_float(data, path, options)
    model, puzzle = load_model(path), make_puzzle(PUZZLE)
    h = np.asarray(model.evaluate(puzzle, puzzle.unrank(np.arange(puzzle.num_states or 0))))
    check(model, data.database, puzzle, h)


def test_a_heuristic_from_outside() -> None:
    puzzle = make_puzzle(PUZZLE)
    h = odd(puzzle.unrank(np.arange(puzzle.num_states or 0)))
    check(odd, database_of(PUZZLE, PATTERN), puzzle, h)


def test_a_network_of_a_difference_adds_its_base_in_search(tmp_path: Path) -> None:
    database, puzzle = difference()
    path, half = tmp_path / "model.safetensors", tmp_path / "half.safetensors"
    learn_float(TableData(database, puzzle), path, replace(FLOAT, bits=0))
    learn_float(TableData(database, puzzle), half, FLOAT)
    assert half.stat().st_size < 0.8 * path.stat().st_size
    model, base = load_model(path), database.base
    assert base is not None
    found = measure(model, database, puzzle, CPU)
    states = np.stack([puzzle.scramble(9, seed) for seed in range(40)])
    own = model.evaluate(puzzle, states) - base.lookup(states)
    assert own.min() >= 0 and own.max() <= max(value for value, *_ in found.by_value)
    for other, table in ((model, database_of("cube3", "edges:0-2")), ("blind", database)):
        with pytest.raises(ValueError, match="a table of the whole puzzle"):
            measure(other, table, puzzle, CPU)


def test_the_command_counts_draws_and_says_where_to_go(tmp_path: Path) -> None:
    data, model, table = data_of(PUZZLE, PATTERN), tmp_path / "m.safetensors", tmp_path / "t.pdb"
    learn_float(data, model, FLOAT)
    write_pdb(table, data.database)
    plot = tmp_path / "plot.svg"
    done = hstar("pdb", "sweep", str(model), str(table), "--plot", str(plot))
    assert done.code == 0 and "States: 720; overestimated:" in done.out
    assert plot.read_text().lstrip().startswith("<?xml")
    wrong = hstar("pdb", "sweep", str(model), str(table), "--plot", str(tmp_path / "plot.txt"))
    check_one_line(wrong, 36, ".svg, .pdf or .png")
    other = hstar("pdb", "sweep", "nothing", str(table))
    check_one_line(other, 36, "nothing")
    with pytest.raises(ModelFileError, match="hstar pdb sweep"):
        read_learned(model)

"""Parts of the admissible-learning recipe: published numbers, classical tables, errors, figures."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_patterns import OPTIONS, data_of, database_of
from tiny_cea_scale import DIFFERENCE, PANCAKES, TILES

from hstar.experiments.report import excess_figure
from hstar.experiments.report.excess import quantile
from hstar.papers.admissible_cea.page import decay, mean_error
from hstar.papers.admissible_cea.scales import (
    CORNERS,
    TABLE_1,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    TABLE_5,
    PatternStudied,
)
from hstar.papers.admissible_cea.study import make_classical
from hstar.pdb import (
    Compressions,
    PatternDatabase,
    build_difference,
    compress,
    describe_compression,
    strongest,
    table_row,
    write_pdb,
)
from hstar.pdb.theory import PatternPaths, inadmissibility_bound, moves_of_pieces
from hstar.planning.puzzle import make_puzzle
from hstar.slots.features.pattern_states import PatternStates
from hstar.training.certified.generalisation import restricted
from hstar.training.source import TableData
from hstar.training.train import prepare_table

# -- the published numbers


@pytest.mark.parametrize("name", ["8-corner", "7-edge", "6-edge"])
def test_printed_counts_give_the_printed_states_and_means(name: str) -> None:
    counts, printed = TABLE_3[name], TABLE_1[name]
    assert sum(counts) == printed["states"]
    mean = sum(value * count for value, count in enumerate(counts)) / sum(counts)
    assert mean == pytest.approx(printed["mean"], abs=0.01)
    assert printed["size"] == pytest.approx(printed["states"] / 2 / 1e6, abs=0.01)


def test_the_difference_has_the_states_of_six_edges_and_the_mean_of_ce() -> None:
    counts = TABLE_3["delta-6-4"]
    assert sum(counts) == sum(TABLE_3["6-edge"])
    mean = sum(value * count for value, count in enumerate(counts)) / sum(counts)
    assert mean == pytest.approx(TABLE_2["delta-6-4"]["ce"]["mean"], abs=0.01)


def test_printed_compressions_have_the_printed_sizes() -> None:
    for name, row in TABLE_2.items():
        whole = TABLE_1["6-edge" if name == "delta-6-4" else name]["size"]
        assert whole / row["compressed"]["size"] == pytest.approx(row["factor"], rel=0.01)
        assert row["cea"]["size"] == row["ce"]["size"]
        assert row["cea"]["rate"] < row["ce"]["rate"]
    assert TABLE_4.keys() == TABLE_2.keys() == TABLE_3.keys()


def test_printed_models_shrink_and_get_worse() -> None:
    sizes = [model["size"] for model in TABLE_5]
    means = [model["mean"] for model in TABLE_5]
    assert sizes == sorted(sizes, reverse=True)
    assert means == sorted(means, reverse=True)
    assert TABLE_5[0].items() >= TABLE_2["8-corner"]["cea"].items()


# -- classical tables


def build_table(subject: PatternStudied) -> PatternDatabase:
    return build_difference(make_puzzle(subject.puzzle), subject.pattern, subject.base)


def classical_rows(database: PatternDatabase, subject: PatternStudied) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        write_pdb(Path(folder) / "table.pdb", database)
        return make_classical(subject, Path(folder) / "table.pdb")


def test_rows_of_a_space_without_unreachable_entries_are_those_of_compress() -> None:
    database = build_table(PANCAKES)
    rows = classical_rows(database, PANCAKES)
    halves = next(r for r in rows if r["factor"] == 2 and r["order"] == "lex" and r["bits"] == 4)
    small = compress(database, div=2, order="lex")
    assert (halves["mean"], halves["bytes"]) == (small.mean, small.num_bytes)
    assert describe_compression(halves) == "0-4, minimum of 2 (lex)"
    assert any(row["grouping"] == "mod" for row in rows)
    assert any(row["pattern"] == "0-2" for row in rows)
    assert any(row["bytes"] <= 20 for row in rows if row["pattern"] == "0-4")


def test_means_are_over_states_where_some_entries_belong_to_none() -> None:
    """Half of the arrangements of tiles cannot be reached; rounding gives them a value, too."""
    puzzle = make_puzzle("tiles-2x3")
    states = puzzle.unrank(np.arange(puzzle.num_states or 0))
    database = build_table(TILES)
    for row in classical_rows(database, TILES):
        if row["pattern"] != TILES.pattern:
            continue
        options: dict[str, Any] = {"order": row["order"]} if row["factor"] > 1 else {}
        if row["factor"] > 1:
            options["div"] = row["factor"]
        if row["levels"]:
            options["levels"] = row["levels"]
        small = compress(database, **options) if options else database
        assert row["mean"] == pytest.approx(float(small.lookup(states).mean()), abs=1e-6)
        assert row["mean"] <= database.mean


def test_a_difference_counts_its_base_in_bytes_and_total() -> None:
    database = build_table(DIFFERENCE)
    assert database.base is not None
    rows = classical_rows(database, DIFFERENCE)
    thirds = next(row for row in rows if row["factor"] == 3 and row["grouping"] == "div")
    small = compress(database, div=3)
    assert thirds["bytes"] == small.table.nbytes + database.base.table.nbytes
    assert thirds["total"] == pytest.approx(small.mean + database.base.mean)
    whole = database_of("cube3", "edges:0-2")
    assert table_row(database, 0.0)["total"] == pytest.approx(whole.mean)
    assert any(row["bytes"] <= 2000 for row in rows)


def test_classes_of_symmetric_states_weigh_what_they_have() -> None:
    """Nothing is lost by symmetry, so the mean over states must be that of the table."""
    corners = replace(CORNERS, compressions=Compressions((), (), symmetric=True))
    database = build_table(corners)
    rows = [row for row in classical_rows(database, corners) if row["bits"] == 4]
    assert [row["entries"] for row in rows] == [2_152_008]
    assert rows[0]["mean"] == pytest.approx(database.mean, abs=1e-12)


def test_the_strongest_fits() -> None:
    rows = [{"bytes": 10, "total": 1.0}, {"bytes": 20, "total": 3.0}, {"bytes": 15, "total": 2.0}]
    assert strongest(rows, 19) == rows[2]
    assert strongest(rows, 5) is None


# -- the generalisation error


PATHS = (("pancake-5", "0-4"), ("pancake-6", "0-3"), ("tiles-2x3", "tiles"), ("cube3", "edges:0-1"))


@pytest.mark.parametrize(("name", "pattern"), PATHS)
def test_inadmissibility_is_the_largest_on_an_optimal_path(name: str, pattern: str) -> None:
    """In whole spaces and in those of some pieces; every step must be one of the puzzle's."""
    puzzle, database = make_puzzle(name), database_of(name, pattern)
    states = PatternStates(database, puzzle, torch.device("cpu"))
    distance = np.array([*states.values, -1])[np.minimum(states.labels.numpy(), len(states.values))]
    paths = PatternPaths(database, puzzle, lambda index: distance[index])
    h = np.random.default_rng(0).integers(0, 7, database.layout.cells)
    starts = np.flatnonzero(distance >= 0)[::7]
    psi = paths.inadmissibility(starts, lambda index: h[index])
    for start, found in zip(starts.tolist(), psi.tolist(), strict=True):
        at, path = start, [start]
        while distance[at] > 0:
            following = int(paths.following(np.array([at]))[0])
            assert distance[following] == distance[at] - 1
            at = following
            path.append(at)
        assert found == max(max(int(h[v] - distance[v]), 0) for v in path)


def test_moves_of_pieces_are_those_of_the_puzzle() -> None:
    puzzle = make_puzzle("cube3")
    tables = moves_of_pieces(puzzle)
    state = puzzle.scramble(17, 5)
    _, moves, children = puzzle.expand(state)
    for move, child in zip(moves, children, strict=True):
        assert tables[move, np.arange(puzzle.num_variables), state].tolist() == child.tolist()


def test_paths_of_some_tiles_are_refused() -> None:
    """Where a tile can go depends on the blank."""
    with pytest.raises(ValueError, match="take a pattern of the whole puzzle"):
        PatternPaths(database_of("tiles-2x3", "1-3"), make_puzzle("tiles-2x3"), lambda index: index)


def test_training_draws_the_chosen_states_only() -> None:
    data = data_of("pancake-5", "0-4")
    states = data.states(torch.device("cpu"))
    chosen = np.array([3, 40, 77, 101])
    some = TableData(data.database, data.space, restricted(states, chosen))
    source = prepare_table(some, OPTIONS).source
    drawn = {int(index) for step in range(20) for index in source.draw(step)[0]}
    assert drawn == set(chosen.tolist())


def test_decay_is_the_exponent() -> None:
    rows = [
        {"samples": n, "state_whole": 5 * n**-0.5, "state_sample": 0.0} for n in (10, 100, 1000)
    ]
    assert decay(rows) == pytest.approx(-0.5)
    assert mean_error(rows, 100, "state") == pytest.approx(0.5)
    assert decay(rows[:1]) is None


# -- figures


def test_quantiles_of_counted_values() -> None:
    counted = [(4, 1), (5, 2), (9, 1)]
    assert [quantile(counted, share) for share in (0.25, 0.5, 0.75, 1.0)] == [4, 5, 5, 9]


def test_a_box_for_each_exact_value_that_is_overestimated() -> None:
    figure = excess_figure({"CEA": [], "CE": [[2, 3, 5], [2, 4, 1], [4, 5, 2]]}, "tiles")
    labels = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert labels == ["no state is overestimated", "n=6", "n=2"]


def test_the_bound_of_theorem_4_halves_with_four_times_the_samples() -> None:
    bounds = [inadmissibility_bound(100, samples, 2, 0.1) for samples in (400, 1600)]
    assert bounds[0] == pytest.approx(2 * bounds[1])

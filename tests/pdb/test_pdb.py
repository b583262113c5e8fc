"""Pattern databases of puzzles: published counts, admissibility, compression, files, searches."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from case_tables import table
from numpy.typing import NDArray
from small_patterns import database_of

from hstar import search
from hstar.pdb import (
    PatternDatabase,
    PdbHeuristic,
    best_levels,
    build_pdb,
    compress,
    make_index,
    parse_pattern,
    subtract,
)
from hstar.planning.puzzle import Puzzle, make_puzzle
from hstar.runtime.resources import Budget, OutOfResources

# Table 3 of the admissible-cea paper.
CORNERS = [1, 18, 243, 2874, 28000, 205416, 1168516, 5402628, 20776176, 45391616, 15139616, 64736]
SIX_EDGES = [1, 15, 184, 2256, 25909, 266101, 2239790, 12567043, 24415346, 3061105, 170]
DELTA = [1076354, 11389507, 21759383, 7581788, 742213, 28240, 428, 7]
FOUR_EDGES = [1, 12, 127, 1269, 9861, 49306, 103069, 26381, 54]
# Positions of the 2x2x2 cube by the number of face turns they need.
CUBE2 = [1, 9, 54, 321, 1847, 9992, 50136, 227536, 870072, 1887748, 623800, 2644]


@pytest.fixture(scope="module")
def edges() -> PatternDatabase:
    return database_of("cube3", "edges:0-5")


@pytest.fixture(scope="module")
def delta(edges: PatternDatabase) -> PatternDatabase:
    return subtract(edges, database_of("cube3", "edges:0-3"))


def scrambles(puzzle: Puzzle, count: int) -> NDArray[np.int32]:
    return np.stack([puzzle.scramble(1 + seed % 30, seed) for seed in range(count)])


def every_distance(puzzle: Puzzle) -> NDArray[np.float32]:
    """Of every state to the goal, by the database of all pieces."""
    group = puzzle.groups[0]
    whole = build_pdb(puzzle, range(group.first, group.first + group.count))
    assert puzzle.num_states is not None
    return whole.lookup(puzzle.unrank(np.arange(puzzle.num_states)))


# ---------------------------------------------------------------- published counts


def test_corner_counts(corners: PatternDatabase) -> None:
    assert corners.histogram == (CORNERS, 0)
    assert corners.mean == pytest.approx(8.764134, abs=1e-6)


def test_edge_counts(edges: PatternDatabase) -> None:
    assert edges.histogram == (SIX_EDGES, 0)


def test_delta_counts(delta: PatternDatabase) -> None:
    assert delta.histogram == (DELTA, 0)
    assert delta.base is not None and delta.base.histogram == (FOUR_EDGES, 0)


def test_two_by_two_cube_counts() -> None:
    assert database_of("cube2", "corners").histogram == (CUBE2, 0)


def test_korfs_edges_are_alike(cube: Puzzle) -> None:
    first = build_pdb(cube, parse_pattern(cube, "edges:1,3,8"))
    second = build_pdb(cube, parse_pattern(cube, "edges:4,5,7"))
    assert first.histogram[0][0] == second.histogram[0][0] == 1
    assert sum(first.histogram[0]) == 12 * 11 * 10 * 8


@pytest.mark.parametrize(
    ("which", "factor", "paper", "exact"),
    [("edges", 11, 6.68, 6.6823), ("corners", 23, 6.84, 6.8416), ("delta", 7, 1.05, 1.0590)],
)
def test_minimum_compression_means(
    which: str, factor: int, paper: float, exact: float, request: pytest.FixtureRequest
) -> None:
    small = compress(request.getfixturevalue(which), div=factor)
    assert small.mean == pytest.approx(paper, abs=0.01)
    assert small.mean == pytest.approx(exact, abs=5e-5)


@pytest.mark.parametrize(
    ("which", "options", "mean"),
    [
        ("edges", {"div": 11, "order": "lex"}, 6.7807),
        ("edges", {"mod": 3_870_720}, 6.4322),
        ("edges", {"div": 6, "order": "lex", "levels": [0, 6, 7, 8]}, 6.857),
        ("corners", {"div": 23, "order": "lex"}, 6.8480),
        ("delta", {"div": 7, "order": "lex"}, 1.2345),
    ],
)
def test_stronger_baselines(
    which: str, options: dict[str, object], mean: float, request: pytest.FixtureRequest
) -> None:
    small = compress(request.getfixturevalue(which), **options)  # type: ignore[arg-type]
    assert small.mean == pytest.approx(mean, abs=1e-3)


# ---------------------------------------------------------------- what compression keeps


@pytest.mark.parametrize(
    "options",
    [
        {"div": 7},
        {"mod": 1001},
        {"order": "lex"},
        {"div": 5, "order": "lex"},
        {"levels": "best"},
        {"div": 3, "levels": [0, 3, 5, 6]},
        {"mod": 999, "levels": "best", "order": "lex"},
    ],
)
@pytest.mark.parametrize("with_base", [False, True])
def test_compressed_values_never_exceed(
    cube: Puzzle, options: dict[str, object], with_base: bool
) -> None:
    original = database_of("cube3", "edges:1,4,6,9")
    states = scrambles(cube, 500)
    exact = original.lookup(states)
    source = subtract(original, database_of("cube3", "edges:6,1")) if with_base else original
    assert np.array_equal(source.lookup(states), exact)
    small = compress(source, **options)  # type: ignore[arg-type]
    values = small.lookup(states)
    assert np.all(values <= exact) and np.all(values >= 0)
    if list(options) == ["order"]:
        assert np.array_equal(values, exact)


def test_best_levels_are_best() -> None:
    counts = [1, 4, 0, 30, 100, 7, 90, 3]

    def mean(levels: tuple[int, ...]) -> int:
        return sum(n * max(v for v in levels if v <= h) for h, n in enumerate(counts))

    chosen = best_levels(counts)
    assert mean(chosen) == max(
        mean((0, *others)) for others in itertools.combinations(range(1, 8), 3)
    )
    assert best_levels([3, 2]) == (0, 1, 1, 1)


def test_wrong_compressions_are_refused() -> None:
    database = database_of("pancake-7", "0-3")
    with pytest.raises(ValueError, match="not both"):
        compress(database, div=2, mod=3)
    with pytest.raises(ValueError, match="grouped already"):
        compress(compress(database, div=2), div=2)
    with pytest.raises(ValueError, match="symmetry classes"):
        compress(database, symmetric=True)
    with pytest.raises(ValueError, match="ascending"):
        compress(database, levels=[0, 3, 2, 5])
    with pytest.raises(ValueError, match="only pieces of the pattern"):
        subtract(database, database_of("pancake-7", "5,6"))
    with pytest.raises(ValueError, match="another space"):
        subtract(database, database_of("pancake-6", "0,1"))


# ---------------------------------------------------------------- numbering


@pytest.mark.parametrize("order", ["mr", "lex"])
@pytest.mark.parametrize(
    ("name", "pattern"), [("cube3", "edges:2,0,7"), ("cube2", "0,3,5"), ("tiles-3x3", "0,4,2")]
)
def test_pattern_numbering_is_a_bijection(name: str, pattern: str, order: str) -> None:
    puzzle = make_puzzle(name)
    variables = parse_pattern(puzzle, pattern)
    index = make_index(puzzle, variables, order)
    values = index.unrank(np.arange(index.size))
    states = np.zeros((index.size, puzzle.num_variables), dtype=np.int32)
    states[:, variables] = values
    assert np.array_equal(index.rank(states), np.arange(index.size))
    assert len(np.unique(values, axis=0)) == index.size


def test_numbering_is_the_published_one(cube: Puzzle) -> None:
    """index = orientations * 12Pk + rank, the location of the first piece least significant."""
    variables = parse_pattern(cube, "edges:0-2")
    index = make_index(cube, variables)
    for number in (0, 1, 77, 1319, 1320, 4000, 10559):
        orientations, rank = divmod(number, 12 * 11 * 10)
        places = list(range(12))
        expected = []
        for i in range(3):
            other = i + rank % (12 - i)
            places[i], places[other] = places[other], places[i]
            rank //= 12 - i
            expected.append(2 * places[i] + (orientations >> (2 - i) & 1))
        assert index.unrank(np.array([number])).tolist() == [expected]


def test_values_that_are_no_pattern_are_refused(cube: Puzzle, edges: PatternDatabase) -> None:
    state = cube.goal
    state[8] = state[9]
    with pytest.raises(ValueError, match="one place"):
        edges.lookup(state)
    state[8] = 24
    with pytest.raises(ValueError, match="no value"):
        edges.lookup(state)


WRONG_PATTERNS = table("""
cube3 | 0-3 | say which pieces
cube3 | edges:0-12 | out of range
cube3 | centres:0 | no pieces called
pancake-7 | 1,1 | twice
pancake-7 | x | not a pattern
""")


@pytest.mark.parametrize(("name", "pattern", "message"), WRONG_PATTERNS)
def test_wrong_patterns_are_explained(name: str, pattern: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_pattern(make_puzzle(name), pattern)


# ---------------------------------------------------------------- admissibility on whole spaces

WHOLE = [
    ("tiles-3x3", ["0,1,2,3", "5,6,7,8"], False),
    ("tiles-3x3", ["1-4", "5-8"], True),
    ("tiles-2x4", ["1,2,3", "4-7"], True),
    ("pancake-7", ["0-3", "3-6"], False),
    ("topspin-8-4", ["0-3", "2,5,7"], False),
]


@pytest.mark.parametrize(("name", "patterns", "additive"), WHOLE)
def test_admissible_and_consistent_everywhere(
    name: str, patterns: list[str], additive: bool
) -> None:
    puzzle = make_puzzle(name)
    exact = every_distance(puzzle)
    assert puzzle.num_states is not None
    states = puzzle.unrank(np.arange(puzzle.num_states))
    databases = [database_of(name, pattern, additive) for pattern in patterns]
    values = [database.lookup(states) for database in databases]
    h = sum(values) if additive else np.maximum(*values)
    assert np.all(h <= exact)
    assert h.max() > 0 and h[puzzle.rank(puzzle.goal)[0]] == 0
    together = PdbHeuristic([databases] if additive else databases).evaluate(puzzle, states)
    assert np.array_equal(together, h)
    if additive:
        return  # forgetting the blank lets a value drop by more than the move costs
    sample = states[:: max(1, len(states) // 2000)]
    parents, _, children = puzzle.expand(sample)
    difference = h[puzzle.rank(children)] - h[puzzle.rank(sample)][parents]
    assert np.abs(difference).max() <= 1


def test_additive_values_are_at_least_manhattan() -> None:
    puzzle = make_puzzle("tiles-3x3")
    states = puzzle.unrank(np.arange(0, 181_440, 7))
    manhattan = sum(
        np.abs(states[:, t] // 3 - t // 3) + np.abs(states[:, t] % 3 - t % 3) for t in range(1, 9)
    )
    h = sum(database_of("tiles-3x3", p, True).lookup(states) for p in ("1,2,3,4", "5,6,7,8"))
    assert np.all(h >= manhattan)


# ---------------------------------------------------------------- searches


@pytest.mark.parametrize(("name", "patterns", "additive"), WHOLE)
@pytest.mark.parametrize("algorithm", ["idastar", "astar"])
def test_searches_are_optimal(
    name: str, patterns: list[str], additive: bool, algorithm: str
) -> None:
    puzzle = make_puzzle(name)
    exact = every_distance(puzzle)
    databases = [database_of(name, pattern, additive) for pattern in patterns]
    heuristic = PdbHeuristic([databases] if additive else databases)
    for rank in np.random.default_rng(3).choice(np.flatnonzero(np.isfinite(exact)), 40):
        result = search(puzzle, heuristic, algorithm, state=puzzle.unrank(rank)[0])
        assert result.plan_length == exact[rank]


def test_cube_searches_agree(
    cube: Puzzle, corners: PatternDatabase, edges: PatternDatabase
) -> None:
    plain = PdbHeuristic([corners, edges])
    ordered = PdbHeuristic([compress(edges, order="lex"), compress(corners, div=2)])
    generic = PdbHeuristic([compress(corners, symmetric=True), edges])
    for seed in range(6):
        state = cube.scramble(8, seed)
        lengths = {
            search(cube, heuristic, algorithm, state=state).plan_length
            for heuristic in (plain, ordered, generic)
            for algorithm in ("idastar", "astar")
        }
        assert len(lengths) == 1 and next(iter(lengths)) in range(1, 9)


def test_inconsistent_values_stay_optimal() -> None:
    """Minima over indices that are equal modulo a number jump from state to state."""
    puzzle = make_puzzle("pancake-7")
    exact = every_distance(puzzle)
    heuristic = PdbHeuristic([compress(database_of("pancake-7", "1-5"), mod=401)])
    for rank in range(0, 5040, 97):
        for algorithm in ("astar", "idastar"):
            result = search(puzzle, heuristic, algorithm, state=puzzle.unrank(rank)[0])
            assert result.plan_length == exact[rank]


def test_limits_of_deepening(cube: Puzzle, corners: PatternDatabase) -> None:
    heuristic = PdbHeuristic([corners])
    state = cube.scramble(18, 4)
    result = search(cube, heuristic, "idastar", state=state, max_evaluations=50_000)
    assert result.status == "gave up" and 50_000 <= result.evaluated < 50_100
    assert result.plan is None and result.generated + 1 == result.evaluated


def test_time_is_kept(cube: Puzzle, corners: PatternDatabase) -> None:
    state = cube.scramble(20, 5)
    for heuristic in (PdbHeuristic([corners]), "blind"):
        budget = Budget.starting_now(0.8, None)
        assert (
            search(cube, heuristic, "idastar", state=state, budget=budget).status == "out of time"
        )
    with pytest.raises(OutOfResources, match="out of time"):
        build_pdb(cube, range(8), budget=Budget.starting_now(0.1, None))
    with pytest.raises(OutOfResources, match="out of memory"):
        build_pdb(cube, range(8), budget=Budget.starting_now(None, 2**20))


def test_a_heuristic_outlives_the_puzzle_it_was_first_used_on() -> None:
    heuristic = PdbHeuristic([database_of("pancake-7", "0-3")])
    for seed in range(5):
        puzzle = make_puzzle("pancake-7")
        assert search(puzzle, heuristic, "idastar", state=puzzle.scramble(6, seed)).solved


def test_heuristics_that_do_not_fit_are_refused() -> None:
    database = database_of("pancake-6", "0-2")
    with pytest.raises(ValueError, match="not of pancake-7"):
        PdbHeuristic([database]).bind(make_puzzle("pancake-7"))
    with pytest.raises(ValueError, match="only additive"):
        PdbHeuristic([[database, database]])
    first = database_of("tiles-3x3", "1,2", True)
    with pytest.raises(ValueError, match="share"):
        PdbHeuristic([[first, database_of("tiles-3x3", "2,3", True)]])
    with pytest.raises(ValueError, match="no additive"):
        database_of("pancake-6", "0-2", True)
    with pytest.raises(ValueError, match="blank"):
        database_of("tiles-3x3", "0-2", True)

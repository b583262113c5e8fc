"""Puzzles: numbering, moves, known group facts, notation, and searches against exact distances."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from case_tables import table
from numpy.typing import NDArray

from hstar import search
from hstar.planning.algorithms import SEARCHES
from hstar.planning.puzzle import Puzzle, make_puzzle

SMALL = ["tiles-2x2", "tiles-2x3", "tiles-3x2", "pancake-6", "topspin-7-4", "topspin-7-3", "cube2"]
LARGE = [
    "tiles-3x3",
    "tiles-4x4",
    "tiles-6x6",
    "pancake-36",
    "topspin-36-6",
    "pancake-12",
    "topspin-12-4",
    "cube3",
]


def distances(puzzle: Puzzle) -> NDArray[np.int16]:
    """Of every rank to the goal, -1 where there is no way; breadth-first search in NumPy."""
    assert puzzle.num_states is not None
    found = np.full(puzzle.num_states, -1, dtype=np.int16)
    level = puzzle.rank(puzzle.goal)
    depth = 0
    while len(level):
        found[level] = depth
        ranks = np.unique(puzzle.rank(puzzle.expand(puzzle.unrank(level))[2]))
        level = ranks[found[ranks] < 0]
        depth += 1
    return found


@pytest.fixture(scope="module")
def eight_puzzle() -> tuple[Puzzle, NDArray[np.int16]]:
    puzzle = make_puzzle("tiles-3x3")
    return puzzle, distances(puzzle)


@pytest.mark.parametrize("name", SMALL)
def test_every_rank_is_a_state_and_back(name: str) -> None:
    puzzle = make_puzzle(name)
    assert puzzle.num_states is not None
    ranks = np.arange(min(puzzle.num_states, 200_000))
    states = puzzle.unrank(ranks)
    puzzle.check(states)
    assert np.array_equal(puzzle.rank(states), ranks)


@pytest.mark.parametrize("name", [name for name in LARGE if make_puzzle(name).num_states])
def test_random_ranks_come_back(name: str) -> None:
    puzzle = make_puzzle(name)
    assert puzzle.num_states is not None
    ranks = np.random.default_rng(1).integers(0, puzzle.num_states, 2000)
    states = puzzle.unrank(ranks)
    puzzle.check(states)
    assert np.array_equal(puzzle.rank(states), ranks)


@pytest.mark.parametrize("name", SMALL + LARGE)
def test_every_move_has_its_inverse(name: str) -> None:
    puzzle = make_puzzle(name)
    state = puzzle.scramble(40, 7)
    parents, moves, children = puzzle.expand(state)
    assert set(parents) == {0}
    back = puzzle.apply(children, [puzzle.inverse_moves[move] for move in moves])
    assert np.array_equal(back, np.broadcast_to(state, back.shape))


@pytest.mark.parametrize("name", ["cube3", "cube2"])
def test_turns_of_cubes(name: str) -> None:
    puzzle = make_puzzle(name)
    for move, label in enumerate(puzzle.move_names):
        order = 2 if label.endswith("2") else 4
        assert [
            np.array_equal(puzzle.after([move] * n), puzzle.goal) for n in range(1, order + 1)
        ] == [False] * (order - 1) + [True]


def repeats_until_solved(puzzle: Puzzle, moves: str) -> int:
    state, count = puzzle.after(puzzle.parse_moves(moves)), 1
    while not np.array_equal(state, puzzle.goal):
        state, count = puzzle.after(puzzle.parse_moves(moves), state), count + 1
    return count


def test_orders_of_well_known_sequences() -> None:
    cube = make_puzzle("cube3")
    assert repeats_until_solved(cube, "R U") == 105
    assert repeats_until_solved(cube, "R U R' U'") == 6
    assert repeats_until_solved(cube, "R U2 D' B D'") == 1260  # the largest order there is
    assert repeats_until_solved(cube, "R2 L2 U2 D2 F2 B2") == 2


def test_superflip_turns_every_edge_in_place() -> None:
    cube = make_puzzle("cube3")
    moves = "U R2 F B R B2 R U2 L B2 R U' D' R2 F R' L B2 U2 F2"
    flipped = cube.after(cube.parse_moves(moves))
    assert np.array_equal(flipped[:8], cube.goal[:8])
    assert np.array_equal(flipped[8:], cube.goal[8:] + 1)


def test_move_pruning_of_the_cube() -> None:
    """No face twice in a row, and opposite faces in one order only."""
    cube = make_puzzle("cube3")
    pairs = itertools.pairwise(move // 3 for move in cube.core.random_moves(20_000, 1))
    expected = itertools.product(range(6), repeat=2)
    assert set(pairs) == {
        (a, b) for a, b in expected if a != b and not (a // 2 == b // 2 and a > b)
    }


def test_eight_puzzle_is_known(eight_puzzle: tuple[Puzzle, NDArray[np.int16]]) -> None:
    puzzle, found = eight_puzzle
    assert puzzle.num_states == 181_440
    assert found.min() == 0 and found.max() == 31
    assert int((found == 31).sum()) == 2


def test_pancakes_need_as_many_flips_as_known() -> None:
    assert distances(make_puzzle("pancake-7")).max() == 8


def test_topspin_reaches_every_even_arrangement() -> None:
    assert distances(make_puzzle("topspin-8-4")).min() == 0


@pytest.mark.parametrize("name", ["tiles-2x3", "pancake-6", "topspin-7-4", "topspin-8-4"])
@pytest.mark.parametrize("algorithm", ["astar", "idastar", "bfs"])
def test_blind_searches_are_optimal(name: str, algorithm: str) -> None:
    puzzle = make_puzzle(name)
    found = distances(puzzle)
    ranks = np.random.default_rng(2).choice(np.flatnonzero(found <= 6), 12)
    for rank in ranks:
        result = search(puzzle, "blind", algorithm, state=puzzle.unrank(rank)[0])
        assert result.solved and result.plan_length == found[rank]


def test_perfect_function_expands_nothing_else(
    eight_puzzle: tuple[Puzzle, NDArray[np.int16]],
) -> None:
    puzzle, found = eight_puzzle

    def exact(states: NDArray[np.int32]) -> NDArray[np.int16]:
        return found[puzzle.rank(states)]

    for rank in (5, 1234, 100_000):
        length = found[rank]
        for algorithm in ("astar", "idastar", "gbfs"):
            result = search(puzzle, exact, algorithm, state=puzzle.unrank(rank)[0])
            assert result.plan_length == length and result.initial_h == length
            assert algorithm == "gbfs" or result.expanded <= 60 * length


def test_counters_and_limits() -> None:
    puzzle = make_puzzle("tiles-4x4")
    state = puzzle.scramble(200, 3)
    for algorithm in [name for name, entry in SEARCHES.items() if "puzzle" in entry.spaces]:
        result = search(puzzle, "blind", algorithm, state=state, max_expansions=1000)
        assert result.status == "gave up" and result.exit_code == 12
        assert result.expanded <= 1000 and result.generated > 1000


@pytest.mark.parametrize("name", SMALL + LARGE)
def test_states_as_text(name: str) -> None:
    puzzle = make_puzzle(name)
    for seed in range(20):
        state = puzzle.scramble(30, seed)
        assert np.array_equal(puzzle.parse_state(puzzle.format_state(state)), state)


def test_scrambles_depend_on_the_seed_alone() -> None:
    puzzle = make_puzzle("cube3")
    assert np.array_equal(puzzle.scramble(25, 5), puzzle.scramble(25, 5))
    assert not np.array_equal(puzzle.scramble(25, 5), puzzle.scramble(25, 6))


def test_cube_notation() -> None:
    cube = make_puzzle("cube3")
    assert cube.format_state(cube.after(cube.parse_moves("U"))).startswith("UR UB UL UF DF")


WRONG_STATES = table("""
tiles-3x3 | 0 1 2 | expected 9 numbers
tiles-3x3 | 0 1 2 3 4 5 6 7 9 | '9' is not a piece
tiles-3x3 | 0 1 1 3 4 5 6 7 8 | two places
tiles-3x3 | 0 2 1 3 4 5 6 7 8 | swapped
topspin-8-4 | 1 0 2 3 4 5 6 7 | swapped
cube3 | UF | expected 20 words
cube3 | FU UR UB UL DF DR DB DL FR FL BR BL UFR URB UBL ULF DRF DFL DLB DBR | turned
cube3 | UR UF UB UL DF DR DB DL FR FL BR BL UFR URB UBL ULF DRF DFL DLB DBR | swapped
cube3 | UD UR UB UL DF DR DB DL FR FL BR BL UFR URB UBL ULF DRF DFL DLB DBR | not an edge
cube3 | UF UR UB UL DF DR DB DL FR FL BR BL URF URB UBL ULF DRF DFL DLB DBR | corner
cube2 | UFR URB UBL ULF DRF DFL BDL DBR | hold the cube
""")


@pytest.mark.parametrize(("name", "text", "message"), WRONG_STATES)
def test_wrong_states_are_explained(name: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_puzzle(name).parse_state(text)


@pytest.mark.parametrize(
    "name",
    ["cube4", "tiles", "tiles-1x3", "tiles-3", "pancake-1", "topspin-6-5", "topspin-8-3", ""],
)
def test_unknown_puzzles_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="puzzle"):
        make_puzzle(name)


def test_what_no_search_can_use_is_refused() -> None:
    puzzle = make_puzzle("pancake-5")
    with pytest.raises(ValueError, match="unknown search"):
        search(puzzle, "blind", "dfs", state=puzzle.goal)
    with pytest.raises(ValueError, match="'gbfls' does not work on a puzzle; choose one of gbfs"):
        search(puzzle, "blind", "gbfls", state=puzzle.goal)
    with pytest.raises(ValueError, match="unknown heuristic"):
        search(puzzle, "magic", "astar", state=puzzle.goal)
    with pytest.raises(ValueError, match="'ff' does not work on a puzzle; choose one of blind"):
        search(puzzle, "ff", "astar", state=puzzle.goal)
    with pytest.raises(ValueError, match="needs a state to start from"):
        search(puzzle, "blind", "astar")
    with pytest.raises(ValueError, match="no move"):
        puzzle.parse_moves("flip9")
    with pytest.raises(ValueError, match="cannot be numbered"):
        cube = make_puzzle("cube3")
        cube.rank(cube.goal)

"""Certified heuristics make search optimal; those that overestimate obey Theorem 3. Exhaustively.

Small spaces, every state as a start, A* and IDA*, lengths against exact distances.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import small_domains
from numpy.typing import NDArray
from program import hstar as run
from small_patterns import OPTIONS, data_of, database_of

from hstar import search
from hstar.pdb import PdbHeuristic, build_pdb, choose_pattern, parse_pattern, write_pdb
from hstar.pdb.theory import tightest_bounds
from hstar.pddl import parse
from hstar.planning.puzzle import Puzzle, make_puzzle
from hstar.planning.task import Task, ground
from hstar.slots.loader import load_pattern_heuristic
from hstar.slots.objectives import make_objective
from hstar.slots.pattern_network import read_learned
from hstar.training.certified.certificate import verify_file
from hstar.training.certified.learning import learn
from hstar.training.options import Sampling
from hstar.training.source import TableData

SPACES = {"tiles-2x3": "tiles", "pancake-6": "pancakes"}
SEARCHES = ("astar", "idastar")
CRUDE = replace(
    OPTIONS,
    steps=30,
    objective=make_objective("ce"),
    decode="argmax",
    sampling=Sampling("tempered", 0.0),
)

Ints = NDArray[np.int64]


def distances_of(puzzle: Puzzle) -> Ints:
    states = puzzle.unrank(np.arange(puzzle.num_states or 0))
    return database_of(puzzle.name, SPACES[puzzle.name]).lookup(states).astype(np.int64)


def lengths(puzzle: Puzzle, heuristic: object, algorithm: str) -> Ints:
    """From every state."""
    starts = puzzle.unrank(np.arange(puzzle.num_states or 0))
    found = [search(puzzle, heuristic, algorithm, state=start).plan_length for start in starts]  # type: ignore[arg-type]
    return np.array(found, dtype=np.int64)


@pytest.mark.parametrize("name", SPACES)
def test_certified_heuristics_make_search_optimal(name: str, tmp_path: Path) -> None:
    puzzle = make_puzzle(name)
    path = tmp_path / "strict.safetensors"
    assert learn(data_of(name, SPACES[name]), path, OPTIONS) is not None
    small = parse_pattern(puzzle, "tiles:1-3" if name.startswith("tiles") else "0-2")
    write_pdb(tmp_path / "small.pdb", build_pdb(puzzle, small))
    exact = distances_of(puzzle)
    for text in (f"pdb:{path}", f"pdb:{path},{tmp_path / 'small.pdb'}"):
        for algorithm in SEARCHES:
            heuristic = load_pattern_heuristic(text)
            assert np.array_equal(lengths(puzzle, heuristic, algorithm), exact)


def test_networks_see_what_tables_leave_and_each_pattern_once(tmp_path: Path) -> None:
    puzzle = make_puzzle("pancake-6")
    path = tmp_path / "strict.safetensors"
    assert learn(data_of("pancake-6", "0-3"), path, OPTIONS) is not None
    table = database_of("pancake-6", "pancakes")
    network = read_learned(path).model
    alone, both = PdbHeuristic([network]), PdbHeuristic([network, table])
    start = puzzle.unrank(700)[0]
    for heuristic in (alone, both):
        assert search(puzzle, heuristic, "idastar", state=start).solved
    counts = [one.bind(puzzle).network_states for one in (alone, both)]
    assert counts[1] < counts[0] <= network.layout.cells
    states = puzzle.unrank(np.arange(720))
    expected = np.maximum(network.lookup(states), table.lookup(states))
    counts = []
    for _ in range(2):
        assert np.array_equal(both.evaluate(puzzle, states), expected)
        counts.append(both.bind(puzzle).network_states)
    assert counts[0] == counts[1]  # all known from the first time


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("seed", range(3))
def test_theorem_3_for_random_errors(name: str, seed: int) -> None:
    puzzle = make_puzzle(name)
    exact = distances_of(puzzle)
    rng = np.random.default_rng(seed)
    values = exact + np.where(rng.random(len(exact)) < 0.3, rng.integers(1, 13, len(exact)), 0)
    values[exact <= 2] = exact[exact <= 2]  # else the end of the path alone makes the bound
    bounds = tightest_bounds(puzzle, exact, values)
    for algorithm in SEARCHES:
        excess = lengths(puzzle, lambda s: values[puzzle.rank(s)], algorithm) - exact
        assert (excess <= bounds).all()
        assert excess.max() > 0  # there was something to bound


@pytest.mark.parametrize("name", SPACES)
def test_theorem_3_for_networks_that_overestimate(name: str, tmp_path: Path) -> None:
    puzzle = make_puzzle(name)
    path = tmp_path / "argmax.safetensors"
    assert learn(data_of(name, SPACES[name]), path, CRUDE) is not None
    model = read_learned(path, need_certificate=False).model
    exact = distances_of(puzzle)
    values = model.lookup(puzzle.unrank(np.arange(len(exact)))).astype(np.int64)
    assert (values > exact).any()
    bounds = tightest_bounds(puzzle, exact, values)
    for algorithm in SEARCHES:
        assert (lengths(puzzle, PdbHeuristic([model]), algorithm) - exact <= bounds).all()


def test_bounds_are_the_least_over_all_optimal_paths() -> None:
    puzzle = make_puzzle("pancake-4")
    states = puzzle.unrank(np.arange(24))
    exact = database_of("pancake-4", "pancakes").lookup(states).astype(np.int64)
    values = np.maximum(exact + np.random.default_rng(5).integers(-2, 3, 24), 0)

    def least(rank: int) -> int:
        own = int(values[rank] - exact[rank])
        if exact[rank] == 0:
            return own
        children = puzzle.rank(puzzle.expand(states[rank])[2])
        closer = [int(child) for child in children if exact[child] == exact[rank] - 1]
        return max(own, min(map(least, closer)))

    assert tightest_bounds(puzzle, exact, values).tolist() == [least(rank) for rank in range(24)]
    with pytest.raises(ValueError, match="every state"):
        tightest_bounds(puzzle, exact[:-1], values)


def small_task(name: str, folder: Path) -> Task:
    domain, problem = small_domains.ALL[name](random.Random(3))
    (folder / "domain.pddl").write_text(domain)
    (folder / "problem.pddl").write_text(problem)
    return ground(parse(folder / "domain.pddl", folder / "problem.pddl"))


@pytest.mark.parametrize("name", ["blocks", "gripper", "logistics", "transport"])
def test_planning_tasks_from_pattern_to_plan(name: str, tmp_path: Path) -> None:
    task = small_task(name, tmp_path)
    database = build_pdb(task, choose_pattern(task, 3000))
    path = tmp_path / "task.safetensors"
    assert learn(TableData(database, task), path, OPTIONS) is not None
    assert verify_file(path, space=task)[1].holds
    cost = search(task, "lmcut", "astar").plan_cost
    assert cost is not None and cost > 0
    heuristic = load_pattern_heuristic(f"pdb:{path}")
    for algorithm in SEARCHES:
        assert search(task, heuristic, algorithm).plan_cost == cost


def test_patterns_of_tasks(tmp_path: Path) -> None:
    task = small_task("gripper", tmp_path)
    goals = {variable for variable, _ in task.goal}
    for most in (10, 100, 1000, 10**9):
        pattern = parse_pattern(task, f"auto:{most}")
        size = int(np.prod([task.domain_sizes[variable] for variable in pattern]))
        assert size <= most and pattern == sorted(set(pattern)) and goals & set(pattern)
    assert goals < set(pattern)  # with the robot and its hands
    with pytest.raises(ValueError, match="allow more"):
        choose_pattern(task, 1)
    with pytest.raises(ValueError, match="auto:100000"):
        parse_pattern(task, "auto:many")


def test_damaged_files_are_refused_by_plan(tmp_path: Path) -> None:
    task = small_task("blocks", tmp_path)
    path, problem = tmp_path / "task.safetensors", str(tmp_path / "problem.pddl")
    database = build_pdb(task, choose_pattern(task, 500))
    assert learn(TableData(database, task), path, OPTIONS) is not None
    content = path.read_bytes()
    for search_name in SEARCHES:
        command = ["plan", problem, "-s", search_name, "-H", f"pdb:{path}"]
        command += ["--plan-file", str(tmp_path / "plan")]
        path.write_bytes(content)
        assert run(*command).code == 0
        for place in (60, len(content) // 2, len(content) - 1):
            changed = bytearray(content)
            changed[place] ^= 1
            path.write_bytes(changed)
            assert run(*command).code == 31

"""Small puzzles whose exact distances are all known: optimality and Theorem 3, start by start."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar import search
from hstar.experiments.report import markdown_table
from hstar.pdb import PatternDatabase, PdbHeuristic, build_pdb, parse_pattern
from hstar.planning.puzzle import Puzzle, make_puzzle
from hstar.slots.objectives import make_objective
from hstar.slots.pattern_network import ExceptionSet, LearnedDatabase, read_learned
from hstar.training.certified.certificate import verify_file
from hstar.training.certified.learning import learn
from hstar.training.certified.sweep import SweepOptions
from hstar.training.options import TABLE_DEFAULTS, Sampling, TrainOptions
from hstar.training.source import TableData

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from hstar.pdb.theory import tightest_bounds

CHUNK = 100_000


@dataclass(frozen=True, slots=True)
class Case:
    """One learned heuristic; `strict` ones are certified, the others overestimate. Weak ones make
    search long, and start from `starts` random states only (None: from all)."""

    name: str
    pattern: str
    options: TrainOptions
    starts: int | None = None

    @property
    def strict(self) -> bool:
        return self.options.decode == "strict"


@dataclass(frozen=True, slots=True)
class Space:
    """The puzzle with the exact distance of every state, by rank."""

    puzzle: Puzzle
    states: NDArray[np.int32]  # [N, V]
    distances: NDArray[np.int64]  # [N]

    def starts(self, count: int | None) -> NDArray[np.int64]:
        """Ranks, random ones or all."""
        size = len(self.distances)
        if count is None or count >= size:
            return np.arange(size)
        return np.random.default_rng(0).choice(size, count, replace=False)


SOLID = TrainOptions(
    **{
        **TABLE_DEFAULTS,
        "objective": make_objective("cea"),
        "decode": "strict",
        "batch": 2048,
        "device": "cpu",
    }
)
# States near the goal are rare, and every path ends there: uniform draws would leave them
# unlearned, and the bound would be that of the last steps for all starts alike.
CRUDE = replace(
    SOLID,
    model_options={"hidden": 32, "width": 16, "blocks": 1},
    objective=make_objective("ce"),
    decode="argmax",
    batch=1024,
    sampling=Sampling("tempered", 0.0),
)


def strict(budget: int, steps: int, **shape: int) -> TrainOptions:
    return replace(SOLID, model_options=shape, decode_options={"budget": budget}, steps=steps)


TILES = [
    Case(
        "all tiles, strict",
        "tiles",
        strict(60_000, 3000, hidden=128, width=64, blocks=2),
    ),
    Case(
        "blank and 4 tiles, strict",
        "tiles:1-4",
        strict(8_500, 1500, hidden=32, width=16, blocks=1),
        30_000,
    ),
    Case("all tiles, CE, 600 steps, argmax", "tiles", replace(CRUDE, steps=600)),
    Case("all tiles, CE, 100 steps, argmax", "tiles", replace(CRUDE, steps=100), 30_000),
    Case("blank and 4 tiles, CE, argmax", "tiles:1-4", replace(CRUDE, steps=600), 30_000),
]
CUBE2 = [
    Case(
        "all corners, strict",
        "corners",
        strict(250_000, 4000, hidden=256, width=96, blocks=2),
        2000,
    ),
    Case(
        "4 corners, strict",
        "corners:0-3",
        strict(17_000, 1500, hidden=48, width=24, blocks=1),
        2000,
    ),
    Case("all corners, CE, 100 steps, argmax", "corners", replace(CRUDE, steps=100), 2000),
    Case("all corners, CE, 600 steps, argmax", "corners", replace(CRUDE, steps=600), 2000),
    Case("4 corners, CE, argmax", "corners:0-3", replace(CRUDE, steps=600), 2000),
]

HEAD = [
    *["heuristic", "bytes (table)", "mean (exact)", "overestimated", "search", "starts", "optimal"],
    *["largest C - C*", "largest bound", "over the bound", "generated each", "ms each"],
]


def add_parsers(commands: Any) -> None:
    for name, help_text in (("tiles", "the 8-puzzle"), ("cube2", "the 2x2x2 cube")):
        parser = commands.add_parser(name, help=help_text)
        parser.add_argument(
            "--starts", type=int, metavar="N", help="random states of each case, instead of its own"
        )
        parser.set_defaults(run=partial(run, name))


def run(name: str, given: argparse.Namespace) -> tuple[list[dict[str, Any]], bool]:
    puzzle_name, cases = ("tiles-3x3", TILES) if name == "tiles" else ("cube2", CUBE2)
    space = make_space(make_puzzle(puzzle_name))
    count, longest = len(space.distances), space.distances.max()
    print(f"{puzzle_name}: {count:,} states, the farthest {longest} moves from the goal.\n")
    rows = []
    for case in cases:
        rows += prove(case, space, given.folder, given.starts or case.starts)
        print(line_of_learning(rows[-1]), flush=True)
    print(f"\n{markdown_table(HEAD, [cells(row) for row in rows])}")
    return rows, all(row["holds"] for row in rows)


def make_space(puzzle: Puzzle) -> Space:
    count = puzzle.num_states
    assert count is not None
    exact = build_pdb(puzzle, range(puzzle.num_variables))
    states = puzzle.unrank(np.arange(count))
    distances = exact.lookup(states).astype(np.int64)
    return Space(puzzle, states, distances)


def prove(case: Case, space: Space, folder: Path, count: int | None) -> list[dict[str, Any]]:
    """A row per search from so many states."""
    puzzle = space.puzzle
    table = build_pdb(puzzle, parse_pattern(puzzle, case.pattern))
    path = folder / f"{puzzle.name}-{case.name.replace(' ', '-').replace(',', '')}.safetensors"
    seconds = 0.0
    if not path.exists():
        learned = learn(TableData(table, puzzle), path, case.options, SweepOptions(1))
        assert learned is not None
        seconds = learned.loop.seconds
    if case.strict:
        file, verification = verify_file(path, options=SweepOptions(1))
        model, verified = file.model, verification.holds
    else:
        model, verified = (
            zero_at_goal(read_learned(path, need_certificate=False).model, puzzle),
            True,
        )
    values = values_of(model, space)
    bounds = tightest_bounds(puzzle, space.distances, values)
    about = {
        "space": puzzle.name,
        "heuristic": case.name,
        "bytes": path.stat().st_size,
        "table_bytes": table.table.nbytes,
        "learning_seconds": round(seconds, 1),
        "mean": float(values.mean()),
        "exact_mean": float(values_of(table, space).mean()),
        "overestimated": int((values > space.distances).sum()),
        "most_overestimated": int((values - space.distances).max()),
        "certified": case.strict and verified,
    }
    rows = []
    for algorithm in ("astar", "idastar"):
        found = search_all(model, space, space.starts(count), bounds, algorithm)
        optimal = found["optimal"] == found["starts"] or not case.strict
        holds = verified and optimal and found["over_the_bound"] == 0
        rows.append({**about, "search": algorithm, **found, "holds": holds})
    return rows


def zero_at_goal(model: LearnedDatabase, puzzle: Puzzle) -> LearnedDatabase:
    """With h(goal) = 0, which needs no learning: an exception for each class it is too large by."""
    goal = puzzle.goal[None]
    number = PatternDatabase(model.layout, np.zeros(0, dtype=np.uint8)).index(puzzle).rank(goal)
    classes = model.values.index(int(model.lookup(goal)[0]))
    return replace(model, exceptions=(ExceptionSet.encode(number.tolist()),) * classes)


def values_of(model: LearnedDatabase | PatternDatabase, space: Space) -> NDArray[np.int64]:
    """Of every state by rank."""
    parts = [
        model.lookup(space.states[first : first + CHUNK])
        for first in range(0, len(space.states), CHUNK)
    ]
    return np.concatenate(parts).astype(np.int64)


def search_all(
    model: LearnedDatabase,
    space: Space,
    starts: NDArray[np.int64],
    bounds: NDArray[np.int64],
    algorithm: str,
) -> dict[str, Any]:
    """Search from all starts and compare each length with the distance and the bound."""
    heuristic = PdbHeuristic([model])
    lengths = np.empty(len(starts), dtype=np.int64)
    generated = evaluated = 0
    started, cpu = time.monotonic(), time.process_time()
    for number, rank in enumerate(starts):
        found = search(space.puzzle, heuristic, algorithm, state=space.states[rank])
        if found.plan_length is None:
            sys.exit(f"a search ended early: {found.status}")
        lengths[number] = found.plan_length
        generated += found.generated
        evaluated += found.evaluated
    excess = lengths - space.distances[starts]
    return {
        "starts": len(starts),
        "optimal": int((excess == 0).sum()),
        "largest_excess": int(excess.max()),
        "largest_bound": int(bounds[starts].max()),
        "mean_excess": float(excess.mean()),
        "mean_bound": float(bounds[starts].mean()),
        "at_the_bound": int(((excess == bounds[starts]) & (excess > 0)).sum()),
        "over_the_bound": int((excess > bounds[starts]).sum()),
        "generated": generated,
        "evaluated": evaluated,
        "network_states": heuristic.bind(space.puzzle).network_states,
        "seconds": round(time.monotonic() - started, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
    }


def line_of_learning(row: dict[str, Any]) -> str:
    learned = f"learned in {row['learning_seconds']} s" if row["learning_seconds"] else "kept"
    certified = "certificate verified" if row["certified"] else "not certified"
    return f"- {row['heuristic']}: {learned}, {certified}."


def cells(row: dict[str, Any]) -> list[str]:
    share = row["overestimated"]
    over = f"{share:,} (by up to {row['most_overestimated']})" if share else "0"
    return [
        row["heuristic"],
        f"{row['bytes']:,} ({row['table_bytes']:,})",
        f"{row['mean']:.3f} ({row['exact_mean']:.3f})",
        over,
        row["search"],
        f"{row['starts']:,}",
        f"{row['optimal']:,}",
        f"{row['largest_excess']} (mean {row['mean_excess']:.3f})",
        f"{row['largest_bound']} (mean {row['mean_bound']:.3f})",
        f"{row['over_the_bound']}, {row['at_the_bound']:,} reach it",
        f"{row['generated'] / row['starts']:,.1f}",
        f"{1e3 * row['cpu_seconds'] / row['starts']:.2f}",
    ]

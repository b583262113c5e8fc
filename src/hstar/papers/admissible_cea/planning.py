"""A* with exact tables and certified networks on a puzzle, and h^FF and the default planner on the
same boards in PDDL. The puzzle's blank is in the first corner and that of the PDDL domain in the
last, so boards are turned by half a circle."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from hstar.domains import DOMAINS, Parameters, random_board
from hstar.experiments.bench import BenchOptions, run_bench, run_default
from hstar.experiments.study import BASELINE, DEFAULT_LABEL, StudyRun
from hstar.papers.admissible_cea.scales import PatternScale
from hstar.planning import make_puzzle
from hstar.runtime import write_atomically

MEMORY = 2 * 2**30
LABELS = {"network": "A*, certified network", "table": "A*, exact table"}
LABELS |= {"ff": BASELINE, "default": DEFAULT_LABEL}


def planning_files(directory: Path, puzzle: str) -> list[tuple[str, str, Path]]:
    """The finished runs as (domain, planner, file)."""
    folder = directory / "planning" / puzzle
    files = [(puzzle, label, folder / f"{name}.parquet") for name, label in LABELS.items()]
    return [one for one in files if one[2].is_file()]


def plan_on_boards(run: StudyRun[PatternScale, Any], puzzle: str, table: Path, model: Path) -> None:
    """Let all of them plan on as many boards as the scale asks for."""
    folder = run.directory / "planning" / puzzle
    if not run.scale.boards or len(planning_files(run.directory, puzzle)) == len(LABELS):
        return
    states, problems = write_boards(puzzle, run.scale.boards, run.seed, folder)
    options = BenchOptions(problems, ["ff"], memory_limit=MEMORY, jobs=run.jobs)
    search = replace(options, suites=[f"{puzzle}:states={states}"], searches=["astar"])
    for name, bench, chosen in (
        ("network", run_bench, replace(search, heuristics=[model])),
        ("table", run_bench, replace(search, heuristics=[f"pdb:{table}"])),
        ("ff", run_bench, options),
        ("default", run_default, options),
    ):
        output = folder / f"{name}.parquet"
        if run.begins(output, f"planning: {puzzle}, {name}"):
            bench(replace(chosen, output=output))


def write_boards(puzzle: str, count: int, seed: int, folder: Path) -> tuple[Path, list[Path]]:
    """Random boards: a file with the puzzle's states in its lines, and PDDL problems."""
    folder.mkdir(parents=True, exist_ok=True)
    generator, space = DOMAINS.find("sliding-tiles"), make_puzzle(puzzle)
    rows, columns = map(int, puzzle.removeprefix("tiles-").split("x"))
    write_atomically(folder / "domain.pddl", generator.domain_pddl)
    size: Parameters = {"rows": rows, "columns": columns}
    lines, problems = [], []
    for number in range(1, count + 1):
        drawn = f"{seed}-{number}"
        board = np.array(random_board(rows, columns, Random(drawn)))
        problems.append(folder / f"start-{number}.pddl")
        text = generator.make(size, Random(drawn), f"start-{number}")
        write_atomically(problems[-1], text)
        places = np.empty(len(board), dtype=np.int32)  # of each piece
        places[len(board) - 1 - board] = len(board) - 1 - np.arange(len(board))
        lines.append(space.format_state(places))
    states = folder / "start.txt"
    write_atomically(states, "\n".join(lines) + "\n")
    return states, problems

"""A* with exact tables and certified networks on a puzzle, and h^FF and the default planner on the
same boards in PDDL. The puzzle's blank is in the first corner and that of the PDDL domain in the
last, so boards are turned by half a circle."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np

from hstar.domains import DOMAINS, Parameters
from hstar.domains.sliding_tiles import random_board
from hstar.experiments.bench import BenchOptions, run_bench, run_default
from hstar.papers.admissible_cea.scales import Scale
from hstar.papers.experiment import Experiment
from hstar.papers.page import DEFAULT, FF
from hstar.planning.puzzle import make_puzzle
from hstar.runtime.atomic import write_atomically

MEMORY = 2 * 2**30
LABELS = {
    "network": "A*, certified network",
    "table": "A*, exact table",
    "ff": FF,
    "default": DEFAULT,
}


def planning_files(experiment: Experiment[Scale], puzzle: str) -> list[tuple[str, str, Path]]:
    """The finished runs as (domain, planner, file)."""
    folder = experiment.directory / "planning" / puzzle
    files = [(puzzle, label, folder / f"{name}.parquet") for name, label in LABELS.items()]
    return [one for one in files if one[2].is_file()]


def plan_on_boards(experiment: Experiment[Scale], puzzle: str, table: Path, model: Path) -> None:
    """Let all of them plan on as many boards as the scale asks for."""
    folder = experiment.directory / "planning" / puzzle
    if not experiment.scale.boards or len(planning_files(experiment, puzzle)) == len(LABELS):
        return
    states, problems = write_boards(puzzle, experiment.scale.boards, experiment.seed, folder)
    options = BenchOptions(problems, ["ff"], memory_limit=MEMORY, jobs=experiment.jobs)
    search = replace(options, suites=[f"{puzzle}:states={states}"], searches=["astar"])
    for name, run, chosen in (
        ("network", run_bench, replace(search, heuristics=[model])),
        ("table", run_bench, replace(search, heuristics=[f"pdb:{table}"])),
        ("ff", run_bench, options),
        ("default", run_default, options),
    ):
        output = folder / f"{name}.parquet"
        if experiment.begins(output, f"planning: {puzzle}, {name}"):
            run(replace(chosen, output=output))


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

"""Folders of problems to label, and what of the output must be the same on every run."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
from hard_tasks import write_task
from small_domains import ALL, GRIPPER, problem_text

from hstar.domains import generate
from hstar.slots.teachers import LabelledProblem, LabelOptions, LabelRows, Labels

QUICK = LabelOptions(jobs=1)
HARD = "p00b.pddl"


def write_folder(folder: Path, domain: str, count: int = 4, seed: int = 1) -> Path:
    """Small problems of a domain from small_domains."""
    folder.mkdir(parents=True)
    for number in range(count):
        domain_text, problem = ALL[domain](random.Random(seed + number))
        (folder / "domain.pddl").write_text(domain_text)
        (folder / f"p{number:02d}.pddl").write_text(problem)
    return folder


def generated(folder: Path, blocks: str = "4-6", count: int = 12) -> Path:
    """A folder that a generator knows; the larger problems need several hundred expansions."""
    low, high = map(int, blocks.split("-"))
    generate("blocksworld", folder, ["train"], count=count, ranges={"blocks": range(low, high + 1)})
    return folder / "train"


def hard_gripper(folder: Path) -> tuple[Path, Path]:
    """All ways to carry many balls are equally good, so A* looks at all of them."""
    balls = [f"ball{i}" for i in range(40)]
    objects = f"ra rb - room {' '.join(balls)} - ball left right - gripper"
    init = [*(f"(at {ball} ra)" for ball in balls), "(at-robby ra)", "(free left)", "(free right)"]
    problem = problem_text("gripper", objects, init, [f"(at {ball} rb)" for ball in balls])
    return write_task(folder, GRIPPER, problem)


def busy_folder(tmp_path: Path) -> Path:
    """Three small problems, and one that never ends. A single process gets to it third."""
    folder = write_folder(tmp_path / "problems", "gripper", count=3, seed=4)
    (tmp_path / "hard").mkdir()
    hard_gripper(tmp_path / "hard")[1].rename(folder / HARD)
    return folder


def files(output: Path) -> tuple[bytes, bytes]:
    """What must be the same on every run."""
    return output.read_bytes(), output.with_suffix(".manifest.json").read_bytes()


def problem_of(labels: Labels, name: str) -> LabelledProblem:
    """The problem of that file name."""
    return next(problem for problem in labels.problems if problem.problem == name)


def rows_of(labels: Labels, name: str) -> LabelRows:
    """The rows of the problem of that file name."""
    return labels.rows.of_problem(labels.problems.index(problem_of(labels, name)))


def atom_names(labels: Labels, name: str) -> list[list[str]]:
    """The true atoms of each labelled state of a problem, such as "on(a, b)"."""
    rows, names = rows_of(labels, name), problem_of(labels, name).atoms
    states = np.split(rows.atoms, rows.starts[1:-1]) if len(rows) else []
    named = ([names[atom] for atom in state] for state in states)
    return [[atom for atom in state if not atom.startswith("not ")] for state in named]

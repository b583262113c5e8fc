"""Which problems a benchmark runs on: folders, files and puzzles in, a fixed list out."""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hstar.pddl import Domain, UnsupportedPddlError, find_domain, parse_domain, parse_problem
from hstar.pddl.errors import InputFileError
from hstar.pddl.locate import find_problems, natural_order
from hstar.runtime.journal import digest_of

_PUZZLE = re.compile(r"(cube|tiles|pancake|topspin)[\w-]*:")


class SuiteError(InputFileError):
    """There is nothing to run on where the suite was said to be."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A problem of a suite. `suite` is the folder it was found in, as the caller wrote it, or the
    puzzle. `source` is what a run needs: `domain_path` and `problem_path`, or `puzzle` and
    `state`. `digest` is a sha256 of the content."""

    suite: str
    domain_name: str
    problem: str
    source: dict[str, Any]
    digest: str

    @property
    def size(self) -> int:
        """In bytes, of the problem file."""
        path = self.source.get("problem_path")
        return Path(path).stat().st_size if path else 0


def find_instances(suites: Sequence[str | os.PathLike[str]]) -> list[Instance]:
    """Every problem of the suites, in the order given and by natural order within a folder.

    A suite is a problem file, or a folder with domain.pddl and problems, or a folder of such
    folders. "tiles-3x3:scramble=20:count=5:seed=0" are 5 scrambles of 20 moves, "cube3:states=FILE"
    the states in the lines of a file. All files are parsed here, before hours of work: raises
    PddlError for a mistake (unsupported PDDL is left to its run), SuiteError for no problems or one
    named twice.
    """
    domains: dict[Path, Domain | None] = {}
    instances: list[Instance] = []
    for suite in suites:
        path = Path(suite)
        if not path.exists() and _PUZZLE.match(str(suite)):
            instances += _scrambles(str(suite))
            continue
        problems = _problems_below(path) if path.is_dir() else [path]
        if not problems:
            text = "there are no PDDL problems in this folder; name one with domain.pddl and "
            raise SuiteError(text + "problem files", str(path))
        instances += [_instance(problem, domains) for problem in problems]
    for name, count in Counter((one.suite, one.problem) for one in instances).items():
        if count > 1:
            raise SuiteError("this problem is named twice", os.path.join(*name))
    return instances


def _instance(problem_path: Path, domains: dict[Path, Domain | None]) -> Instance:
    domain_path = find_domain(problem_path)
    with contextlib.suppress(UnsupportedPddlError):  # the rows of such problems will say so
        if domain_path not in domains:
            domains[domain_path] = None
            domains[domain_path] = parse_domain(domain_path)
        if known := domains[domain_path]:
            parse_problem(problem_path, known)
    domain = domains[domain_path]
    content = domain_path.read_bytes() + b"\0" + problem_path.read_bytes()
    return Instance(
        suite=os.path.normpath(problem_path.parent),
        domain_name=domain.name if domain is not None else problem_path.parent.name,
        problem=problem_path.name,
        source={"domain_path": str(domain_path), "problem_path": str(problem_path)},
        digest=digest_of(content),
    )


def _scrambles(text: str) -> list[Instance]:
    """The start states of "PUZZLE:scramble=N:count=N:seed=N" or "PUZZLE:states=FILE"."""
    from hstar.planning.puzzle import make_puzzle

    name, *settings = text.split(":")
    given = dict(setting.partition("=")[::2] for setting in settings)
    try:
        puzzle = make_puzzle(name)
        if set(given) == {"states"}:
            lines = Path(given["states"]).read_text(encoding="utf-8").splitlines()
            numbered = [(i, line) for i, line in enumerate(lines, 1) if line.strip()]
            stem = Path(given["states"]).stem
            states = [(f"{stem}:{i}", puzzle.parse_state(line)) for i, line in numbered]
        else:
            moves = int(given.pop("scramble"))
            first, count = int(given.pop("seed", 0)), int(given.pop("count", 1))
            if given or count < 1:
                raise ValueError(text)
            states = [
                (f"scramble-{moves}-seed-{seed}", puzzle.scramble(moves, seed))
                for seed in range(first, first + count)
            ]
    except (ValueError, KeyError) as error:
        raise SuiteError(
            f"write PUZZLE:scramble=20:count=5:seed=0 or PUZZLE:states=FILE ({error})", text
        ) from None
    if not states:
        raise SuiteError("there are no states in the file", text)
    found = []
    for problem, state in states:
        source = {"puzzle": name, "state": state.tolist()}
        digest = digest_of(f"{name} {state.tolist()}")
        found.append(Instance(name, name, problem, source, digest))
    return found


def _problems_below(folder: Path) -> list[Path]:
    if problems := find_problems(folder):
        return problems
    # Links are not followed: they may lead in circles.
    inside = [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    folders = sorted(inside, key=natural_order)
    return [problem for below in folders for problem in _problems_below(below)]

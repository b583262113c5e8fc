"""Finds the planning tasks of benchmark suites: which files are problems, and their domains.

Suites come in several layouts: one domain.pddl beside the problems, one domain per problem under
a related name, or a domain.pddl further up with the problems in subfolders.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path


@dataclass(frozen=True)
class PddlTask:
    name: str  # path of the problem below the suite, without suffix
    domain: Path
    problem: Path

    @property
    def folder(self) -> str:
        """The folder below the suite that holds the problem: a domain, or one level of it."""
        return self.name.rpartition("/")[0] or "."


def find_domain(problem: Path, top: Path) -> Path | None:
    """The domain file of a problem by the usual naming rules, looking upwards as far as ``top``."""
    names = (
        "domain.pddl",
        f"{problem.stem}-domain.pddl",
        f"{problem.stem}_domain.pddl",
        f"{problem.name[:3]}-domain.pddl",
        f"domain_{problem.name}",
        f"domain-{problem.name}",
    )
    for folder in (problem.parent, *problem.parent.parents):
        for name in names:
            if (folder / name).is_file() and folder / name != problem:
                return folder / name
        if folder == top:
            break
    return None


def is_problem(path: Path) -> bool:
    with path.open(errors="replace") as file:
        text = re.sub(r";[^\n]*", "", file.read(20_000))
    return re.search(r"\(\s*define\s*\(\s*problem\b", text, re.IGNORECASE) is not None


def natural(text: str) -> list[int | str]:
    """A sort key under which p2 comes before p10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def find_tasks(suite: Path) -> list[PddlTask]:
    """Every problem below the folder that has a domain, in natural order."""
    found = []
    for path in sorted(suite.rglob("*.pddl"), key=lambda p: natural(str(p.relative_to(suite)))):
        if not is_problem(path):
            continue
        domain = find_domain(path, suite)
        if domain is not None:
            found.append(PddlTask(str(path.relative_to(suite).with_suffix("")), domain, path))
    return found


def one_per_domain_first(tasks: Iterable[PddlTask]) -> list[PddlTask]:
    """First task of every domain, then the second of every domain, ..., so a prefix is varied."""
    folders: dict[Path, list[PddlTask]] = {}
    for task in tasks:
        folders.setdefault(task.domain, []).append(task)
    return [task for row in zip_longest(*folders.values()) for task in row if task is not None]

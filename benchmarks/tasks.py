"""The planning tasks of unpacked benchmark suites: problems at any depth, with their domains."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from hstar.pddl import PddlError, find_domain
from hstar.pddl.locate import is_domain_file, natural_order


@dataclass(frozen=True)
class PddlTask:
    name: str  # path of the problem below the suite, without suffix
    domain: Path
    problem: Path


def find_tasks(suite: Path) -> list[PddlTask]:
    """Every problem below the folder that has a domain, p2 before p10."""
    found = []
    for path in sorted(suite.rglob("*.pddl"), key=lambda path: (path.parent, natural_order(path))):
        if is_domain_file(path):
            continue
        try:
            domain = find_domain(path)
        except PddlError:
            continue
        found.append(PddlTask(str(path.relative_to(suite).with_suffix("")), domain, path))
    return found


def one_per_domain_first(tasks: Iterable[PddlTask]) -> list[PddlTask]:
    """First task of every domain, then the second of every domain, ..., so a prefix is varied."""
    folders: dict[Path, list[PddlTask]] = {}
    for task in tasks:
        folders.setdefault(task.domain, []).append(task)
    return [task for row in zip_longest(*folders.values()) for task in row if task is not None]

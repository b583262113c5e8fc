"""Which problems a benchmark runs on: folders and files in, a fixed list of instances out."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hstar.pddl import Domain, UnsupportedPddlError, find_domain, parse_domain, parse_problem
from hstar.pddl.errors import InputFileError
from hstar.pddl.locate import find_problems, natural_order


class SuiteError(InputFileError):
    """There is nothing to run on where the suite was said to be."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A problem of a suite. `suite` is the folder it was found in, as the caller wrote it."""

    suite: str
    domain_name: str
    domain_path: Path
    problem_path: Path
    digest: str  # sha256 of both files

    @property
    def problem(self) -> str:
        return self.problem_path.name


def find_instances(suites: Sequence[str | os.PathLike[str]]) -> list[Instance]:
    """Every problem of the suites, in the order given and by natural order within a folder.

    A suite is a problem file, or a folder with domain.pddl and problems; a folder that holds no
    problems itself stands for those below it. All files are parsed here, so that a mistake in one
    of them is known before hours of work: raises PddlError for it, SuiteError where there are no
    problems or one is named twice. PDDL that is only unsupported is left for its run to report.
    """
    domains: dict[Path, Domain | None] = {}
    instances: list[Instance] = []
    for suite in suites:
        path = Path(suite)
        if path.is_dir():
            problems = _problems_below(path)
            if not problems:
                raise SuiteError(
                    "there are no PDDL problems in this folder; name one with domain.pddl and "
                    "problem files",
                    str(path),
                )
        else:
            problems = [path]
        instances += [_instance(problem, domains) for problem in problems]
    named: set[Path] = set()
    for instance in instances:
        if instance.problem_path in named:
            raise SuiteError("this problem is named twice", str(instance.problem_path))
        named.add(instance.problem_path)
    return instances


def _instance(problem_path: Path, domains: dict[Path, Domain | None]) -> Instance:
    domain_path = find_domain(problem_path)
    if domain_path not in domains:
        domains[domain_path] = _parse_supported_domain(domain_path)
    domain = domains[domain_path]
    if domain is not None:
        with contextlib.suppress(UnsupportedPddlError):  # its row will say so
            parse_problem(problem_path, domain)
    return Instance(
        suite=os.path.normpath(problem_path.parent),
        domain_name=domain.name if domain is not None else problem_path.parent.name,
        domain_path=domain_path,
        problem_path=problem_path,
        digest=hashlib.sha256(
            domain_path.read_bytes() + b"\0" + problem_path.read_bytes()
        ).hexdigest(),
    )


def _parse_supported_domain(path: Path) -> Domain | None:
    try:
        return parse_domain(path)
    except UnsupportedPddlError:
        return None


def _problems_below(folder: Path) -> list[Path]:
    if problems := find_problems(folder):
        return problems
    # Links are not followed: they may lead in circles.
    inside = [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    folders = sorted(inside, key=natural_order)
    return [problem for below in folders for problem in _problems_below(below)]

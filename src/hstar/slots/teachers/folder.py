"""A folder of problems, their domain, and the manifest of a generator, if there is one."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hstar.domains.folder import FORMAT as MANIFEST_FORMAT
from hstar.domains.folder import MANIFEST
from hstar.pddl import Domain, Problem, find_domain
from hstar.pddl.domain import read_domain
from hstar.pddl.errors import InputFileError
from hstar.pddl.locate import find_problems
from hstar.pddl.problem import read_problem
from hstar.pddl.source import load_source
from hstar.runtime.journal import digest_of
from hstar.runtime.resources import Budget, OutOfResources


class ProblemFolderError(InputFileError):
    """The folder or its manifest is not what it should be."""


@dataclass(frozen=True, slots=True)
class FolderProblem:
    """A problem file. `parameters`, `seed` and `retry` are what its generator was called with.
    `content` is a digest of what the problem says, whatever its name and layout; it is empty where
    no generator could make another one."""

    file: str
    text: str
    content: str
    problem: Problem = field(repr=False)
    parameters: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    retry: int = 0


@dataclass(frozen=True, slots=True)
class ProblemFolder:
    """`generator` is None where no manifest says how the problems were made; `apart` is what it was
    called with. Of the files that took too long to read, `left_out` are the names."""

    path: Path
    domain: Domain
    domain_text: str
    problems: tuple[FolderProblem, ...]
    generator: str | None = None
    split: str = ""
    left_out: tuple[str, ...] = ()
    apart: bool = True


def content_digest(problem: Problem) -> str:
    """Equal for problems that differ at most in their names and in how they are written down."""
    values = sorted((*name, repr(value)) for name, value in problem.function_values.items())
    content = [sorted(problem.objects.items()), sorted(problem.init), values, str(problem.goal)]
    return digest_of(json.dumps(content))


def common_domain(problems: Sequence[Path]) -> Path:
    """The domain file of all these problem files. Raises PddlError where one has none, and
    ProblemFolderError unless all domains are the same text."""
    domain = find_domain(problems[0])
    for problem in problems[1:]:
        other = find_domain(problem)
        if other != domain and other.read_bytes() != domain.read_bytes():
            raise ProblemFolderError(
                f"this problem and {problems[0].name} have different domains ({other.name} and "
                f"{domain.name}); use one domain at a time",
                str(problem),
            )
    return domain


def read_folder(
    directory: str | os.PathLike[str], budget: Budget | None = None, each: float = math.inf
) -> ProblemFolder:
    """Read and parse every problem of a folder, in the order of its manifest or else by name.
    Within a budget, those that take more than `each` seconds are left out. Raises InputFileError
    for the first file that is missing or wrong, and OutOfResources."""
    path = Path(directory)
    if not path.is_dir():
        raise ProblemFolderError("there is no such folder; check the path", str(path))
    manifest = _read_manifest(path / MANIFEST)
    entries: list[dict[str, Any]] = manifest.get("problems", [])
    if not manifest:
        entries = [{"file": name} for name in sorted(p.name for p in find_problems(path))]
    if not entries:
        inner = sorted(p.name for p in path.iterdir() if p.is_dir() and find_problems(p))
        hint = f"; name one of its folders: {', '.join(inner)}" if inner else ""
        raise ProblemFolderError(
            f"there are no problem files (*.pddl) in this folder{hint}", str(path)
        )
    domain_path = common_domain([path / entry["file"] for entry in entries])
    domain = read_domain(load_source(domain_path))
    problems, left_out = [], []
    for entry in entries:
        try:
            with nullcontext() if budget is None else budget.within(each).enforced():
                problems.append(_read_problem(path / entry["file"], domain, entry))
        except OutOfResources as error:
            if budget is None or error.status != "out of time" or budget.seconds_left <= 0:
                raise
            left_out.append(entry["file"])
    made_by = manifest.get("generator"), manifest.get("split", "")
    apart, read = manifest.get("apart", True), (path, domain, _read_text(domain_path))
    return ProblemFolder(*read, tuple(problems), *made_by, tuple(left_out), apart)


def _read_problem(path: Path, domain: Domain, entry: dict[str, Any]) -> FolderProblem:
    parsed = read_problem(load_source(path), domain)
    text = _read_text(path)
    if entry.get("digest", digest_of(text)) != digest_of(text):
        raise ProblemFolderError(
            f"the file is not the one that {MANIFEST} describes; restore it, "
            f"or delete {MANIFEST} to use the folder as it is",
            str(path),
        )
    content = content_digest(parsed) if "parameters" in entry else ""
    made_with = {name: entry[name] for name in ("parameters", "seed", "retry") if name in entry}
    return FolderProblem(entry["file"], text, content, parsed, **made_with)


def _read_text(path: Path) -> str:
    """The text as it stands; old files carry Latin-1 author names in comments."""
    raw = path.read_bytes()
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _read_manifest(path: Path) -> dict[str, Any]:
    """What a generator wrote about the folder; empty where there is nothing."""
    if not path.exists():
        return {}

    def refused(why: str) -> ProblemFolderError:
        advice = "write the folder again with 'hstar generate', or delete the manifest"
        return ProblemFolderError(f"{why}; {advice}", str(path))

    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise refused(f"not JSON ({error})") from None
    if not isinstance(manifest, dict) or manifest.get("format") != MANIFEST_FORMAT:
        raise refused(f"not a manifest of the format {MANIFEST_FORMAT}")
    problems = manifest.get("problems")
    entries = problems if isinstance(problems, list) else [None]
    if not all(isinstance(p, dict) and isinstance(p.get("file"), str) for p in entries):
        raise refused("its list of problems is missing or damaged")
    return manifest

"""Which files of a folder are problems, and which domain file belongs to a problem file."""

from __future__ import annotations

import os
import re
from pathlib import Path

from hstar.pddl.errors import PddlError

_PARENTS_TO_TRY = 2
_HEAD_BYTES = 20_000  # enough to find the word "domain" in its first lines
_DOMAIN = re.compile(rb"\(\s*define\s*\(\s*domain\b", re.IGNORECASE)


def find_domain(problem_path: str | os.PathLike[str]) -> Path:
    """The domain file of a problem, by the naming habits of benchmark collections.

    Beside the problem p01.pddl these are tried in order: domain.pddl, domain_p01.pddl,
    domain-p01.pddl, p01-domain.pddl, p01_domain.pddl; then domain.pddl in the two folders above
    (collections with training/ and testing/ folders keep it there). Raises PddlError.
    """
    problem = Path(problem_path)
    if not problem.exists():
        raise PddlError("there is no such file; check the path", str(problem))
    if problem.is_dir():
        raise PddlError("this is a directory; name a file inside it", str(problem))
    folder, name, stem = problem.parent, problem.name, problem.stem
    beside = (
        "domain.pddl",
        f"domain_{name}",
        f"domain-{name}",
        f"{stem}-domain.pddl",
        f"{stem}_domain.pddl",
        f"{stem[:3]}-domain.pddl",  # p01-airport1.pddl has p01-domain.pddl
    )
    candidates = [folder / candidate for candidate in beside]
    above = Path(os.path.abspath(folder)).parents
    candidates += [parent / "domain.pddl" for parent in above[:_PARENTS_TO_TRY]]
    for candidate in candidates:
        if candidate.is_file() and candidate.name != name:
            return candidate
    missing = f"no domain.pddl in {folder} or the {_PARENTS_TO_TRY} folders above"
    advice = "name the domain file before the problem file"
    raise PddlError(f"no domain file given and {missing}; {advice}", str(problem))


def find_problems(folder: Path) -> list[Path]:
    """The PDDL files of a folder that are not domains, p2 before p10."""
    files = [path for path in folder.glob("*.pddl") if path.is_file()]
    files = [path for path in files if not is_domain_file(path)]
    return sorted(files, key=natural_order)


def natural_order(path: Path) -> tuple[list[tuple[int, str]], str]:
    parts = re.split(r"(\d+)", path.name)
    numbers = [(int(part), "") if part.isdecimal() else (0, part) for part in parts]
    return numbers, path.name


def is_domain_file(path: Path) -> bool:
    """Whether a file starts like a PDDL domain; False for anything but a regular file."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    return _DOMAIN.search(re.sub(rb";[^\n]*", b"", head)) is not None

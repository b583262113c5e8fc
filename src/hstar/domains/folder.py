"""Problem folders: DIR/train, DIR/validation and DIR/test, each self-contained.

A folder contains domain.pddl, the problems, and manifest.json, which records how each problem was
made. It gets its name only when it is complete, and is never mixed with other problems.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hstar.domains.generator import SPLITS, Generator
from hstar.domains.registry import DOMAINS
from hstar.domains.splits import Drawn, draw_split
from hstar.runtime.atomic import write_atomically
from hstar.runtime.progress import Progress
from hstar.runtime.version import VERSION

FORMAT = "hstar-problems-1"
MANIFEST = "manifest.json"
DOMAIN_FILE = "domain.pddl"


class FolderError(ValueError):
    """A folder contains something other than what would be written to it."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path} {problem}")


@dataclass(frozen=True, slots=True)
class WrittenSplit:
    """What `generate` wrote. `resized` problems have another size than asked for, because that size
    has no more problems; `written` is the number of files that did not exist before."""

    split: str
    directory: Path
    problems: int
    forms: int  # problems that differ in more than the names of their objects
    resized: int
    written: int


def generate(
    domain: str | Generator,
    directory: str | os.PathLike[str],
    splits: Sequence[str] = SPLITS,
    seed: int = 0,
    *,
    count: int | None = None,
    ranges: Mapping[str, Sequence[int | float]] | None = None,
    apart: bool = True,
    progress: bool = False,
) -> list[WrittenSplit]:
    """Write the problem folders of some splits below a directory.

    The same arguments give the same bytes. `count` is the number of problems of each split and
    `ranges` the values of some size parameters, see Generator.plan. Problems are kept `apart` (see
    splits.py), or may repeat. Raises ValueError for wrong arguments and FolderError if a folder
    contains something else, both before anything is written; OSError if it cannot be written.
    """
    generator = DOMAINS.find(domain) if isinstance(domain, str) else domain
    if seed < 0:
        raise ValueError(f"the seed must be at least 0, not {seed}")
    root = Path(directory)
    _check_siblings(root, generator)
    drawn = {}
    for split in dict.fromkeys(splits):
        plan = generator.plan(split, ranges, count)
        with Progress(f"{generator.name} {split}", sum(number for _, number in plan)) as bar:
            shown = {"on_problem": bar.update} if progress else {}
            pairs = draw_split(generator, split, plan, seed, apart=apart, **shown)
        files = _files(generator, split, [problem for _, problem in pairs], apart)
        _check_folder(root / split, files)
        drawn[split] = pairs, files
    found = []
    for split, (pairs, files) in drawn.items():
        forms = len({problem.canonical for _, problem in pairs})
        resized = sum(asked != problem.parameters for asked, problem in pairs)
        written = _write_folder(root / split, files)
        found.append(WrittenSplit(split, root / split, len(pairs), forms, resized, written))
    return found


def _files(
    generator: Generator, split: str, problems: Sequence[Drawn], apart: bool
) -> dict[str, str]:
    texts = {f"{problem.name}.pddl": problem.text for problem in problems}
    listed = [
        {
            "file": f"{problem.name}.pddl",
            **{key: getattr(problem, key) for key in ("parameters", "seed", "retry")},
            "digest": hashlib.sha256(problem.text.encode()).hexdigest(),
            "canonical": problem.canonical,
        }
        for problem in problems
    ]
    made_by: dict[str, Any] = {"format": FORMAT, "generator": generator.name, "split": split}
    made_by |= {} if apart else {"apart": False}
    made_by["hstar"] = VERSION
    text = json.dumps({**made_by, "problems": listed}, indent=1) + "\n"
    return {DOMAIN_FILE: generator.domain_pddl, **texts, MANIFEST: text}


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    """The part of a folder's manifest that says how problems are made; None if there is none."""
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    if not isinstance(manifest, dict):
        return None
    return {key: value for key, value in manifest.items() if key != "hstar"}


def _refuse_file(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise FolderError(path, "is not a folder; choose another name or remove it")


def _check_siblings(root: Path, generator: Generator) -> None:
    _refuse_file(root)
    for split in SPLITS:
        manifest = _read_manifest(root / split)
        if manifest is not None and manifest.get("generator") != generator.name:
            held = f"holds problems of {manifest.get('generator')}, not of {generator.name}"
            raise FolderError(root / split, f"{held}; choose another folder or remove this one")


def _check_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Raises FolderError unless a folder is absent, empty, or contains some or all of these files.

    Files other than PDDL are ignored.
    """
    _refuse_file(folder)
    present = {path.name for path in folder.iterdir()} if folder.exists() else set()
    if not present:
        return
    manifest = _read_manifest(folder)
    if manifest is None:
        advice = "choose another folder or empty it"
        raise FolderError(folder, f"is not empty and has no manifest of problems; {advice}")
    if manifest != {k: v for k, v in json.loads(files[MANIFEST]).items() if k != "hstar"}:
        advice = "choose another folder or remove this one"
        raise FolderError(folder, f"holds problems made with other options; {advice}")
    foreign = sorted(name for name in present - set(files) if name.endswith(".pddl"))
    if foreign:
        wrong = "is not listed in the manifest of its folder"
        raise FolderError(folder / foreign[0], f"{wrong}; move it away or choose another folder")


def _write_folder(folder: Path, files: Mapping[str, str]) -> int:
    """Write what is missing or damaged; a new folder appears complete. Returns how many files."""
    if (folder / MANIFEST).exists():
        problems = {folder / n: text.encode() for n, text in files.items() if n != MANIFEST}
        damaged = [p for p, text in problems.items() if not p.exists() or p.read_bytes() != text]
        for path in damaged:
            write_atomically(path, problems[path])
        return len(damaged)
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = folder.parent / f".{folder.name}.partial"
    if partial.is_symlink() or partial.exists():  # left by a process that was killed
        names = {path.name for path in partial.glob("[!.]*") if path.suffix != ".pddl"}
        if partial.is_symlink() or names - {MANIFEST}:
            raise FolderError(partial, "was not written by hstar; move it away")
        shutil.rmtree(partial)
    partial.mkdir()
    try:
        for name, text in files.items():
            write_atomically(partial / name, text)
        partial.replace(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return len(files)

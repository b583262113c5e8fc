"""Domains with problems to learn from and others to search: generated, or those of a suite with
folders DOMAIN/train and DOMAIN/test. What says the same as a training problem is no test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hstar.domains import generate
from hstar.experiments.bench import SuiteError
from hstar.experiments.study.run import StudyRun, read_part, spread, write_part
from hstar.experiments.study.scales import build
from hstar.experiments.study.trials import Entry, Generated, TrialScale
from hstar.pddl import find_domain, find_problems, natural_order, parse
from hstar.slots.teachers import content_digest

SPLITS = ("train", "test")


@dataclass(frozen=True, slots=True)
class DomainProblems:
    """The problems of a domain, the smallest first. `left_out` are test files that say the same as
    a training problem."""

    domain: str
    train: tuple[Entry, ...]
    test: tuple[Entry, ...]
    left_out: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.domain

    @property
    def train_folder(self) -> Path:
        return self.train[0].path.parent

    def chosen(self, per_size: int, sizes: int = 0) -> tuple[Entry, ...]:
        """So many test problems for each size, at even distances; all for 0. `sizes` is how many
        sizes count, 0 for those that there are."""
        counted = sizes or len({entry.objects for entry in self.test})
        return tuple(spread(self.test, per_size * counted)) if per_size else self.test


def domain_folders(suite: Path, first: Iterable[str] = ()) -> dict[str, Path]:
    """The folders of a suite that have problems to train and to test with; some come first."""
    inside = sorted(path for path in suite.iterdir() if path.is_dir())
    found = {
        path.name: path
        for path in inside
        if all((path / split).is_dir() and find_problems(path / split) for split in SPLITS)
    }
    if not found:
        raise SuiteError(
            "there are no folders DOMAIN/train and DOMAIN/test of problems", str(suite)
        )
    names = [*(name for name in first if name in found), *found]
    return {name: found[name] for name in names}


def make_problems(folder: Path, wanted: Generated, seed: int) -> None:
    """Generate what is not there yet. No problem is in both splits, up to the names of objects."""
    for split, count in zip(SPLITS, wanted.counts, strict=True):
        if not (folder / split).is_dir():
            ranges = getattr(wanted, split)
            generate(wanted.domain, folder, [split], seed, count=count, ranges=ranges)


def read_problems(domain: str, folder: Path, part: Path) -> DomainProblems:
    """Read the problems of a domain once; what is found stays in the file `part`. Raises PddlError
    and SuiteError."""
    held = read_part(part)
    if held is not None:
        found: DomainProblems = build(DomainProblems, held)
        return found
    found = _read(domain, folder)
    write_part(part, asdict(found))
    return found


def _read(domain: str, folder: Path) -> DomainProblems:
    known, entries = set(), {}
    left_out: list[str] = []
    for split in SPLITS:
        kept = []
        for path in find_problems(folder / split):
            problem = parse(find_domain(path), path)
            digest = content_digest(problem)
            if split == "train":
                known.add(digest)
            elif digest in known:
                left_out.append(str(path))
                continue
            kept.append(Entry(str(path), len(problem.objects)))
        kept.sort(key=lambda entry: (entry.objects, natural_order(entry.path)))
        entries[split] = tuple(kept)
    if not entries["test"]:
        raise SuiteError("every test problem is a training problem too", str(folder / "test"))
    return DomainProblems(domain, entries["train"], entries["test"], tuple(left_out))


def all_problems(
    run: StudyRun[TrialScale, Any], folders: Mapping[str, Path]
) -> Iterator[tuple[str, DomainProblems]]:
    """Those of each domain, generated if the folder is that of the run."""
    for domain, folder in folders.items():
        part = run.directory / "problems" / f"{domain}.json"
        is_ours = folder.is_relative_to(run.directory)
        if run.begins(part, f"reading problems of {domain}") and is_ours:
            make_problems(folder, run.scale.generated[domain], run.seed)
        yield domain, read_problems(domain, folder, part)

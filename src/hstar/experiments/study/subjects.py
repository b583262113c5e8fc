"""What is learned from and what is searched, given or generated: domains with folders DOMAIN/train
and DOMAIN/test of problems, where what says the same as a training problem is no test; and tasks
with several initial states, of which the first is learned from."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from hstar.domains import generate
from hstar.domains.walks import write_walks
from hstar.experiments.bench import SuiteError
from hstar.experiments.study.published import build
from hstar.experiments.study.run import read_part, write_part
from hstar.pddl import Problem, find_domain, find_problems, natural_order, parse
from hstar.slots.teachers import content_digest

SPLITS = ("train", "test")
STEPS = 200  # of a walk
OTHER = 2**16  # added to the seed: other walks than those of a learner's trials


@dataclass(frozen=True, slots=True)
class Generated:
    """Problems to generate: how many to train and to test with, and the sizes of both."""

    domain: str
    counts: tuple[int, ...] = (0, 1)
    train: Mapping[str, Sequence[int]] = field(default_factory=dict)
    test: Mapping[str, Sequence[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """A problem file and how many objects the problem has, those of the domain included."""

    file: str
    objects: int = 0

    @property
    def path(self) -> Path:
        return Path(self.file)

    def problem(self) -> Problem:
        return parse(find_domain(self.path), self.path)


@dataclass(frozen=True, slots=True)
class Subject:
    """`train` is learned from, `test` is searched. Its folder in the output has its name.
    `left_out` are test files that say the same as a training problem."""

    domain: str
    name: str
    train: tuple[Entry, ...]
    test: tuple[Entry, ...]
    left_out: tuple[str, ...] = ()

    @classmethod
    def read(cls, domain: str, folder: Path, part: Path) -> Subject:
        """Read the problems of a domain once, the smallest first; what is found stays in the file
        `part`. Raises PddlError and SuiteError."""
        held = read_part(part)
        if held is not None:
            found: Subject = build(cls, held)
            return found
        known, left_out = set(), []
        entries: dict[str, list[Entry]] = {split: [] for split in SPLITS}
        for split, kept in entries.items():
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
        if not entries["test"]:
            raise SuiteError("every test problem is a training problem too", str(folder / "test"))
        train, test = (tuple(entries[split]) for split in SPLITS)
        found = cls(domain, domain, train, test, tuple(left_out))
        write_part(part, asdict(found))
        return found

    @classmethod
    def of_first(cls, domain: str, folder: Path, count: int) -> Subject:
        """The first problems, both to learn from and to search; they are not read yet."""
        entries = tuple(Entry(str(path)) for path in find_problems(folder)[:count])
        return cls(domain, domain, entries, entries)

    @classmethod
    def of_task(cls, domain: str, folder: Path, states: Iterable[int]) -> Subject:
        """p1 is learned from; of the states those are searched that there are: a tiny task has
        few."""
        first, *files = (folder / f"p{number}.pddl" for number in (1, *states))
        others = tuple(Entry(str(path)) for path in files if path.is_file())
        return cls(domain, f"{domain}/{folder.name}", (Entry(str(first)),), others)

    @property
    def train_folder(self) -> Path:
        return self.train[0].path.parent

    def chosen(self, per_size: int, sizes: int = 0) -> tuple[Entry, ...]:
        """So many test problems for each size, at even distances; all for 0. `sizes` is how many
        sizes count, 0 for those that there are."""
        total = len(self.test)
        count = per_size * (sizes or len({entry.objects for entry in self.test}))
        if not 0 < count < total:
            return self.test
        return tuple(self.test[i * total // count] for i in range(count))


def make_task(path: Path, asked: Generated, states: int, seed: int) -> None:
    """Generate a problem, and other initial states of it by random walks."""
    folder = path.parent
    generate(asked.domain, folder, ["test"], seed, count=1, ranges=asked.test)
    (problem,) = find_problems(folder / "test")
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        made = Path(scratch) / "task"
        write_walks(find_domain(problem), problem, made, states, STEPS, seed + OTHER)
        walks = list(enumerate(sorted(made.glob("p*.pddl")), start=2))
        for number, walk in reversed(walks):  # the last first, so that its new name is free
            walk.rename(made / f"p{number}.pddl")
        shutil.copy(problem, made / "p1.pddl")
        made.rename(path)

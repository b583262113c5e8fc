"""Tasks with several initial states, of which the first is learned from: given, or generated with
states from random walks."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hstar.domains import generate
from hstar.domains.walks import write_walks
from hstar.experiments.bench import SuiteError
from hstar.experiments.study.trials import Entry, Generated
from hstar.pddl import Problem, parse

STEPS = 200  # of a walk
OTHER = 2**16  # added to the seed: other walks than those of a learner's trials


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """A task with several initial states: domain.pddl, p1.pddl, p2.pddl and so on. p1 is learned
    from."""

    domain: str
    path: Path

    @property
    def name(self) -> str:
        return f"{self.domain}/{self.path.name}"

    def file(self, number: int) -> Path:
        return self.path / f"p{number}.pddl"

    def problem(self, number: int) -> Problem:
        return parse(self.path / "domain.pddl", self.file(number))

    def states(self, wanted: Iterable[int]) -> list[int]:
        """Those of the wanted ones that there are: a tiny task has few."""
        return [number for number in wanted if self.file(number).is_file()]

    def entries(self, numbers: list[int]) -> list[Entry]:
        return [Entry(str(self.file(number))) for number in numbers]


def find_tasks(suite: Path, folders: Mapping[str, Path], ends: bool) -> list[TaskFolder]:
    """The tasks of the domains in order, or the first and the last of each. Raises SuiteError."""
    found = []
    for name, folder in folders.items():
        tasks = sorted(path for path in folder.iterdir() if (path / "p1.pddl").is_file())
        if ends:
            tasks = list(dict.fromkeys([*tasks[:1], *tasks[-1:]]))
        found += [TaskFolder(name.partition("-")[0], path) for path in tasks]
    if not found:
        raise SuiteError(
            "there are no folders DOMAIN/TASK with domain.pddl and p1.pddl", str(suite)
        )
    return found


def make_task(task: TaskFolder, asked: Generated, states: int, seed: int) -> None:
    """Generate a problem, and other initial states of it by random walks."""
    folder = task.path.parent
    generate(asked.domain, folder, ["test"], seed, count=1, ranges=asked.test)
    test = folder / "test"
    (problem,) = (path for path in test.glob("*.pddl") if path.name != "domain.pddl")
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        walks, made = Path(scratch) / "task", Path(scratch) / "made"
        write_walks(test / "domain.pddl", problem, walks, states, STEPS, seed + OTHER)
        made.mkdir()
        for number, path in enumerate(sorted(walks.glob("p*.pddl")), start=2):
            path.rename(made / f"p{number}.pddl")
        shutil.copy(problem, made / "p1.pddl")
        shutil.copy(walks / "domain.pddl", made)
        made.rename(task.path)

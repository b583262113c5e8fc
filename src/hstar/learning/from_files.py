"""Learning from files: PDDL in, a model file out, and a journal beside it to go on from."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from hstar.learning.options import LearnOptions
from hstar.learning.pipeline import Outcome, learn
from hstar.learning.recipe import Recipe
from hstar.learning.trials import Say
from hstar.pddl import Problem, find_domain, parse
from hstar.pddl.problem import read_problem
from hstar.pddl.source import source_from_bytes
from hstar.runtime.code import code_digest
from hstar.runtime.journal import Journal, digest_of
from hstar.runtime.resources import Budget
from hstar.slots.model_file import check_output, write_model
from hstar.slots.teachers.folder import content_digest, read_folder

MEMORY = 4 * 2**30  # of all processes, unless a limit is given
WORKER_MEMORY = 2**30  # the same on any number of cores: what it allows decides the result


@dataclass(frozen=True, slots=True)
class Work:
    """How much to do: `seconds` for everything (None: as the recipe says), or with `steps` as much
    work for each search. `processes` None: one per core. `budget` limits the whole."""

    seconds: float | None = None
    steps: int | None = None
    seed: int = 0
    processes: int | None = None
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        for name in ("seconds", "steps", "processes"):
            if (value := getattr(self, name)) is not None and not value > 0:
                raise ValueError(f"{name} must be positive, not {value}")

    def divided(self, recipe: Recipe) -> tuple[LearnOptions, Budget]:
        """What the processes get, and what is left for this one."""
        total = self.budget.memory_bytes or MEMORY
        memory = min(WORKER_MEMORY, total // 2)
        cores = self.processes or len(os.sched_getaffinity(0))
        processes = max(1, min(cores, total // memory - 1))
        seconds = self.seconds or recipe.seconds
        options = LearnOptions(seconds, self.steps, self.seed, processes, memory)
        return options, Budget(self.budget.deadline, total - processes * memory)


def learn_from_files(
    problems: Sequence[tuple[str, Problem]],
    output: str | os.PathLike[str],
    recipe: Recipe,
    work: Work,
    say: Say,
    warn: Callable[[str], None],
) -> Outcome:
    """Learn from what `read_problems` returns and write the model file. Finished pieces are kept in
    OUTPUT.partial until the end; the same call goes on from there. Raises ValueError if there is
    nothing to learn from, what `learn` raises, JournalError, OSError."""
    path = check_output(output)
    options, own = work.divided(recipe)
    settings = {
        "recipe": json.loads(json.dumps(asdict(recipe))),
        **{name: getattr(options, name) for name in ("seconds", "steps", "seed", "memory_bytes")},
        "problems": digest_of(json.dumps([digest for digest, _ in problems])),
        "code": code_digest(),
    }
    journal = Journal(path, settings, warn)
    kept = f"what is finished is kept in {journal.path}; run the same command again to go on"
    with journal.held():
        try:
            with work.budget.enforced():
                distinct = {content_digest(problem): problem for _, problem in problems}
                if len(distinct) < len(problems):
                    say(f"left out: {len(problems) - len(distinct)} that say the same as others")
                found = learn(list(distinct.values()), recipe, options, own, journal, say)
                if found.file is not None:
                    write_model(path, found.file)
        except ValueError:
            journal.remove()  # going on would end in the same way
            raise
        except BaseException:
            if journal.count():
                warn(kept)
            else:
                journal.remove()
            raise
        if found.interrupted:
            warn(kept)
        else:
            journal.remove()
    return found


def read_problems(
    path: str | os.PathLike[str], domain: str | os.PathLike[str] | None = None
) -> list[tuple[str, Problem]]:
    """A digest of what was read of each problem and its domain, and the problem: of a folder or of
    one file. Raises InputFileError, ValueError."""
    if not Path(path).is_dir():
        texts = [Path(find_domain(path) if domain is None else domain), Path(path)]
        problem = parse(*texts)
        return [(digest_of(b"".join(text.read_bytes() for text in texts)), problem)]
    if domain is not None:
        raise ValueError("name the folder alone; its domain.pddl lies in it or above it")
    folder = read_folder(path)
    problems = []
    for one in folder.problems:
        source = source_from_bytes(str(folder.path / one.file), one.text.encode())
        problem = read_problem(source, folder.domain)
        problems.append((digest_of(folder.domain_text + one.text), problem))
    return problems

"""Learning from files: PDDL in, a model file out, and a journal beside it to go on from."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from hstar import _core
from hstar.learning.options import LearnOptions
from hstar.learning.pipeline import Outcome, learn
from hstar.learning.recipe import Recipe
from hstar.learning.trials import Say
from hstar.pddl import Problem, parse
from hstar.runtime.code import code_digest
from hstar.runtime.journal import Journal, digest_of
from hstar.runtime.resources import Budget
from hstar.slots.model_file import check_output, write_model
from hstar.slots.teachers.folder import content_digest, read_folder

File = str | os.PathLike[str]

MEMORY = 4 * 2**30  # of all processes, unless a limit is given
WORKER_MEMORY = 2**30  # the same on any number of cores: what it allows decides the result


def learn_options(
    recipe: Recipe,
    budget: Budget,
    seconds: float | None,
    steps: int | None,
    seed: int,
    processes: int | None,
) -> LearnOptions:
    """`seconds` None: as the recipe says. `processes` None: one per core, as far as the memory of
    the budget goes. Raises ValueError for numbers that are not positive."""
    for name, value in (("seconds", seconds), ("steps", steps), ("processes", processes)):
        if value is not None and not value > 0:
            raise ValueError(f"{name} must be positive, not {value}")
    total = budget.memory_bytes or MEMORY
    memory = min(WORKER_MEMORY, total // 2)
    wanted = processes or len(os.sched_getaffinity(0))
    fitting = max(1, min(wanted, total // memory - 1))
    began = _core.monotonic_seconds()
    return LearnOptions(seconds or recipe.seconds, steps, seed, fitting, memory, began=began)


def learn_from_files(
    files: tuple[File, File | None],
    output: File,
    recipe: Recipe,
    options: LearnOptions,
    budget: Budget,
    say: Say,
    warn: Callable[[str], None],
) -> Outcome:
    """Learn from problems of one domain and write the model file, all within the budget. `files`
    are a folder, or a problem and perhaps its domain. Finished pieces are kept in OUTPUT.partial
    until the end; the same call goes on from there. Raises ValueError if there is nothing to learn
    from, InputFileError, what `learn` raises, JournalError, OSError."""
    path = check_output(output)
    problems = read_problems(*files, options, budget, say)
    theirs = options.processes * options.memory_bytes  # the rest is for this process
    own = Budget(budget.deadline, (budget.memory_bytes or MEMORY) - theirs)
    settings = {
        "recipe": json.loads(json.dumps(asdict(recipe))),
        **{name: getattr(options, name) for name in ("seconds", "steps", "seed", "memory_bytes")},
        "problems": digest_of("".join(str(replace(one, path="")) for one in problems)),
        "code": code_digest(),
    }
    journal = Journal(path, settings, warn)
    kept = f"what is finished is kept in {journal.path}; run the same command again to go on"
    with journal.held():
        try:
            with budget.enforced():
                distinct = {content_digest(problem): problem for problem in problems}
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
        if found.unfinished:
            warn(kept)
        else:
            journal.remove()
    return found


def read_problems(
    path: File, domain: File | None, options: LearnOptions, budget: Budget, say: Say
) -> list[Problem]:
    """Those of a folder, or the one of a file. Files of a folder that take too long to read are
    left out. Raises InputFileError, ValueError, OutOfResources."""
    if not Path(path).is_dir():
        with budget.enforced():
            return [parse(path) if domain is None else parse(domain, path)]
    if domain is not None:
        raise ValueError("name the folder alone; its domain.pddl lies in it or above it")
    own = budget.within(options.seconds_left())
    folder = read_folder(path, own, options.preparing_seconds)
    if folder.left_out:
        say(f"left out, too large to read: {', '.join(folder.left_out)}")
    if not folder.problems:
        raise ValueError(f"no file could be read within {options.preparing_seconds:.2g} s")
    return [one.problem for one in folder.problems]

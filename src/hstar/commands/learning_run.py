"""What both kinds of `hstar learn` do around learning: the journal, the model file, the verdict."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hstar.commands.arguments import UsageError, input_files
from hstar.pddl import Problem, parse
from hstar.pddl.errors import InputFileError, escape
from hstar.runtime.atomic import check_writable
from hstar.runtime.resources import Budget

if TYPE_CHECKING:
    from hstar.runtime.journal import Journal
    from hstar.slots.model_file import ModelFile

NOTHING_LEARNED = 12


class Found(Protocol):
    """What a learner comes back with."""

    @property
    def file(self) -> ModelFile | None: ...
    def sentence(self) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...


def output_file(options: argparse.Namespace) -> Path:
    """Raises UsageError, OSError."""
    if not options.output.endswith(".safetensors"):
        raise UsageError(f"the output must end in .safetensors, not '{options.output}'")
    output = Path(options.output)
    check_writable(output)
    return output


def warn(line: str) -> None:
    print(f"hstar: {escape(line)}", file=sys.stderr)


def run_learner(
    options: argparse.Namespace,
    budget: Budget,
    settings: Mapping[str, Any],
    learn: Callable[[Journal], Found],
    judged_on: str,
) -> int:
    """Learn, write the model, and say what it is worth. A run that was stopped leaves a journal if
    there is something to go on from."""
    from hstar.runtime.journal import Journal
    from hstar.slots.model_file import write_model

    output = Path(options.output)
    journal = Journal(output, settings, warn)
    with journal.held():
        try:
            with budget.enforced():
                found = learn(journal)
                if found.file is not None:
                    write_model(output, found.file)
        except BaseException as error:
            # Going on would end in the same way, unless a file is wrong.
            is_hopeless = isinstance(error, ValueError) and not isinstance(error, InputFileError)
            if is_hopeless or not journal.count():
                journal.remove()
            if not is_hopeless:
                raise
            what = options.files[-1]
            raise UsageError(f"nothing can be learned from {what}: {error}") from error
        journal.remove()
    if options.json:
        print(json.dumps(found.to_dict()))
    else:
        print(f"{judged_on}: {found.sentence()}.")
        if found.file is not None:
            name = escape(str(output))
            print(f"The model is in {name}; use it with 'hstar plan PROBLEM -H {name}'.")
    return 0 if found.file is not None else NOTHING_LEARNED


def read_problems(files: list[str]) -> list[tuple[str, Problem]]:
    """Digest and problem, of a folder or of one file. Raises InputFileError, UsageError."""
    from hstar.pddl.problem import read_problem
    from hstar.pddl.source import source_from_bytes
    from hstar.runtime.journal import digest_of
    from hstar.slots.teachers.folder import read_folder

    if not Path(files[-1]).is_dir():
        both = input_files(files)
        content = b"".join(path.read_bytes() for path in both)
        return [(digest_of(content), parse(*both))]
    if len(files) > 1:
        raise UsageError("name the folder alone; its domain.pddl lies in it or above it")
    folder = read_folder(files[0])
    problems = []
    for one in folder.problems:
        path = str(folder.path / one.file)
        problem = read_problem(source_from_bytes(path, one.text.encode()), folder.domain)
        problems.append((digest_of(folder.domain_text + one.text), problem))
    return problems

"""Which space a command line names: a puzzle, or the task of PDDL files."""

from __future__ import annotations

import os
from pathlib import Path

from hstar.commands.arguments import UsageError, as_usage_error, input_files
from hstar.pddl import parse
from hstar.planning.space import Space
from hstar.planning.task import ground
from hstar.runtime.resources import Budget


def find_space(names: list[str], budget: Budget) -> Space:
    """The puzzle of a name, or the task of PDDL files."""
    if len(names) == 1 and not names[0].endswith(".pddl") and not Path(names[0]).exists():
        if os.sep in names[0]:
            raise UsageError(f"{names[0]}: no such file")
        from hstar.planning.puzzle import make_puzzle

        with as_usage_error():
            return make_puzzle(names[0])
    domain, problem = input_files(names)
    return ground(parse(domain, problem), budget=budget)

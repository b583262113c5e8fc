"""Plan files, in the format of Fast Downward's sas_plan: one "(name object...)" per line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from hstar.pddl.errors import InputFileError, quote
from hstar.pddl.source import load_source

_TOKEN = re.compile(r"[()]|[^()\s]+")


class PlanFileError(InputFileError):
    """The file is not a plan."""


def read_plan(path: str | os.PathLike[str]) -> list[tuple[str, ...]]:
    """The steps of a plan as (action name, object, ...), lower-cased; comments are ignored.

    A file without steps is the empty plan. Raises PlanFileError.
    """
    source = load_source(path, PlanFileError, may_be_empty=True)
    steps: list[tuple[str, ...]] = []
    step: list[str] | None = None
    opened_at = 0
    for match in _TOKEN.finditer(source.text):
        token = match[0]
        if token == "(":
            if step is not None:
                raise source.error(
                    match.start(), "'(' inside a step; steps are written '(name object ...)'"
                )
            step = []
            opened_at = match.start()
        elif token == ")":
            if step is None:
                raise source.error(match.start(), "')' without a '(' before it; delete it")
            if not step:
                raise source.error(opened_at, "a step without an action name; delete it")
            steps.append(tuple(step))
            step = None
        elif step is not None:
            step.append(token)
        else:
            raise source.error(
                match.start(),
                f"found {quote(token)} outside of a step; steps are written '(name object ...)' "
                "and comments start with ';'",
            )
    if step is not None:
        raise source.error(opened_at, "this '(' is never closed; add the missing ')'")
    return steps


def read_step(text: str) -> tuple[str, ...]:
    """Of "(name object ...)", as a search result has it."""
    return tuple(text.strip("()").split())


def format_plan(steps: Iterable[tuple[str, ...]], cost: int | float, unit: bool) -> str:
    """The text of a plan file; `unit` says whether every action of the task costs 1.

    A step without objects is "(name )", with a space, as in Fast Downward.
    """
    lines = [f"({step[0]} {' '.join(step[1:])})\n" for step in steps]
    return f"{''.join(lines)}; cost = {cost} ({'unit' if unit else 'general'} cost)\n"

"""Plan files, in the format of Fast Downward's sas_plan: one "(name object...)" per line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from hstar.pddl.errors import InputFileError, quote
from hstar.pddl.source import load_source

_STEP_OR_TOKEN = re.compile(r"\(([^()]*)(\)?)|\)|[^()\s]+")


class PlanFileError(InputFileError):
    """The file is not a plan."""


def read_plan(path: str | os.PathLike[str]) -> list[tuple[str, ...]]:
    """The steps of a plan as (action name, object, ...), lower-cased; comments are ignored.

    A file without steps is the empty plan. Raises PlanFileError.
    """
    source = load_source(path, PlanFileError, may_be_empty=True)
    steps: list[tuple[str, ...]] = []
    for match in _STEP_OR_TOKEN.finditer(source.text):
        start, words = match.start(), tuple((match[1] or "").split())
        if match[0] == ")":
            raise source.error(start, "')' without a '(' before it; delete it")
        if match[1] is None:
            advice = "steps are written '(name object ...)' and comments start with ';'"
            raise source.error(start, f"found {quote(match[0])} outside of a step; {advice}")
        if not match[2] and match.end() == len(source.text):
            raise source.error(start, "this '(' is never closed; add the missing ')'")
        if not match[2]:
            message = "'(' inside a step; steps are written '(name object ...)'"
            raise source.error(match.end(), message)
        if not words:
            raise source.error(start, "a step without an action name; delete it")
        steps.append(words)
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

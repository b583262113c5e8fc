"""One dict per slot: names -> entries, and how code outside the package joins.

An entry is an object that holds all the rest of the program needs to know of one teacher, model,
objective, ... A registry holds entries or, for those that are slow to import, where to find them
("hstar.models.nlm:NLM"). Code outside the package joins in two ways: under a name, by a Python
entry point of the registry's group, or without one, as "module:attribute". A module in the current
directory is found as well, as with `python -m`.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Iterable
from typing import Any, Generic, TypeVar, cast

Entry = TypeVar("Entry")


class Registry(dict[str, Any], Generic[Entry]):
    """`kind` is the word for one entry, such as "model"; `group` the group of entry points."""

    def __init__(self, kind: str, entries: dict[str, Any]) -> None:
        super().__init__(entries)
        self.kind = kind
        self.group = f"hstar.{kind.replace(' ', '_')}s"

    def find(self, name: str) -> Entry:
        """The entry of a name or of "module:attribute". Raises ValueError for an unknown one."""
        if name not in self and ":" not in name:
            self._join_entry_points()
        if name not in self and ":" not in name:
            raise ValueError(f"unknown {self.kind} '{name}'; {suggestion(name, self)}")
        held = self.get(name, name)
        return cast(Entry, _imported(held, self.kind) if isinstance(held, str) else held)

    def _join_entry_points(self) -> None:
        from importlib.metadata import entry_points

        for point in entry_points(group=self.group):
            self.setdefault(point.name, point.value)


def suggestion(name: str, known: Iterable[str]) -> str:
    """What to choose instead of an unknown name."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"{hint}choose one of {', '.join(names)}"


def _imported(place: str, kind: str) -> Any:
    module, _, attribute = place.partition(":")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise ValueError(
            f"cannot import the {kind} '{place}': no module named {error.name!r}; run hstar where "
            "it can be imported, or install it"
        ) from None
    except AttributeError:
        raise ValueError(
            f"cannot import the {kind} '{place}': '{module}' has no '{attribute}'"
        ) from None

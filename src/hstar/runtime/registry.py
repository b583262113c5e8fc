"""Registries: one dict per slot, from a name to everything the program needs to know about it.

HEURISTICS = Registry("heuristic", {"ff": ...}, "hstar.heuristics")
HEURISTICS.find("ff")            an entry of the dict
HEURISTICS.find("mine")          an entry point of the group, in any installed package
HEURISTICS.find("module:name")   an attribute of a module, which may lie in the current directory

Names that stand in files go through `find_installed`, which knows the first two alone: reading a
file must not run code that came with it.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from hstar.pddl.errors import did_you_mean
from hstar.runtime.resources import OutOfResources

if TYPE_CHECKING:
    from importlib import metadata

Entry = TypeVar("Entry")


class Registry(dict[str, Entry], Generic[Entry]):
    """Names and entries of one slot. An entry that is slow to import may be given as text,
    "module:attribute", and is imported when needed.

    `kind` is the slot's name in messages. `adopt(name, object)` turns an object from outside the
    package into an entry, or raises ValueError if it does not fit.
    """

    def __init__(
        self,
        kind: str,
        entries: Mapping[str, Entry | str],
        entry_point_group: str,
        adopt: Callable[[str, Any], Entry] = lambda name, found: found,
    ) -> None:
        super().__init__(entries)  # type: ignore[arg-type]
        self.kind = kind
        self.group = entry_point_group
        self.adopt = adopt

    def find(self, name: str) -> Entry:
        """The entry of a name, an entry point or `module:attribute`. Raises ValueError."""
        if name in self or ":" not in name:
            return self.find_installed(name)
        # The current directory is searched last, so that nothing that lies there takes the place of
        # an installed module.
        if (here := os.getcwd()) not in sys.path and "" not in sys.path:
            sys.path.append(here)
        return self.adopt(name, _imported(name, self.kind))

    def find_installed(self, name: str) -> Entry:
        """The entry of a name or an entry point. Raises ValueError."""
        if name in self:
            held: Any = self[name]
            entry: Entry = _imported(held, self.kind) if isinstance(held, str) else held
            return entry
        if name in self._entry_points:
            return self.adopt(name, self._entry_points[name].load())
        raise ValueError(self.unknown(name))

    def unknown(self, name: str, also: str = "module:attribute") -> str:
        """The message for an unknown name: a close one, all names, and what else may be given."""
        known = [*self, *(point for point in self._entry_points if point not in self)]
        hint = did_you_mean(name, known)
        return f"unknown {self.kind} '{name}'{hint}; choose one of {', '.join(known)}, or {also}"

    @cached_property
    def _entry_points(self) -> dict[str, metadata.EntryPoint]:
        from importlib import metadata  # slow to import, and rarely needed

        return {point.name: point for point in metadata.entry_points(group=self.group)}


def of_class(kind: type[Entry]) -> Callable[[str, Any], Entry]:
    """For `adopt`: what comes from outside must be an object of this class."""

    def adopt(name: str, found: Any) -> Entry:
        if not isinstance(found, kind):
            where = f"{kind.__module__}.{kind.__name__}"
            raise ValueError(f"'{name}' is not an object of the class {where}")
        return found

    return adopt


def _imported(text: str, kind: str) -> Any:
    module_name, _, attribute = text.partition(":")
    try:
        return getattr(importlib.import_module(module_name), attribute)
    except (OutOfResources, MemoryError):
        raise
    except Exception as error:  # the user's own module may raise anything
        named = isinstance(error, (ImportError, AttributeError, ValueError))
        what = str(error) if named else f"{type(error).__name__}: {error}"
        raise ValueError(f"cannot import the {kind} '{text}': {what}") from error

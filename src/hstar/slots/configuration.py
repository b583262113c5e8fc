"""How to search, as `hstar plan` and `hstar bench` both express it: a heuristic by name, a search
and its options. A configuration is plain data, so that it can be sent to worker processes."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from hstar.pddl.errors import InputFileError
from hstar.planning.algorithms import SEARCHES
from hstar.planning.heuristics import HEURISTICS, AnyHeuristic, is_model_file
from hstar.planning.search import STRONGEST, SearchOptions, choose_options

DEFAULT = "default"  # the heuristic name of the planner without flags


@dataclass(frozen=True, slots=True)
class Configuration:
    """`heuristic` is a name of the core, a model file, pdb:FILES, or "default". None everywhere:
    what the heuristic or the search implies. Raises ValueError for what no run could have."""

    heuristic: str | None = None
    search: str | None = None
    cost: str | None = None
    weight: float | None = None
    batch: int | None = None
    width: int | None = None
    preferred: bool | None = None
    preferred_by: str | None = None
    follow: bool | None = None
    ranked: bool | None = None
    seed: int | None = None
    decode: str | None = None
    max_evaluations: int | None = None
    max_expansions: int | None = None
    trust: bool = False  # whether a model file may import code of the user's own

    def __post_init__(self) -> None:
        if self.is_default and self.search is not None:
            raise ValueError("'default' is the planner without flags; it takes no search")
        if self.decode is not None and not is_model_file(self.heuristic or ""):
            raise ValueError("only a model file has outputs to decode")
        # What a model can rank, and whether its own search can follow plans, is known when the file
        # is read.
        left_out = ("ranked", *(() if self.search else ("follow",))) if self.is_file else ()
        self._options("blind" if self.is_file else self.heuristic_name, left_out)

    @property
    def is_default(self) -> bool:
        """Whether this is the planner without flags, limits aside."""
        return self.heuristic == DEFAULT or self.heuristic is self.search is None

    @property
    def is_file(self) -> bool:
        """Whether the heuristic must be read from files."""
        return bool(self.files)

    @property
    def files(self) -> list[str]:
        name = self.heuristic or ""
        if name.startswith("pdb:"):
            return re.split("[,+]", name.removeprefix("pdb:"))
        return [name] if is_model_file(name) else []

    @property
    def digest(self) -> str:
        """Changes with the content of the files; empty without any."""
        import hashlib

        content = hashlib.sha256()
        for name in self.files:
            content.update(Path(name).read_bytes())
        return content.hexdigest() if self.files else ""

    def load(self) -> SearchOptions:
        """Reads the files. Raises what their loaders raise."""
        if not self.is_file:
            return self._options(self.heuristic_name)
        from hstar.slots.loader import find_heuristic

        return self._options(find_heuristic(self.heuristic, self.decode, trust=self.trust))

    def label(self, heuristic: str | None = None) -> str:
        """Such as "gbfs(ff)", "wastar(ff, weight=5)", "default", or with other searches that take
        turns "gbfs(model) + default"."""
        said = []
        names = "cost weight batch width preferred preferred_by follow ranked seed decode"
        meant = {name: value for name, value in self.meant.items() if name != "cost"}
        for name in names.split():
            value = getattr(self, name)
            value = meant.get(name) if value is None else value
            if value is not None:
                said.append(f"{name}={value:g}" if name == "weight" else f"{name}={value}")
        if self.is_default:
            return f"{DEFAULT}({', '.join(said)})" if said else DEFAULT
        if "heuristic" in meant:  # the model names it, and is not used itself
            said.insert(0, f"heuristic={meant['heuristic']}")
        own = f"{self.search_name}({', '.join([heuristic or self.heuristic_name, *said])})"
        return " + ".join([own, *(one["algorithm"] for one in meant.get("beside", ()))])

    @property
    def search_name(self) -> str:
        if self.is_default:
            return STRONGEST.algorithm
        return self.search or self.meant.get("algorithm", "gbfs")

    @property
    def meant(self) -> dict[str, Any]:
        """The search that a model file names, if no other is given; empty if it names none."""
        name = self.heuristic or ""
        return meant_search(name, self.trust) if self.search is None and is_model_file(name) else {}

    @property
    def heuristic_name(self) -> str:
        if self.is_default:
            return str(STRONGEST.heuristic)
        name = self.heuristic
        if name is None:
            return SEARCHES.find(self.search_name).heuristic
        if not self.is_file:
            HEURISTICS.find(name)
        return name

    def _options(self, heuristic: AnyHeuristic, left_out: tuple[str, ...] = ()) -> SearchOptions:
        elsewhere = ("heuristic", "search", "decode", "trust", *left_out)
        given = {name: value for name, value in asdict(self).items() if name not in elsewhere}
        if self.is_default:
            return choose_options(**given)
        return choose_options(heuristic, self.search, **given)


def meant_search(path: str, trust: bool = False) -> dict[str, Any]:
    """The search that a model file names; empty if it names none or cannot be read."""
    try:
        return dict(_meant_search(path, Path(path).stat().st_mtime_ns, trust))
    except (OSError, InputFileError):
        return {}


@lru_cache
def _meant_search(path: str, _changed: int, trust: bool) -> dict[str, Any]:
    from hstar.slots.model_file import read_model

    return dict(read_model(path, trust=trust).metadata.get("search", {}))

"""How to search: one dataclass, from whose fields everything else is derived.

A field of SearchSpecification says what it is called on the command line, what its help is, how
labels say it and what it sets in the core's one loop. From these come the flags of `plan`, `bench`
and `solve`, the JSON of model files and worker processes, labels, and the settings of benchmarks.
So a new option is one field here and its line in the core; the algorithms that take it say so in
planning/algorithms.py.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from hstar import _core
from hstar.pddl.errors import check_known, did_you_mean
from hstar.planning.algorithms import SEARCHES, SearchEntry
from hstar.planning.heuristics import (
    COST_TYPES,
    HEURISTICS,
    PATTERNS,
    AnyHeuristic,
    heuristic_name,
    is_file,
    is_model_file,
)
from hstar.planning.option import SearchOption, check_queues, option
from hstar.planning.space import Space

DEFAULT = "default"  # the name of the default planner, as a heuristic and in model files
USUAL = "gbfs"  # the algorithm where only a heuristic is named
MAX_HEURISTICS = 32  # the core holds sets of them in 32 bits
LIMITS = ("max_evaluations", "max_expansions")
COUNT: Any = {"default": 0, "least": 1, "most": 2**63 - 1}
PREFERRING = tuple(name for name, entry in HEURISTICS.items() if entry.prefers)


@dataclass(frozen=True, slots=True)
class SearchSpecification:
    """How to search. What is None is not said; `searches` fills it in.

    `heuristic` is a name, a model file, pdb:FILES, module:attribute, an object, a function, or a
    list of these, each with a queue of its own; "default" is the default planner. With neither a
    heuristic nor an algorithm the default planner searches; with a heuristic alone, the search that
    its file recommends, else gbfs; with an algorithm alone, the heuristic that suits it.

    `preferred_by` is asked for preferred operators in place of the heuristics that order the
    queues. It sees only states that are expanded, so a quick heuristic stays quick; where it proves
    a dead end, the state is not expanded. `queues` lists the queues as (number of the heuristic,
    whether only its preferred operators enter).

    `alternating` are other searches of the same space. All take turns of some ten milliseconds
    until one finds a plan. The default planner, if it is among them, has half the time: what it
    solves alone is solved in at most twice the time. Limits that are said here hold for each of
    them; those that a model file says for one search hold for this one.
    """

    heuristic: AnyHeuristic | Sequence[AnyHeuristic] | None = option(
        str,
        "-H --heuristic NAME",
        f"{', '.join(HEURISTICS)}, a model file, pdb:FILE,FILE (pattern databases, tables or "
        "certified networks), module:attribute, or default (the planner without flags)",
        names=(*HEURISTICS, DEFAULT),
    )
    algorithm: str | None = option(str, "-s --search NAME", ", ".join(SEARCHES), names=(*SEARCHES,))
    cost: str | None = option(
        str, "--cost TYPE", f"operator costs inside the heuristic: {', '.join(COST_TYPES)}",
        "cost {}", default="normal", names=COST_TYPES,
    )  # fmt: skip
    weight: float | None = option(
        float, "--weight W", "weight of h in weighted A*",
        "weight {:g}", default=3.0, core="h_weight", least=1,
    )  # fmt: skip
    batch: int | None = option(
        int, "--batch K", "expand the K best states at once",
        "batch {}", default=1, core="batch", least=1, most=2**20,
    )  # fmt: skip
    width: int | None = option(
        int, "--width N", "states of a layer that beam search keeps",
        "width {}", default=100, core="width", least=1, most=2**31 - 1,
    )  # fmt: skip
    preferred_by: str | None = option(
        str, "--preferred NAME", "add a queue of the preferred operators of this heuristic",
        "preferred by {}", names=PREFERRING,
    )  # fmt: skip
    preferred: bool | None = option(
        bool, "--no-preferred", "search without preferred operators",
        "preferred operators", default=True,
    )  # fmt: skip
    look_ahead: bool | None = option(
        bool, "--look-ahead", "take the steps of relaxed plans as far as they go",
        "look-ahead", default=False, core="look_ahead",
    )  # fmt: skip
    ranked: bool | None = option(
        bool, "--ranked", "try the operators of a state in the order that a model gives them",
        "ranked", default=False, core="ranked",
    )  # fmt: skip
    decode: str | None = option(
        str, "--decode NAME", "how a model's outputs become a value (default: as its file says)",
        "decode {}",
    )  # fmt: skip
    trust: bool | None = option(bool, "--trust", "let model files run your own code", default=False)
    seed: int | None = option(
        int, "--seed N", "try operators in a random order of this seed; 0 keeps their order",
        "seed {}", default=0, core="seed", least=0, most=2**64 - 1,
    )  # fmt: skip
    max_evaluations: int | None = option(
        int, "--max-evaluations N", "stop after N heuristic values, duplicates included",
        core="max_evaluations", **COUNT,
    )  # fmt: skip
    max_expansions: int | None = option(
        int, "--max-expansions N", "stop after N expanded states", core="max_expansions", **COUNT
    )
    queues: Sequence[tuple[int, bool]] | None = None
    alternating: Sequence[SearchSpecification] = ()
    # The heuristic whose file names this search. It must fit the task even if it is not used.
    recommended_by: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        known = self.options()
        for name, value in self.said().items():
            if name != "heuristic":
                known[name].check(name, value)
        if self.heuristic != DEFAULT:
            for one in self.heuristics:
                if isinstance(one, str) and not is_file(one):
                    HEURISTICS.find(one)
        if not 1 <= len(self.heuristics) <= MAX_HEURISTICS:
            raise ValueError(f"a search takes 1 to {MAX_HEURISTICS} heuristics")
        if self.cost is not None:
            check_known("cost", self.cost, COST_TYPES)
        by = self.preferred_by
        if by is not None and not HEURISTICS.find(by).prefers:
            wrong = f"the heuristic '{by}' has no preferred operators"
            raise ValueError(f"{wrong}; choose one of {', '.join(PREFERRING)}")
        is_text = isinstance(self.heuristic, str)
        if self.decode is not None and is_text and not is_model_file(str(self.heuristic)):
            raise ValueError("only a model file has outputs to decode")
        check_queues(self.queues or (), len(self.heuristics))
        others = self.alternating if isinstance(self.alternating, (list, tuple)) else [None]
        if not all(isinstance(one, SearchSpecification) and not one.alternating for one in others):
            wanted = "must be a list of SearchSpecification, and none alternates with those"
            raise ValueError(f"the searches that alternate with one {wanted}")
        if self.algorithm is not None:
            self._check_algorithm(self.entry)

    def _check_algorithm(self, entry: SearchEntry) -> None:
        """Raises ValueError if the algorithm cannot use what is said."""
        if self.heuristic == DEFAULT:
            raise ValueError("'default' is the planner without flags; it takes no search")
        entry.check_edges(self.heuristics)
        for name, value in self.said().items():
            takers = [search for search, one in SEARCHES.items() if name in one.options]
            # Any algorithm can do without preferred operators.
            is_usual = value == self.options()[name].default or (name == "preferred" and not value)
            if takers and name not in entry.options and not is_usual:
                fitting = ", ".join(takers)
                raise ValueError(f"{self.algorithm} does not take '{name}'; choose {fitting}")
        if len(self.heuristics) > 1 and entry.settings.get("deepen"):
            raise ValueError(f"{self.algorithm} takes one heuristic")
        if self.preferred is False and self.preferred_by is not None:
            wrong = f"those of {self.preferred_by} cannot be used"
            raise ValueError(f"preferred operators are turned off; {wrong}")
        named = [h for h in (*self.heuristics, *self.advisers) if isinstance(h, str)]
        prefers = any(HEURISTICS.find(name).prefers for name in named if not is_file(name))
        if self.look_ahead and (self.preferred is False or not prefers):
            wanted = "the relaxed plans of a heuristic with preferred operators"
            raise ValueError(f"look-ahead takes {wanted}; use those of ff")
        is_known = self.heuristic is not None and not self.files
        ranks = any(getattr(one, "ranks_operators", False) for one in self.heuristics)
        if self.ranked and is_known and not ranks:
            others = "if the plans that they were learned from had choices to rank"
            advice = f"models of 'hstar learn FOLDER' do, {others}"
            raise ValueError(f"the heuristic ranks no operators; {advice}")

    # -- what is said

    @classmethod
    def options(cls) -> dict[str, SearchOption]:
        """What is known of each option, by the name of its field."""
        return {one.name: one.metadata["option"] for one in fields(cls) if one.metadata}

    def said(self) -> dict[str, Any]:
        """The options that are said, by name."""
        given = {name: getattr(self, name) for name in self.options()}
        return {name: value for name, value in given.items() if value is not None}

    def value(self, name: str) -> Any:
        """What is said of an option, or else its default."""
        said = getattr(self, name)
        return self.options()[name].default if said is None else said

    @property
    def entry(self) -> SearchEntry:
        return SEARCHES.find(self.algorithm or USUAL)

    @property
    def heuristics(self) -> list[AnyHeuristic]:
        one = self.entry.heuristic if self.heuristic is None else self.heuristic
        return list(one) if isinstance(one, (list, tuple)) else [one]  # type: ignore[list-item]

    @property
    def names(self) -> str:
        return ", ".join(map(heuristic_name, self.heuristics))

    @property
    def advisers(self) -> list[AnyHeuristic]:
        """Heuristics that only prefer operators."""
        by = self.preferred_by
        return [] if by is None or by in self.heuristics else [by]

    @property
    def files(self) -> list[str]:
        """The files that must be read before the search."""
        found: list[str] = []
        for name in (os.fspath(one) for one in self.heuristics if is_file(one)):  # type: ignore[arg-type]
            patterns = name.removeprefix(PATTERNS)
            found += [name] if patterns == name else re.split("[,+]", patterns)
        return found

    @property
    def is_default(self) -> bool:
        """Whether this asks for the default planner, perhaps with other options."""
        return self.heuristic == DEFAULT or self.heuristic is self.algorithm is None

    @property
    def is_default_planner(self) -> bool:
        """Whether this is the default planner in full, limits aside."""
        said = {name: value for name, value in self.said().items() if name not in LIMITS}
        return said == DEFAULT_PLANNER.said() and not (self.queues or self.alternating)

    # -- what searches

    def searches(self) -> list[SearchSpecification]:
        """This search and those that alternate with it, each with a heuristic and an algorithm.

        Raises ValueError if they cannot be carried out.
        """
        if self.is_default:
            base = DEFAULT_PLANNER
        else:
            heuristic = self.entry.heuristic if self.heuristic is None else self.heuristic
            base = recommended(self) or type(self)(heuristic, self.algorithm or USUAL)
        if self.preferred is False:
            base = replace(base, preferred_by=None, look_ahead=None)
        said = {name: value for name, value in self.said().items() if name != "heuristic"}
        limits = {name: said[name] for name in LIMITS if name in said}
        others = [*base.alternating, *(one.searches()[0] for one in self.alternating)]
        own = {**_values(base), **said, "queues": self.queues or base.queues, "alternating": ()}
        return [type(self)(**own), *(replace(one, **limits) for one in others)]

    def for_core(self, space: Space) -> _core.SearchOptions:
        """The settings of the loop. Raises ValueError if the algorithm does not fit the space."""
        entry = self.entry
        if space.kind not in entry.spaces:
            fitting = ", ".join(name for name, e in SEARCHES.items() if space.kind in e.spaces)
            wrong = f"the search '{self.algorithm}' does not work on a {space.kind}"
            raise ValueError(f"{wrong}; choose one of {fitting}")
        made = _core.SearchOptions()
        for name, value in entry.settings.items():
            setattr(made, name, value)
        for name, known in self.options().items():
            is_for_some = any(name in one.options for one in SEARCHES.values())
            if known.core and (name in entry.options or not is_for_some):
                setattr(made, known.core, self.value(name))
        if entry.local_steps:
            made.local_steps = entry.local_steps(space)
        by, numbers = self.preferred_by, range(len(self.heuristics))
        made.advisers = len(self.advisers)
        prefers = None if by is None else [*self.heuristics, *self.advisers].index(by)
        has_second = by is not None or (self.value("preferred") and "preferred" in entry.options)
        kinds = (False, True) if has_second else (False,)
        queues = self.queues or [(h, only) for h in numbers for only in kinds]
        made.set_queues(
            [(h, (h if prefers is None else prefers) if only else -1) for h, only in queues]
        )
        return made

    # -- as text and as JSON

    def phrases(self) -> list[str]:
        """What is said in words, but for heuristic, algorithm and limits."""
        known = self.options()
        return list(filter(None, (known[name].phrase(v) for name, v in self.said().items())))

    def describe(self) -> str:
        own, *others = self.searches()
        prefers = "preferred" in own.entry.options and own.value("preferred")
        method = own.entry.description + (", with preferred operators" if prefers else "")
        said = f"{method}; heuristic {', '.join([own.names, *own.phrases()])}"
        rest = ["default planner" if o.is_default_planner else o.describe() for o in others]
        return "; in turns with ".join([said, *rest])

    def label(self, name: str = "") -> str:
        """For tables: "gbfs(ff)", "wastar(ff, weight 5)", "default", or "learned + default" for a
        model whose file recommends a search that alternates with the default planner. `name` is
        what to call the heuristic."""
        own, *others = self.searches()
        name, said = name or self.names, ", ".join(self.phrases())
        if self.is_default or own.recommended_by is not None:
            first = DEFAULT if self.is_default else "learned"
            first += f"({said})" if said else ""
        else:
            first = f"{own.algorithm}({f'{name}, {said}' if said else name})"
        if own.is_default_planner and not self.is_default:  # the file says so
            first = f"{name}: {DEFAULT}"
        parts = [first]
        for one in others:
            usual = str(one.algorithm) if one.recommended_by is None else "learned"
            parts.append(DEFAULT if one.is_default_planner else usual)
        return " + ".join(dict.fromkeys(parts))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for model files and worker processes. A heuristic that is an object is left
        out; whoever reads the data has it."""
        said = self.said()
        if self.is_default_planner and not set(said) & set(LIMITS):
            return {"algorithm": DEFAULT}
        if not all(isinstance(one, (str, os.PathLike)) for one in self.heuristics):
            del said["heuristic"]
        elif self.heuristic is not None:
            names = list(map(heuristic_name, self.heuristics))
            said["heuristic"] = names[0] if len(names) == 1 else names
        if self.queues is not None:
            said["queues"] = [list(queue) for queue in self.queues]
        if self.alternating:
            said["alternating"] = [one.to_dict() for one in self.alternating]
        return said

    @classmethod
    def from_dict(cls, said: Any) -> Self:
        """Of what `to_dict` returns. Raises ValueError for anything else."""
        if not isinstance(said, Mapping):
            raise ValueError(f"a search must be an object with options, not {said!r}")
        known = {**cls.options(), "queues": None, "alternating": None}
        for name in said:
            if name not in known:
                raise ValueError(f"a search has no option '{name}'{did_you_mean(name, known)}")
            if said[name] is None:
                raise ValueError(f"the option '{name}' says nothing; leave it out")
        if said.get("algorithm") == DEFAULT:
            usual = {**_values(DEFAULT_PLANNER), "algorithm": DEFAULT}
            ignored = ", ".join(name for name in said if said[name] != usual[name])
            if ignored:
                raise ValueError(f"the default planner takes no options, but this names {ignored}")
            return cls(**_values(DEFAULT_PLANNER))
        others = said.get("alternating", [])
        if not isinstance(others, list):
            raise ValueError('the "alternating" searches must be a list of objects')
        return cls(**{**said, "alternating": tuple(cls.from_dict(one) for one in others)})


def recommended(asked: SearchSpecification) -> SearchSpecification | None:
    """The search that the file of a heuristic recommends (its attribute `search`), and those that
    alternate with it. They use the heuristic, or a built-in one that they name. None if nothing is
    recommended, or a search is named. Raises ValueError for what is no search."""
    heuristic, said = asked.heuristic, getattr(asked.heuristic, "search", None)
    if asked.algorithm is not None or not isinstance(said, Mapping) or not said:
        return None
    others = said.get("alternating")
    for raw in (said, *(others if isinstance(others, list) else ())):
        named = raw.get("heuristic", "ff") if isinstance(raw, Mapping) else "ff"
        if named not in list(HEURISTICS):  # code from elsewhere is not even imported
            raise ValueError(f"the model recommends a search with an unknown heuristic: {named!r}")
    found = type(asked).from_dict(said)

    def filled(one: SearchSpecification) -> SearchSpecification:
        known: Any = {"heuristic": one.heuristic or heuristic, "algorithm": one.algorithm or USUAL}
        return replace(one, **known, alternating=(), recommended_by=heuristic)

    return replace(filled(found), alternating=tuple(map(filled, found.alternating)))


def _values(specification: SearchSpecification) -> dict[str, Any]:
    """All fields; the values are not copied."""
    return {one.name: getattr(specification, one.name) for one in fields(specification)}


# What `hstar plan` and hstar.plan() use when neither a heuristic nor a search is named.
DEFAULT_PLANNER = SearchSpecification("ff", "lazy", cost="one", batch=32)

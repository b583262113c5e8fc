"""Search: one function that runs any algorithm, with any heuristics, on any space.

What the counters mean is defined in cpp/search/search.hpp.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hstar import _core
from hstar.pddl.errors import PddlError, did_you_mean
from hstar.pddl.model import Problem
from hstar.planning.algorithms import SEARCHES, SearchEntry
from hstar.planning.heuristics import (
    COST_TYPES,
    HEURISTICS,
    AnyHeuristic,
    bind_heuristic,
    make_heuristic,
)
from hstar.planning.result import EXIT_CODES, SearchResult
from hstar.planning.space import Space, state_rows
from hstar.planning.task import ground
from hstar.runtime.resources import Budget, OutOfResources, raising_interrupts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class InvalidPlanError(Exception):
    """The search returned a plan that does not hold when replayed: a bug in hstar."""


MAX_BATCH = 2**20
MAX_WIDTH = 2**31 - 1
MAX_HEURISTICS = 32  # the core holds sets of them in 32 bits
MAX_COUNT = 2**63 - 1
TURN = 0.02  # seconds, where searches take turns
DEFAULT = "default"  # in a model file, the search of the default planner
# Why searches end without an answer. Where they end for several reasons, the last one counts.
_ENDS = ("gave up", "out of memory", "out of time", "terminated", "interrupted")
FINDERS = ("learned", DEFAULT)  # of a plan, where searches take turns


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search. `None` means no limit.

    Several heuristics each order a queue of their own, and the queues take turns; `queues` lists
    them as (number of the heuristic, whether only its preferred operators enter). By default there
    is one queue per heuristic, and for algorithms with the option `preferred` a second one.
    `preferred_by` names a heuristic that is asked for preferred operators in place of those that
    order the queues. It sees only states that are expanded, so a quick heuristic stays quick; where
    it proves a dead end, the state is not expanded. Algorithms with this option then have the
    second queue as well.
    `follow` executes the relaxed plans of the heuristic that prefers operators, as far as they go.
    `ranked` tries the operators of a state in the order that a learned heuristic gives them.
    `seed` shuffles the order of operators, and with it how ties are broken; 0 keeps their order.
    `beside` are other searches of the same space. All take turns of some ten milliseconds until
    one finds a plan. The default planner, if it is among them, has half the time: what it solves
    alone is solved in at most twice the time.
    `meant_by` is the learned heuristic whose file names this search, though the search does not use
    it; even so it must have been learned for this domain.
    """

    heuristic: AnyHeuristic | Sequence[AnyHeuristic] = "ff"
    algorithm: str = "gbfs"
    cost: str = "normal"
    weight: float = 3.0
    batch: int = 1
    width: int = 100
    preferred: bool = True
    preferred_by: str | None = None
    follow: bool = False
    ranked: bool = False
    seed: int = 0
    queues: Sequence[tuple[int, bool]] | None = None
    beside: Sequence[SearchOptions] = ()
    meant_by: Any = field(default=None, compare=False)
    max_evaluations: int | None = None
    max_expansions: int | None = None

    def __post_init__(self) -> None:
        for heuristic in self.heuristics:
            if isinstance(heuristic, str):
                HEURISTICS.find(heuristic)
        entry = self.entry
        entry.check_edges(self.heuristics)
        if self.cost not in COST_TYPES:
            hint, known = did_you_mean(self.cost, COST_TYPES), ", ".join(COST_TYPES)
            raise ValueError(f"unknown cost '{self.cost}'{hint}; choose one of {known}")
        if not 1 <= self.weight < math.inf:
            raise ValueError(f"the weight must be finite and at least 1, not {self.weight:g}")
        if not 1 <= self.batch <= MAX_BATCH:
            raise ValueError(f"the batch must be between 1 and {MAX_BATCH}, not {self.batch}")
        if not 1 <= self.width <= MAX_WIDTH:
            raise ValueError(f"the width must be between 1 and {MAX_WIDTH}, not {self.width}")
        if self.preferred_by is not None:
            self._check_preferred_by(self.preferred_by)
        for name in ("follow", "ranked"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"'{name}' must be true or false, not {getattr(self, name)!r}")
        if self.follow:
            self._check_follow()
        if self.ranked:
            self._check_ranked()
        if not 0 <= self.seed < 2**64:
            raise ValueError(f"the seed must be between 0 and 2^64 - 1, not {self.seed}")
        if self.seed and "seed" not in entry.options:
            raise ValueError(f"{self.algorithm} has nothing that a seed could change")
        if not 1 <= len(self.heuristics) <= MAX_HEURISTICS:
            raise ValueError(f"a search takes 1 to {MAX_HEURISTICS} heuristics")
        if len(self.heuristics) > 1 and entry.settings.get("deepen"):
            raise ValueError(f"{self.algorithm} takes one heuristic")
        if not all(isinstance(one, SearchOptions) and not one.beside for one in self.beside):
            raise ValueError("beside a search are SearchOptions, and none beside those")
        for limit in (self.max_evaluations, self.max_expansions):
            if limit is not None and not 1 <= limit <= MAX_COUNT:
                raise ValueError(f"limits must be between 1 and {MAX_COUNT}, not {limit}")

    def _check_preferred_by(self, name: str) -> None:
        if not HEURISTICS.find(name).prefers:
            fitting = ", ".join(other for other, entry in HEURISTICS.items() if entry.prefers)
            raise ValueError(
                f"the heuristic '{name}' has no preferred operators; choose one of {fitting}"
            )
        if "preferred_by" not in self.entry.options:
            fitting = ", ".join(s for s, e in SEARCHES.items() if "preferred_by" in e.options)
            raise ValueError(
                f"{self.algorithm} takes no preferred operators; choose one of {fitting}"
            )
        if not self.preferred:
            raise ValueError(f"preferred operators are turned off; those of {name} cannot be used")

    def _check_follow(self) -> None:
        if "follow" not in self.entry.options:
            fitting = ", ".join(s for s, e in SEARCHES.items() if "follow" in e.options)
            raise ValueError(f"{self.algorithm} follows no relaxed plans; choose {fitting}")
        names = [h for h in (*self.heuristics, self.preferred_by) if isinstance(h, str)]
        if not self.preferred or not any(HEURISTICS.find(name).prefers for name in names):
            raise ValueError(
                "only heuristics with preferred operators have plans to follow; use those of ff"
            )

    def _check_ranked(self) -> None:
        if "ranked" not in self.entry.options:
            fitting = ", ".join(s for s, e in SEARCHES.items() if "ranked" in e.options)
            raise ValueError(f"{self.algorithm} ranks no operators; choose {fitting}")
        if not any(getattr(h, "ranks_operators", False) for h in self.heuristics):
            raise ValueError(
                "the heuristic ranks no operators; models of 'hstar learn FOLDER' do, if the plans "
                "that they were learned from had choices to rank"
            )

    @property
    def heuristics(self) -> list[AnyHeuristic]:
        one = self.heuristic
        return list(one) if isinstance(one, (list, tuple)) else [one]  # type: ignore[list-item]

    @property
    def advisers(self) -> list[AnyHeuristic]:
        """Heuristics that only prefer operators."""
        by = self.preferred_by
        return [] if by is None or by in self.heuristics else [by]

    @property
    def entry(self) -> SearchEntry:
        return SEARCHES.find(self.algorithm)

    def describe(self) -> str:
        several = self.heuristics
        names = [h if isinstance(h, str) else getattr(h, "label", "your function") for h in several]
        cost = f", cost {self.cost}" if any(isinstance(h, str) for h in several) else ""
        by = f", preferred operators of {self.preferred_by}" if self.preferred_by else ""
        follows = ", following relaxed plans" if self.follow else ""
        ranked = ", best operators first" if self.ranked else ""
        own = f"{self.entry.description}; heuristic {', '.join(names)}{cost}{by}{follows}{ranked}"
        others = ["default planner" if one == STRONGEST else one.describe() for one in self.beside]
        return "; in turns with ".join([own, *others])

    def for_core(self, space: Space) -> _core.SearchOptions:
        """The settings of the loop. Raises ValueError if the algorithm does not fit the space."""
        entry = self.entry
        if space.kind not in entry.spaces:
            fitting = ", ".join(name for name, e in SEARCHES.items() if space.kind in e.spaces)
            raise ValueError(
                f"the search '{self.algorithm}' does not work on a {space.kind}; "
                f"choose one of {fitting}"
            )
        made = _core.SearchOptions()
        for name, value in entry.settings.items():
            setattr(made, name, value)
        if "weight" in entry.options:
            made.h_weight = self.weight
        if "lookahead" in entry.options:
            made.lookahead = _lookahead(space)
        if "width" in entry.options:
            made.width = self.width
        if "batch" in entry.options:
            made.batch = self.batch
        by, numbers = self.preferred_by, range(len(self.heuristics))
        made.advisers = len(self.advisers)
        prefers = None if by is None else [*self.heuristics, *self.advisers].index(by)
        has_second = by is not None or (self.preferred and "preferred" in entry.options)
        kinds = (False, True) if has_second else (False,)
        made.queues = [
            (h, (h if prefers is None else prefers) if only else -1)
            for h, only in self.queues or [(h, only) for h in numbers for only in kinds]
        ]
        made.follow = self.follow
        made.ranked = self.ranked
        made.seed = self.seed
        made.max_evaluations = self.max_evaluations or 0
        made.max_expansions = self.max_expansions or 0
        return made


# What `hstar plan` and hstar.plan() use when neither a heuristic nor a search is named.
STRONGEST = SearchOptions(heuristic="ff", algorithm="lazy", cost="one", batch=32)


def choose_options(heuristic: Any = None, search: str | None = None, **given: Any) -> SearchOptions:
    """The options that were named, and a default for each that is None. Raises ValueError.

    With neither a heuristic nor a search it is STRONGEST. Else the search is gbfs, or what the
    heuristic's attribute `search` says; and the heuristic is the one that fits the search.
    """
    chosen = STRONGEST
    if heuristic is not None or search is not None:
        meant = getattr(heuristic, "search", None) if search is None else None
        meant = dict(meant) if isinstance(meant, Mapping) else {}
        if given.get("preferred") is False:
            meant.pop("preferred_by", None)
            meant.pop("follow", None)
        if search is None:
            chosen = meant_options(heuristic, meant)
        else:
            usual = SEARCHES.find(search).heuristic
            chosen = SearchOptions(usual if heuristic is None else heuristic, search)
    return replace(chosen, **{name: value for name, value in given.items() if value is not None})


def meant_options(heuristic: Any, meant: Mapping[str, Any]) -> SearchOptions:
    """The search that a model file names for its heuristic, or for another that it names. Raises
    ValueError."""
    options = dict(meant)
    own = options.pop("heuristic", heuristic)
    if own is not heuristic and not (isinstance(own, str) and own in HEURISTICS):
        raise ValueError(f"the heuristic is meant for a search with an unknown one: {own!r}")
    algorithm, others = options.pop("algorithm", "gbfs"), options.pop("beside", [])
    if algorithm == DEFAULT:
        ignored = [name for name in options if options[name] != getattr(STRONGEST, name, None)]
        if ignored or others:
            named = ", ".join(ignored + ["beside"] * bool(others))
            raise ValueError(f"the default planner takes no options, but the model names {named}")
        return replace(STRONGEST, meant_by=heuristic)
    if not isinstance(others, list) or not all(isinstance(one, dict) for one in others):
        raise ValueError('the searches "beside" the one of a model must be a list of objects')
    try:
        beside = tuple(meant_options(heuristic, one) for one in others)
        meant_by = heuristic if own is not heuristic else None
        return SearchOptions(own, algorithm, beside=beside, meant_by=meant_by, **options)
    except (TypeError, AttributeError) as error:
        raise ValueError(f"the heuristic is meant for an unknown search: {error}") from error


def search(
    space: Space,
    heuristic: AnyHeuristic | Sequence[AnyHeuristic] = "ff",
    algorithm: str = "gbfs",
    *,
    state: NDArray[np.int32] | None = None,
    budget: Budget | None = None,
    **options: Any,
) -> SearchResult:
    """Search for a plan. Further options are those of SearchOptions.

    A puzzle needs a state to start from; a task starts from its initial state. Without a budget
    the search ends "out of memory" when it has taken half of what was left. Raises ValueError,
    OutOfResources (limits reached before the search) and KeyboardInterrupt.
    """
    with raising_interrupts():
        chosen = SearchOptions(heuristic, algorithm, **options)
        return uninterrupted(run(space, chosen, budget or Budget.by_default(), state))


def uninterrupted(result: SearchResult) -> SearchResult:
    """The result, unless Ctrl-C ended the search: then raises KeyboardInterrupt."""
    if "interrupted" in (result.status, result.unchecked):
        raise KeyboardInterrupt
    return result


def run(
    space: Space, options: SearchOptions, budget: Budget, state: NDArray[np.int32] | None = None
) -> SearchResult:
    """Search for a plan and replay it.

    Raises InvalidPlanError if it does not hold, PddlError if costs are too large to add up,
    ValueError if heuristic, algorithm and space do not fit.
    """
    start = _core.monotonic_seconds()
    if hasattr(options.meant_by, "check_space"):
        options.meant_by.check_space(space)
    limits = {name: getattr(options, name) for name in ("max_evaluations", "max_expansions")}
    searches = [options, *(replace(one, **limits) for one in options.beside)]
    defaults = [False, *(one == STRONGEST for one in options.beside)]
    try:
        with budget.native(resume=False):  # a result, once there, is not lost to a late alarm
            bound = [_bound(one, space, budget) for one in searches]
            start_state = None if state is None else state_rows(state)
            given = space.core, start_state
            if len(bound) == 1:
                number, results = 0, [_core.search(*given, *bound[0], *budget.limits)]
            else:
                turns = [TURN * (len(bound) - 1 if is_default else 1) for is_default in defaults]
                number, results = _core.search_in_turns(*given, bound, turns, *budget.limits)
    except OverflowError as error:
        raise PddlError(str(error), space.path) from error
    if number < 0:  # none came to an end; the one that could have gone on longest says why
        number = results.index(max(results, key=lambda one: _ENDS.index(one["status"])))
    found, heuristics, _ = results[number], *bound[number]
    # The core counts every value requested; Fast Downward only those it computes.
    found["requested"] = found["evaluations"]
    found["evaluations"] = found["evaluated"] * (len(heuristics) - len(searches[number].advisers))
    plan, cost = found.pop("plan"), found.pop("plan_cost")
    solved = found["status"] == "solved"
    result = SearchResult(
        solved=solved,
        plan=plan if solved else None,
        plan_cost=space.unscaled(cost) if solved else None,
        plan_length=len(plan) if solved else None,
        total_time=_core.monotonic_seconds() - start,
        peak_memory_kb=_core.peak_resident_bytes() // 1024,
        exit_code=EXIT_CODES[found["status"]],
        seed=options.seed,
        unit_cost=space.unit_cost,
        found_by=FINDERS[defaults[number]] if options.beside and solved else None,
        **found,
    )
    return validated(result, space, state, budget) if solved else result


def _bound(
    options: SearchOptions, space: Space, budget: Budget
) -> tuple[list[_core.Heuristic | Callable[[Any], Any]], _core.SearchOptions]:
    settings = options.for_core(space)
    heuristics = options.heuristics if settings.use_h else ["blind"]
    needed = [*heuristics, *options.advisers]
    return [bind_heuristic(h, space, options.cost, budget) for h in needed], settings


def validated(
    result: SearchResult, space: Space, state: NDArray[np.int32] | None, budget: Budget
) -> SearchResult:
    """The result of a search that found a plan, after replaying the plan within the budget.

    A plan for which limits leave no time is kept, and marked.
    """
    assert result.plan is not None and result.plan_cost is not None
    start = _core.monotonic_seconds()
    wrong, unchecked, exit_code = "", None, result.exit_code
    try:
        with budget.enforced():
            cost = space.replay(result.plan, state)
            if not math.isclose(cost, result.plan_cost, rel_tol=1e-9, abs_tol=1e-9):
                found = f"costs {result.plan_cost}, the validator says {cost}"
                wrong = f"the search says the plan {found}"
    except ValueError as error:
        wrong = f"the search returned an invalid plan ({error})"
    except OutOfResources as error:
        unchecked = error.status
        if error.exit_code > 128:  # a signal
            exit_code = error.exit_code
    if wrong:
        raise InvalidPlanError(
            f"{wrong}; this is a bug in hstar, please report it with the PDDL files"
        )
    seconds = result.total_time + _core.monotonic_seconds() - start
    return replace(result, unchecked=unchecked, exit_code=exit_code, total_time=seconds)


def plan_problem(
    problem: Problem, options: SearchOptions, budget: Budget, **grounding: Any
) -> SearchResult:
    """Ground a problem and search; the total time includes both."""
    start = _core.monotonic_seconds()
    result = run(ground(problem, budget=budget, **grounding), options, budget)
    return replace(result, total_time=_core.monotonic_seconds() - start)


def _lookahead(space: Space) -> int:
    """5 h^FF(I), or 50 where that is infinite (the reward-shaping paper, appendix A.3)."""
    h = float(make_heuristic(space, "ff", "one").evaluate(space.initial_state)[0])
    return int(5 * h) if math.isfinite(h) else 50

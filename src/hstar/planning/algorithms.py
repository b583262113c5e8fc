"""SEARCHES: search algorithms by name. An algorithm is data: settings of the core's one loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hstar.planning.heuristics import make_heuristic
from hstar.planning.space import Space
from hstar.runtime.registry import Registry, of_class


@dataclass(frozen=True, slots=True)
class SearchEntry:
    """An algorithm.

    `settings` are fields of `_core.SearchOptions`. `options` are the fields of SearchSpecification
    that only some algorithms take, this one among them. `heuristic` is the one to use when none is
    named. After each expansion, search goes on along the best successors for as many steps as
    `local_steps` says of the space.
    """

    description: str
    settings: Mapping[str, Any]
    options: tuple[str, ...] = ("batch", "seed")
    heuristic: str = "ff"
    spaces: tuple[str, ...] = ("task", "puzzle")
    local_steps: Callable[[Space], int] | None = None

    def check_edges(self, heuristics: Iterable[object]) -> None:
        """Raises ValueError if a heuristic gives values to edges and they make no sense here: a sum
        of costs needs a value of the state, and a lazy search orders successors by their parent's.
        """
        if not {"lazy", "partial", "deepen", "g_weight"}.intersection(self.settings):
            return
        if any(hasattr(h, "evaluate_edges") or getattr(h, "is_of_edges", 0) for h in heuristics):
            raise ValueError(
                "the heuristic gives values to edges, which only greedy eager searches can use; "
                "choose gbfs, gbfls or beam"
            )


def length_of_local_search(space: Space) -> int:
    """5 h^FF(I), or 50 where that is infinite (the reward-shaping paper, appendix A.3)."""
    h = float(make_heuristic(space, "ff", "one").evaluate(space.initial_state)[0])
    return int(5 * h) if math.isfinite(h) else 50


_ASTAR = {"g_weight": 1.0, "tie_by_h": True, "early_goal_test": False, "reopen": True}

SEARCHES: Registry[SearchEntry] = Registry(
    "search",
    {
        "gbfs": SearchEntry(
            "greedy best-first search, eager", {}, ("batch", "seed", "preferred_by")
        ),
        "first-improvement": SearchEntry(
            "greedy best-first search that stops an expansion at the first better successor",
            {"partial": True},
            ("seed", "ranked"),
        ),
        "lazy": SearchEntry(
            "greedy best-first search, lazy",
            {"lazy": True, "early_goal_test": False},
            ("batch", "seed", "preferred", "preferred_by", "look_ahead", "ranked"),
        ),
        "beam": SearchEntry(
            "beam search, which keeps what does not fit into the beam",
            {"batch": 32},  # how much of a layer is expanded between two looks at the limits
            ("seed", "width", "preferred_by"),
        ),
        "astar": SearchEntry("A* with reopening", _ASTAR, heuristic="lmcut"),
        "idastar": SearchEntry(
            "IDA*, which remembers no states", {"deepen": True}, (), heuristic="lmcut"
        ),
        "wastar": SearchEntry("weighted A* with reopening", _ASTAR, ("batch", "seed", "weight")),
        "gbfls": SearchEntry(
            "greedy best-first search with local search",
            {},
            spaces=("task",),
            local_steps=length_of_local_search,
        ),
        "bfs": SearchEntry("breadth-first search", {"use_h": False}),
    },
    "hstar.searches",
    of_class(SearchEntry),
)

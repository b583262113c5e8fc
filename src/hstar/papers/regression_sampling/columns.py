"""What is compared: learners, each a way to make a network for one task, and planners.

The published learners differ only in where their states and labels come from. All end with the
same network and search: 250 wide, a residual block, Adam with rate 1e-4, greedy search with the
value cut to a whole number, and of several networks the one that solves most states of random
walks (there the value is not cut). Boot and AVI label states with a network of their own, which is
that of hstar learn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hstar.learning.instance import LearnOptions, Way
from hstar.learning.networks import Candidate
from hstar.planning.specification import DEFAULT_PLANNER, SearchSpecification
from hstar.training.fact_network import NETWORK
from hstar.training.native import MlpOptions

GREEDY: Way = {"algorithm": "gbfs"}
PUBLISHED = MlpOptions(precision="int16")
FOCUSED: Mapping[str, Any] = {"completion": "variables"}


def published(teacher: str, **options: Any) -> LearnOptions:
    """A learner with the network and the search of the paper."""
    return LearnOptions(
        network=PUBLISHED, candidates=(Candidate(teacher, options),), ways=(GREEDY,)
    )


def ours(objective: str = "squared", **options: Any) -> LearnOptions:
    """One kind of candidate with hstar's own network, for the ablation."""
    candidate = Candidate("fsm", {**FOCUSED, **options}, objective)
    return LearnOptions(network=NETWORK, candidates=(candidate,), ways=(GREEDY,))


HSTAR = "hstar"
LEARNERS: dict[str, LearnOptions] = {
    "RSL": published("regression", novelty="none"),
    "N-RSL": published("regression", novelty="both"),
    "Boot": published("bootstrap"),
    "AVI": published("value-iteration"),
    "TSL": published("given-states"),
    HSTAR: LearnOptions(),
    # The ablation
    "fast RSL": replace(published("regression", novelty="none"), network=NETWORK),
    "fast N-RSL": replace(published("regression", novelty="both"), network=NETWORK),
    "FSM": ours(),
    "FSM, labels not improved": ours(improve=False),
    "FSM, bounds": ours("truncated-gaussian"),
    "FSM, ranking": ours("l-gbfs"),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A planner. Without a learner, `search` says how it searches; with one, it searches with the
    learner's network, in the network's own way unless `way` names another. `learns` means that it
    learns for the problem within its time."""

    learner: str | None = None
    way: Way = field(default_factory=dict)
    decode: str | None = None
    search: SearchSpecification | None = None
    learns: bool = False


PLANNERS: dict[str, Column] = {
    **{name: Column(name, decode="floor") for name in ("RSL", "N-RSL", "Boot", "AVI", "TSL")},
    "FF": Column(search=SearchSpecification("ff", "gbfs", cost="one")),
    "goal count": Column(search=SearchSpecification("goalcount", "gbfs", cost="one")),
    "plan": Column(search=DEFAULT_PLANNER),
    "learn": Column(HSTAR),
    "plan --learn": Column(learns=True),
    # The ablation
    **{name: Column(name) for name in LEARNERS if name.startswith(("fast", "FSM"))},
    "FSM, second queue": Column("FSM", {**GREEDY, "preferred_by": "ff"}),
    "FSM, beam": Column("FSM", {"algorithm": "beam"}),
}
DEFAULT = "plan"

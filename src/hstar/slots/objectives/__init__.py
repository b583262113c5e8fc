"""What training minimises, by name. To add an objective: one file and one line here."""

from dataclasses import fields
from typing import Any

from hstar.runtime.registry import Registry
from hstar.slots.objectives.likelihood import FIXED_SIGMA as FIXED_SIGMA
from hstar.slots.objectives.objective import Objective as Objective


def _adopt(name: str, found: Any) -> type[Objective]:
    if not (isinstance(found, type) and issubclass(found, Objective)):
        raise ValueError(
            f"'{name}' is not a subclass of hstar.slots.objectives.objective.Objective"
        )
    if ":" in found.name:  # none of its own: a model file finds it by the one of an entry point
        found.name = name
    return found


OBJECTIVES: Registry[type[Objective]] = Registry(
    "objective",
    {
        "gaussian": "hstar.slots.objectives.likelihood:Gaussian",
        "truncated-gaussian": "hstar.slots.objectives.likelihood:TruncatedGaussian",
        "squared": "hstar.slots.objectives.values:Squared",
        "interval": "hstar.slots.objectives.values:Interval",
        "bellman": "hstar.slots.objectives.bellman:Bellman",
        "l-gbfs": "hstar.slots.objectives.values:LGbfs",
        "l-star": "hstar.slots.objectives.values:LStar",
        "rank-svm": "hstar.slots.objectives.values:RankSvm",
        "ce": "hstar.slots.objectives.classes:CrossEntropy",
        "cea": "hstar.slots.objectives.classes:Cea",
    },
    "hstar.objectives",
    _adopt,
)


def objectives_of(fit: str) -> list[str]:
    """The names of all that this fit can train ("torch", "mlp" or "linear")."""
    return [name for name in OBJECTIVES if fit in OBJECTIVES.find(name).fits]


def make_objective(name: str, **options: object) -> Objective:
    """The objective of a name with these options. Raises ValueError for those it does not have."""
    kind = OBJECTIVES.find(name)
    try:
        return kind(**options)
    except TypeError as error:
        known = [field.name for field in fields(kind)]
        wrong = ", ".join(option for option in options if option not in known)
        if not wrong:
            raise ValueError(f"an option of objective '{name}' has no sense: {error}") from None
        raise ValueError(
            f"objective '{name}' has no option {wrong}; it has: {', '.join(known)}"
        ) from None

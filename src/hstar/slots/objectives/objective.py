"""What an objective is: what training minimises, of what, and what a model's outputs then mean.

An objective knows its loss, how many outputs it needs and what form they have. The form decides
which decodes can turn outputs into a heuristic value (hstar.slots.decode):

    value            one number, h - base, of which only the order matters
    location-scale   the location of a distribution of h* - base, and perhaps its scale
    shaped-value     the value of a state less its potential, negative costs (bellman.py)
    logits           one number per class; classes are the values of h that occur in the labels

Objectives are frozen dataclasses; their fields are the options that `hstar train` takes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from hstar.pddl.errors import check_known as check_known

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

Targets = dict[str, Any]  # columns of a batch, float[B] each
BATCHES = ("states", "pairs")
BASES = ("none", "ff", "lmcut", "hmax", "hadd", "goalcount")
LOWER_BOUNDS = ("lmcut", "hmax", "blind", "none")


def check_heuristic(what: str, name: str, known: tuple[str, ...]) -> None:
    """Raises ValueError unless the name is known or that of a file or of code, pdb:FILE, FILE of a
    model or module:attribute."""
    from hstar.planning.heuristics import is_elsewhere

    if not is_elsewhere(name):
        check_known(what, name, known)


@dataclass(frozen=True)
class Objective:
    """`batches` says what a training step sees: "states", or the "pairs" of one problem. `score` is
    the metric that the best weights are chosen by: "loss", or "mse" where outputs are estimates of
    h*. `decodes` names the decodes that fit, the default first. `fits` names what can train it:
    "torch" takes `loss`; "mlp" and "linear" only if the core has the same loss."""

    name: ClassVar[str]
    form: ClassVar[str]
    batches: ClassVar[str] = "states"
    score: ClassVar[str] = "loss"
    decodes: ClassVar[tuple[str, ...]]
    fits: ClassVar[tuple[str, ...]] = ("torch",)
    training: ClassVar[dict[str, Any]] = {}  # training options that suit it
    statistic_names: ClassVar[tuple[str, ...]] = ()  # of what `statistics` returns
    takes_bounds: ClassVar[bool] = False  # else the cost of a plan is taken for h*

    def __init_subclass__(cls) -> None:
        if "name" not in cls.__dict__:  # so that a model file finds it again
            cls.name = f"{cls.__module__}:{cls.__qualname__}"

    @property
    def outputs(self) -> int:
        """How many numbers the model gives per state."""
        raise NotImplementedError

    def fitted(self, columns: dict[str, NDArray[np.float32]]) -> Objective:
        """The objective with what it takes from the training labels. Raises ValueError."""
        return self

    def loss(self, outputs: Tensor, targets: Targets) -> Tensor:
        """float[B] from outputs float[B, K]; for pairs the mean, a scalar."""
        raise NotImplementedError

    def classes_of(self, h: NDArray[np.float32]) -> NDArray[np.int64]:
        """The class of each value, for objectives whose outputs are logits."""
        raise NotImplementedError

    def statistics(self, outputs: Tensor, targets: Targets) -> dict[str, Tensor]:
        """Further numbers of a training batch for the curve."""
        return {}

    def after(self, metrics: dict[str, float]) -> Objective:
        """The objective for the steps after an evaluation; most never change. A resumed run calls
        it again for every line of its curve."""
        return self

    def schedule(self) -> dict[str, float]:
        """Numbers of the objective that change during training, for the curve."""
        return {}

    def constants(self) -> dict[str, Any]:
        """All that a decode must know: it goes into the model file."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, **{f.name: getattr(self, f.name) for f in fields(self)}}


@dataclass(frozen=True)
class ValueObjective(Objective):
    """One output per state: h(s) = output + base(s). `base` is a heuristic, or "none"; one from a
    file is needed by search too."""

    form: ClassVar[str] = "value"
    decodes: ClassVar[tuple[str, ...]] = ("value", "floor")

    base: str = "none"

    def __post_init__(self) -> None:
        check_heuristic("base", self.base, BASES)

    @property
    def outputs(self) -> int:
        return 1

    def constants(self) -> dict[str, Any]:
        return {"base": self.base, "lower": "none", "cap": None}

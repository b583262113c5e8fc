"""FITS: how the weights of a model are found, by name. To add one: one file and one line here.

    fit(lesson, row, limits) -> ModelFile

A lesson is what there is to learn from; a row says what is to be learned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hstar.planning.task import Task
from hstar.runtime.exports import lazy
from hstar.runtime.registry import Registry, of_class
from hstar.runtime.resources import Budget
from hstar.slots.model_file import ModelFile
from hstar.slots.models import MODELS
from hstar.slots.teachers.registry import TEACHERS

if TYPE_CHECKING:
    from hstar.slots.teachers.attempt import Attempt
    from hstar.training.dataset import Dataset
    from hstar.training.fit.choices import Minima
    from hstar.training.fit.rtdp import ActingLearner as ActingLearner
    from hstar.training.fit.rtdp import rtdp_settings as rtdp_settings


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One choice for each slot, and the options of each. `fit` None: the first that takes them."""

    teacher: str
    features: str
    model: str
    objective: str
    fit: str | None = None
    teacher_options: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)  # of features, model and objective

    @property
    def label(self) -> str:
        """Such as "linear on wl by siblings, rank-svm"."""
        return f"{self.model} on {self.features} by {self.teacher}, {self.objective}"


@dataclass(frozen=True, slots=True)
class Lesson:
    """What there is to learn from: labelled states, and where models went wrong on their problems,
    by name. For fits that make their own states: the problems as grounded `tasks`, and others to
    choose weights by. Fits that need labels to choose weights by take `validation`, or a part."""

    labels: Dataset | None = None
    minima: Mapping[str, Minima] = field(default_factory=dict)
    tasks: Sequence[Task] = ()
    others: Sequence[Task] = ()
    validation: Dataset | None = None

    @property
    def dataset(self) -> Dataset:
        assert self.labels is not None
        return self.labels


@dataclass(frozen=True, slots=True)
class Limits:
    """`steps` is the number of updates where time does not count, None where it does. `checkpoint`
    is a file to go on from, for fits that can. `keep` gets the best so far if a signal ends it.
    `tell` gets the states that a fit labelled for itself."""

    budget: Budget
    seed: int = 0
    steps: int | None = None
    threads: int = 1
    checkpoint: Path | None = None
    fingerprint: str = ""
    say: Callable[[str], None] = lambda _: None
    report: Callable[[int, str], None] = lambda _step, _text: None
    keep: Callable[[ModelFile], None] = lambda _: None
    tell: Callable[[Attempt], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Fit:
    """`run(lesson, row, limits)` makes a model file, or None if the time was too short to make one
    that is better than none. It raises ValueError if there is nothing to learn, and OutOfResources.

    `takes(row)` says whether it fits a row, `refusal` why not. `check(row)` raises ValueError for
    options that it does not have. One that `acts` needs no labels: it
    makes its own states. One that can be `corrected` learns from local minima as well. One that is
    not `seeded` makes the same model from the same labels each time.
    """

    run: Callable[[Lesson, ModelRow, Limits], ModelFile | None]
    takes: Callable[[ModelRow], bool]
    refusal: str
    check: Callable[[ModelRow], object]
    acts: bool = False
    corrected: bool = False
    seeded: bool = True


# The first that takes a row is used.
FITS: Registry[Fit] = Registry(
    "fit",
    {
        "linear": "hstar.training.fit.linear:LINEAR",
        "mlp": "hstar.training.fit.mlp:MLP",
        "ppo": "hstar.training.fit.ppo:PPO",
        "rtdp": "hstar.training.fit.rtdp:RTDP",
        "self-taught": "hstar.training.fit.self_taught:SELF_TAUGHT",
        "torch": "hstar.training.fit.torch:TORCH",
    },
    "hstar.fits",
    of_class(Fit),
)

ACTING = {"rtdp": "rollouts", "ppo": "policy"}  # and their teachers: importing the fits is slow


def fit_for(row: ModelRow) -> Fit:
    """The fit that a row names, or the first that takes it. Raises ValueError if none does."""
    if row.fit is not None:
        chosen = FITS.find(row.fit)
        if not chosen.takes(row):
            raise ValueError(f"the fit '{row.fit}' {chosen.refusal}; name another or none")
        return chosen
    if row.teacher in ACTING.values() and row.teacher not in TEACHERS:
        only = FITS.find(next(fit for fit, teacher in ACTING.items() if teacher == row.teacher))
        if not only.takes(row):
            raise ValueError(f"'{row.teacher}' gives no labels; its fit {only.refusal}")
        return only
    for name in FITS:
        if ACTING.get(name, row.teacher) == row.teacher:
            found = FITS.find(name)
            if found.takes(row):
                return found
    reads = MODELS.find(row.model).features
    if row.features not in reads:
        known = ", ".join(reads)
        raise ValueError(
            f"model '{row.model}' cannot read features '{row.features}'; it reads {known}"
        )
    raise ValueError(f"no fit takes {row.label}; choose another objective")


if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, __file__)

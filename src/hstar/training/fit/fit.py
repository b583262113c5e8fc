"""What the rest of the program knows of a fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hstar.planning.task import Task
from hstar.runtime.resources import Budget
from hstar.slots.model_file import ModelFile

if TYPE_CHECKING:
    from hstar.training.dataset import Dataset
    from hstar.training.fit.choices import Minima

Say = Callable[[str], None]


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
        """Such as "linear on wl by siblings (rounds 2, orders), rank-svm"."""
        said = [
            name if value is True else f"{name} {value}"
            for name, value in {**self.teacher_options, **self.options}.items()
            if value is not False
        ]
        inside = f" ({', '.join(said)})" if said else ""
        return f"{self.model} on {self.features} by {self.teacher}{inside}, {self.objective}"


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
    is a file to go on from, for fits that can. `keep` gets the best so far if a signal ends it."""

    budget: Budget
    seed: int = 0
    steps: int | None = None
    threads: int = 1
    checkpoint: Path | None = None
    fingerprint: str = ""
    say: Say = lambda _: None
    report: Callable[[int, str], None] = lambda _step, _text: None
    keep: Callable[[ModelFile], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Fit:
    """`run(lesson, row, limits)` makes a model file, or None if the time was too short to make one
    that is better than none. It raises ValueError if there is nothing to learn, and OutOfResources.

    `takes(row)` says whether it fits a row, `refusal` why not. `check(row)` raises ValueError for
    options that it does not have. One that `acts` needs no labels: it
    makes its own states. One that can be `corrected` learns from local minima as well. One that is
    not `seeded` makes the same model from the same labels each time.
    """

    description: str
    run: Callable[[Lesson, ModelRow, Limits], ModelFile | None]
    takes: Callable[[ModelRow], bool]
    refusal: str
    check: Callable[[ModelRow], object]
    acts: bool = False
    corrected: bool = False
    seeded: bool = True

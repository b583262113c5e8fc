"""How much of the admissible-cea paper's protocol to run: the scales of scales.toml."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hstar.papers.experiment import read_published
from hstar.slots.objectives import make_objective
from hstar.training.certified.cube import GOALS
from hstar.training.options import TABLE_DEFAULTS, TrainOptions


@dataclass(frozen=True, slots=True)
class Compressions:
    """Which classical tables stand beside a network: of the pattern and of each `smaller` one (for
    a difference, that may be the pattern without base), minima over groups of every factor and of
    what fits into `budgets` (bytes), in both orders, in whole values and in 2 bits. `modulo` is a
    factor of the modulo grouping; `symmetric` adds tables of symmetry classes."""

    factors: Sequence[int] = ()
    budgets: Sequence[int] = ()
    smaller: Sequence[str] = ()
    modulo: int | None = None
    symmetric: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
    """A pattern database that is studied: `pattern` and `base` as 'hstar pdb build' takes them.
    Without `compressions` it is only counted (Tables 1 and 3)."""

    name: str
    puzzle: str
    pattern: str
    base: str | None = None
    compressions: Compressions | None = None


@dataclass(frozen=True, slots=True)
class Learning:
    """A network to train: `label` names it among those of its subject; `budget` is what the
    certified file may take, None for an eighth more than the network. A certified `model` of that
    name, where there is one, makes the training unnecessary."""

    subject: str
    label: str
    options: TrainOptions
    budget: int | None = None
    model: str = ""

    @property
    def name(self) -> str:
        """Of its files."""
        return f"{self.subject}-{self.label}"


@dataclass(frozen=True, slots=True)
class Generalisation:
    """Figure 2: the same network from training sets of different sizes."""

    subject: str
    sizes: Sequence[int]
    seeds: Sequence[int]
    options: TrainOptions


@dataclass(frozen=True, slots=True)
class Scale:
    """`sampled` is how many states show what argmax of a model from a file overestimates; `boards`
    is how many random boards of sliding tiles are planned for."""

    subjects: tuple[Subject, ...]
    learnings: tuple[Learning, ...]
    generalisations: tuple[Generalisation, ...] = ()
    sampled: int = 1_000_000
    boards: int = 0


CEA, CE, PHASES = "cea", "ce", "phases"
_HELD = read_published(__file__, "scales.toml")
MODELS: dict[str, str] = _HELD["models"]  # certified files that may be read -> their subjects


def _subject(name: str, held: dict[str, Any]) -> Subject:
    asked = held.get("compressions")
    return Subject(name, **{**held, "compressions": asked and Compressions(**asked)})


def _options(name: str) -> TrainOptions:
    if name.startswith("goal-"):
        return GOALS[name.removeprefix("goal-")].options
    given = dict(_HELD["options"][name])
    like, shape = given.pop("like", ""), given.pop("model_options", {})
    if like:
        other = _options(like)
        return replace(other, model_options={**other.model_options, **shape}, **given)
    fixed = {"objective": make_objective("cea"), "decode": "strict", "model_options": shape}
    return TrainOptions(**{**TABLE_DEFAULTS, **fixed, **given})


def _learnings(
    subject: str,
    goal: str = "",
    options: str = "",
    budget: int | None = None,
    label: str = "",
    widths: Sequence[tuple[int, int]] = (),
) -> Iterator[Learning]:
    """CEA, cross-entropy under equal conditions, and CEA with the paper's phases; or one network;
    or models 1, 2, ... of Table 5."""
    chosen = _options(options or f"goal-{goal}")
    for number, (hidden, width) in enumerate(widths, start=1):
        shape = {**chosen.model_options, "hidden": hidden, "width": width}
        yield Learning(subject, f"model-{number}", replace(chosen, model_options=shape))
    if widths:
        return
    budget = GOALS[goal].budget if goal else budget
    yield Learning(subject, label or CEA, chosen, budget, goal)
    if not label:
        losses = {CE: make_objective("ce"), PHASES: make_objective("cea", pace="phases")}
        for other, loss in losses.items():
            yield Learning(subject, other, replace(chosen, objective=loss), budget)


def _scale(name: str) -> Scale:
    given = dict(_HELD["scales"][name])
    like = _scale(given.pop("like")) if "like" in given else Scale((), ())
    subjects = [SUBJECTS[subject] for subject in given.pop("subjects")]
    learnings = [one for asked in given.pop("learnings") for one in _learnings(**asked)]
    generalisations = [
        Generalisation(**{**asked, "options": _options(asked["options"])})
        for asked in given.pop("generalisations", ())
    ]
    return replace(
        like,
        subjects=(*like.subjects, *subjects),
        learnings=(*like.learnings, *learnings),
        generalisations=(*like.generalisations, *generalisations),
        **given,
    )


SUBJECTS = {name: _subject(name, held) for name, held in _HELD["subjects"].items()}
CORNERS = SUBJECTS["8-corner"]
SCALES = {name: _scale(name) for name in _HELD["scales"]}

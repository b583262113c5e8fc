"""How much of the admissible-cea paper's protocol to run (scales.toml), and what it prints
(published.toml); sizes are in MB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hstar.experiments.study import build, choose, read_toml
from hstar.pdb import Compressions
from hstar.slots.objectives import make_objective
from hstar.training import TABLE_DEFAULTS, Sampling, TrainOptions

CEA, CE, PHASES = "cea", "ce", "phases"
MB = 1e6


@dataclass(frozen=True, slots=True)
class PatternStudied:
    """A pattern database: `pattern` and `base` as 'hstar pdb build' takes them. Without
    `compressions` it is only counted (Tables 1 and 3)."""

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
class PatternScale:
    """`sampled` is how many states show what argmax of a model from a file overestimates; `boards`
    is how many random boards of sliding tiles are planned for, and `limit` the seconds for each."""

    subjects: tuple[PatternStudied, ...] = ()
    learnings: tuple[Learning, ...] = ()
    generalisations: tuple[Generalisation, ...] = ()
    sampled: int = 1_000_000
    boards: int = 0
    limit: float = 300.0

    def changed(
        self, columns: Sequence[str] = (), domains: Sequence[str] = (), **options: Any
    ) -> PatternScale:
        """With these in place of its own: labels of networks as columns and pattern databases as
        domains; seeds of Figure 2, steps, boards as tests, states drawn, the limit."""
        steps, seeds = options.get("steps"), options.get("seeds")
        if not isinstance(steps, int | None):
            raise ValueError("networks are of one kind: give --steps one number")
        known = list(dict.fromkeys(one.label for one in self.learnings))
        labels = choose("column", known, columns) or known
        names = choose("domain", SUBJECTS, domains) or [one.name for one in self.subjects]
        learnings = [one for one in self.learnings if one.label in labels and one.subject in names]
        points = [one for one in self.generalisations if one.subject in names]
        length = {} if steps is None else {"steps": steps}
        return replace(
            self,
            subjects=tuple(SUBJECTS[name] for name in names),
            learnings=tuple(replace(o, options=_changed(o.options, length)) for o in learnings),
            generalisations=tuple(
                replace(o, seeds=seeds or o.seeds, options=_changed(o.options, length))
                for o in points
            ),
            sampled=options.get("states", [self.sampled])[0],
            boards=options.get("tests", self.boards),
            limit=options.get("limit", self.limit),
        )


_HELD = read_toml(__file__, "scales.toml")


def _changed(options: TrainOptions, given: Mapping[str, Any]) -> TrainOptions:
    """The shape of a network keeps what it is not told to change, an objective does not."""
    changes = {
        **given,
        "model_options": {**options.model_options, **given.get("model_options", {})},
    }
    if "objective" in given:
        changes["objective"] = make_objective(**given["objective"])
    if "sampling" in given:
        changes["sampling"] = Sampling(**given["sampling"])
    return replace(options, **changes)


def _options(name: str) -> TrainOptions:
    given = dict(_HELD["options"][name])
    usual = TrainOptions(
        **TABLE_DEFAULTS | {"objective": make_objective("cea"), "decode": "strict"}
    )
    return _changed(_options(given.pop("like")) if "like" in given else usual, given)


GOALS = {
    name: Learning(label=CEA, options=_options(f"goal-{name}"), model=name, **held)
    for name, held in _HELD["goals"].items()
}
MODELS = {name: goal.subject for name, goal in GOALS.items()}  # files that may be read


def _learnings(
    networks: str, goal: str = "", options: str = "", **about: Any
) -> Iterator[Learning]:
    """A group of networks; the certified file of a goal may take the place of the first."""
    chosen = _options(options or f"goal-{goal}")
    about |= _HELD["goals"].get(goal, {})
    for label, change in _HELD["networks"][networks].items():
        yield Learning(label=label, options=_changed(chosen, change), model=goal, **about)
        goal = ""


def _scale(name: str) -> PatternScale:
    given = dict(_HELD["scales"][name])
    like = _scale(given.pop("like")) if "like" in given else PatternScale()
    found: dict[str, Any] = {
        "subjects": [SUBJECTS[subject] for subject in given.pop("subjects")],
        "learnings": [one for asked in given.pop("learnings") for one in _learnings(**asked)],
        "generalisations": [
            Generalisation(**{**asked, "options": _options(asked["options"])})
            for asked in given.pop("generalisations", ())
        ],
    }
    given |= {kind: (*getattr(like, kind), *new) for kind, new in found.items()}
    return replace(like, **given)


SUBJECTS: dict[str, PatternStudied] = {
    name: build(PatternStudied, {"name": name, **held}) for name, held in _HELD["subjects"].items()
}
CORNERS = SUBJECTS["8-corner"]
SCALES = {name: _scale(name) for name in _HELD["scales"]}

_PRINTED = read_toml(__file__, "published.toml")
TABLE_1, TABLE_2, TABLE_3, TABLE_4 = (_PRINTED[f"table_{number}"] for number in range(1, 5))
TABLE_5: list[dict[str, Any]] = _PRINTED["table_5"]["models"]
FIGURE_OF = {"6-edge": 6, "8-corner": 7, "delta-6-4": 8, "7-edge": 9}

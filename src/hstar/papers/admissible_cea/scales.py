"""How much of the admissible-cea paper's protocol to run, and on which pattern databases.

smoke  the 8-puzzle and the 2x2x2 cube with short trainings: minutes on two cores
small  the same with more training, and the cube's tables; its certified models are read from files
full   also seven edges, and every model of the cube that is not found is learned (on a GPU)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hstar.certified.cube import GOALS
from hstar.objectives import make_objective
from hstar.training.options import TABLE_DEFAULTS, TrainOptions


@dataclass(frozen=True, slots=True)
class Compressions:
    """Which classical tables stand beside a network: of the pattern and of each `smaller` one (for
    a difference, that may be the pattern without base), minima over groups of every factor and of
    what fits into `budgets` (bytes), in both orders, in whole values and in 2 bits. `modulo` is a
    factor of the modulo grouping; `symmetric` adds tables of symmetry classes."""

    factors: tuple[int, ...] = ()
    budgets: tuple[int, ...] = ()
    smaller: tuple[str, ...] = ()
    modulo: int | None = None
    symmetric: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
    """A pattern database that is studied: `pattern` and `base` as 'hstar pdb build' takes them.

    Without `compressions` it is only counted (Tables 1 and 3).
    """

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


@dataclass(frozen=True, slots=True)
class Generalisation:
    """Figure 2: the same network from training sets of different sizes."""

    subject: str
    sizes: tuple[int, ...]
    seeds: tuple[int, ...]
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
SMALLER = "cea-small"

# Certified models that may be read from files, and whose subject they are.
MODELS = {
    "8-corner": "8-corner",
    "8-corner-small": "8-corner",
    "6-edge": "6-edge",
    "7-edge": "7-edge",
    "delta-6-4": "delta-6-4",
}

_SPREAD = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
PUZZLE_8 = Subject(
    "8-puzzle",
    "tiles-3x3",
    "tiles:1-8",
    compressions=Compressions(_SPREAD, smaller=("tiles:1-6", "tiles:1-5", "tiles:1-4"), modulo=16),
)
CUBE_2 = Subject(
    "2x2x2",
    "cube2",
    "corners",
    compressions=Compressions(_SPREAD, smaller=("corners:0-4", "corners:0-3"), modulo=64),
)
CORNERS = Subject(
    "8-corner",
    "cube3",
    "corners",
    compressions=Compressions((1, 23), (240_000, 450_000, 1_890_000), modulo=23, symmetric=True),
)
EDGES_4 = Subject("4-edge", "cube3", "edges:0-3")
EDGES_5 = Subject("5-edge", "cube3", "edges:0-4")
EDGES_6 = Subject(
    "6-edge",
    "cube3",
    "edges:0-5",
    compressions=Compressions(
        (1, 3, 4, 5, 6, 11), (1_950_000,), smaller=("edges:0-4", "edges:0-3"), modulo=11
    ),
)
EDGES_7 = Subject(
    "7-edge",
    "cube3",
    "edges:0-6",
    compressions=Compressions((1, 70), (3_750_000,), smaller=("edges:0-5", "edges:0-4"), modulo=70),
)
DELTA = Subject(
    "delta-6-4",
    "cube3",
    "edges:0-5",
    "edges:0-3",
    compressions=Compressions((1, 7), (3_200_000,), smaller=("edges:0-5", "edges:0-4"), modulo=7),
)

# Table 5 in a tenth of the paper's widths: the small spaces have a thousandth of its states.
TENTHS = ((100, 30), (80, 25), (60, 20), (40, 15), (20, 10))


def _both_losses(
    subject: str, options: TrainOptions, budget: int, model: str = ""
) -> tuple[Learning, ...]:
    """CEA, cross-entropy under equal conditions, and CEA with the paper's phases."""
    phases = make_objective("cea", pace="phases")
    return (
        Learning(subject, CEA, options, budget, model),
        Learning(subject, CE, replace(options, objective=make_objective("ce")), budget),
        Learning(subject, PHASES, replace(options, objective=phases), budget),
    )


def _scaling(
    subject: str, options: TrainOptions, widths: tuple[tuple[int, int], ...]
) -> tuple[Learning, ...]:
    """Models 1, 2, ... of Table 5."""
    return tuple(
        Learning(subject, f"model-{number}", shaped(options, hidden=hidden, width=width))
        for number, (hidden, width) in enumerate(widths, start=1)
    )


def shaped(options: TrainOptions, **sizes: int) -> TrainOptions:
    """The same training of a network of another shape."""
    return replace(options, model_options={**options.model_options, **sizes})


_SMOKE = TrainOptions(
    **{
        **TABLE_DEFAULTS,
        "model_options": {"hidden": 100, "width": 30, "blocks": 2},
        "objective": make_objective("cea"),
        "decode": "strict",
        "steps": 1500,
        "batch": 1024,
        "learning_rate": 5e-3,
        "evaluate_every": 50,
    }
)
_SMOKE_FIGURE_2 = replace(shaped(_SMOKE, hidden=60, width=20, blocks=1), steps=400, batch=512)
SMOKE = Scale(
    subjects=(PUZZLE_8, CUBE_2),
    learnings=(
        *_both_losses("8-puzzle", _SMOKE, 24_000),
        *_both_losses("2x2x2", _SMOKE, 32_000),
        *_scaling("8-puzzle", replace(_SMOKE, steps=900), TENTHS),
    ),
    generalisations=(
        Generalisation("8-puzzle", (100, 1000, 10_000, 100_000), (0, 1), _SMOKE_FIGURE_2),
    ),
    boards=20,
)

_SMALL = replace(shaped(_SMOKE, hidden=160, width=64), steps=6000, evaluate_every=200)
# Cubes are harder: nothing is learned for thousands of steps, and small batches give more of them.
_SMALL_CUBE = replace(
    shaped(_SMALL, hidden=200), steps=15_000, batch=512, quantize_from=0.7, evaluate_every=500
)
_SMALL_FIGURE_2 = replace(_SMOKE_FIGURE_2, steps=800)
SMALL = Scale(
    subjects=(PUZZLE_8, CUBE_2, CORNERS, EDGES_4, EDGES_5, EDGES_6, DELTA),
    learnings=(
        *_both_losses("8-puzzle", _SMALL, 50_000),
        *_both_losses("2x2x2", _SMALL_CUBE, 75_000),
        *_scaling("8-puzzle", replace(_SMOKE, steps=2000), TENTHS),
    ),
    generalisations=(
        Generalisation(
            "8-puzzle", (100, 300, 1000, 3000, 10_000, 30_000, 100_000), (0, 1), _SMALL_FIGURE_2
        ),
        Generalisation("2x2x2", (100, 1000, 10_000, 100_000, 1_000_000), (0,), _SMALL_FIGURE_2),
    ),
    boards=100,
)

FULL = replace(
    SMALL,
    subjects=(*SMALL.subjects, EDGES_7),
    learnings=(
        *SMALL.learnings,
        *(
            learning
            for name in ("8-corner", "6-edge", "delta-6-4", "7-edge")
            for learning in _both_losses(name, GOALS[name].options, GOALS[name].budget, name)
        ),
        Learning(
            "8-corner",
            SMALLER,
            shaped(GOALS["8-corner"].options, hidden=384, width=128),
            GOALS["8-corner-small"].budget,
            "8-corner-small",
        ),
        *_scaling(
            "8-corner",
            replace(GOALS["8-corner"].options, steps=20_000),
            ((1000, 300), (800, 250), (600, 200), (400, 150), (200, 100)),
        ),
    ),
)

SCALES = {"smoke": SMOKE, "small": SMALL, "full": FULL}

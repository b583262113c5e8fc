"""What the golden files hold: which tasks, searches, heuristics and trainings are recorded.

`SECTIONS` maps a file of tests/golden to the function that computes it, one record per case. LM-cut
has a file of its own, so that a change of its tie-breaking leaves the others as they are.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import golden_subject as subject

FOLDER = Path(__file__).parents[1] / "golden"
STATES = 50
FLOATING = ("trainings", "learned")  # exact only with the torch and the instructions of the record
Records = dict[str, Any]

GENERATED: dict[str, dict[str, float]] = {
    "blocksworld": {"blocks": 6},
    "gripper": {"balls": 4},
    "visitall": {"side": 4, "ratio": 0.7},
    "logistics": {"airplanes": 1, "cities": 2, "locations": 2, "packages": 2},
    "miconic": {"floors": 5, "passengers": 3},
    "ferry": {"locations": 3, "cars": 3},
    "satellite": {"satellites": 2, "instruments": 2, "modes": 2, "stations": 2, "stars": 3},
    "parking": {"curbs": 4, "cars": 5},
    "sliding-tiles": {"rows": 3, "columns": 3},
}
TEXTS: dict[str, Callable[[], tuple[str, str]]] = {
    **{
        name: lambda name=name, size=size: subject.generated_problem(name, size, 12)
        for name, size in GENERATED.items()
    },
    "transport": lambda: subject.small_problem(
        "transport", 5
    ),  # costs, and operators that are free
    "briefcase": lambda: subject.small_problem("briefcase", 3),  # conditional effects
    "data-strips": lambda: subject.data_problem("strips"),
    "data-costs": lambda: subject.data_problem("costs"),
    "data-adl": lambda: subject.data_problem("adl"),
}

ALGORITHMS = ("gbfs", "lazy", "astar", "idastar", "wastar", "gbfls")
SEARCHES: list[tuple[str, str, dict[str, Any]]] = [
    *((algorithm, h, {}) for algorithm in ALGORITHMS for h in ("ff", "hmax", "goalcount", "blind")),
    ("bfs", "blind", {}),
    ("gbfs", "hadd", {}),
    ("gbfs", "ff", {"batch": 4}),
    ("gbfs", "goalcount", {"batch": 4}),
    ("gbfs", "ff", {"cost": "plusone"}),
    ("lazy", "ff", {"batch": 32}),
    ("lazy", "ff", {"batch": 32, "cost": "one"}),
    ("lazy", "ff", {"preferred": False}),
    ("lazy", "ff", {"preferred": False, "batch": 32}),
    ("lazy", "hmax", {"batch": 32}),
    ("astar", "hmax", {"batch": 4}),
    *(("wastar", h, {"weight": w}) for h in ("ff", "hmax") for w in (2.0, 5.0)),
    *(("beam", h, {"width": w}) for h in ("ff", "goalcount", "blind") for w in (2, 30)),
    *((algorithm, "goalcount", {"preferred_by": "ff"}) for algorithm in ("gbfs", "lazy")),
    ("beam", "goalcount", {"width": 5, "preferred_by": "ff"}),
]
LMCUT_SEARCHES: list[tuple[str, str, dict[str, Any]]] = [
    *((algorithm, "lmcut", {}) for algorithm in ("astar", "idastar", "gbfs", "lazy")),
    ("wastar", "lmcut", {"weight": 2.0}),
]
LIMIT = {"max_expansions": 2000}  # searches that give up are recorded as well
HEURISTICS = ("blind", "goalcount", "hmax", "hadd", "ff")
COSTS = ("normal", "one", "plusone")

PUZZLES: dict[str, list[list[str]]] = {
    "tiles-3x3": [["tiles:1-4", "tiles:5-8"], ["tiles:0-4"]],
    "cube2": [["corners:0-3"], ["corners:3-6"]],
    "pancake-9": [["pancakes:0-3"], ["pancakes:4-7"]],
    "topspin-8-4": [["tokens:0-4"]],
}

TRAININGS: dict[str, dict[str, Any]] = {
    "nlm truncated-gaussian": {
        "model": "nlm",
        "shape": {"width": 4, "depth": 4},
        "objective": {"loss": "truncated-gaussian", "base": "ff", "lower": "hmax"},
        "options": {"steps": 60, "evaluate_every": 20, "batch": 16},
    },
    "nlm gaussian, fixed sigma, no base": {
        "model": "nlm",
        "shape": {"width": 4, "depth": 4},
        "objective": {"loss": "gaussian", "base": "none", "lower": "hmax", "sigma": 1.0},
        "options": {"steps": 20, "evaluate_every": 10, "batch": 16, "schedule": "constant"},
    },
    "linear gaussian": {
        "model": "linear",
        "shape": {},
        "objective": {"loss": "gaussian", "base": "ff", "lower": "hmax"},
        "options": {"steps": 60, "evaluate_every": 20, "batch": 16, "weight_decay": 0.0},
    },
    "hgn gaussian": {
        "model": "hgn",
        "shape": {"hidden": 4, "steps": 2},
        "objective": {"loss": "gaussian", "base": "ff", "lower": "hmax"},
        "options": {"steps": 12, "evaluate_every": 4, "batch": 16, "learning_rate": 1e-3},
    },
    "nlm l-gbfs": {
        "model": "nlm",
        "shape": {"width": 4, "depth": 4},
        "objective": {"loss": "l-gbfs", "base": "ff", "lower": "hmax"},
        "options": {"steps": 20, "evaluate_every": 10, "batch": 16, "learning_rate": 1e-3},
    },
}
TRAINING_PROBLEMS = {
    "blocksworld": [{"blocks": n} for n in (3, 4, 4, 5, 6)],
    "gripper": [{"balls": n} for n in (1, 2, 3, 4)],
}
SHAPE = {"hidden": 24, "width": 12, "blocks": 1}
QUICK = {
    "bits": 6,
    "steps": 60,
    "batch": 256,
    "learning_rate": 1e-2,
    "quantize_from": 0.5,
    "evaluate_every": 15,
}
LEARNING = {**SHAPE, **QUICK}
LEARNED: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "tiles-2x3 strict": ("tiles-2x3", "tiles", LEARNING, {}),
    "tiles-2x3 phases": ("tiles-2x3", "tiles", {**LEARNING, "pace": "phases", "patience": 1}, {}),
    "pancake-6 quantile": ("pancake-6", "pancakes", LEARNING, {"decoding": "quantile"}),
}


def case_name(algorithm: str, heuristic: str, options: dict[str, Any]) -> str:
    return " ".join([algorithm, heuristic, *(f"{name}={value}" for name, value in options.items())])


@cache
def task_of(name: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return subject.load_texts(TEXTS[name](), Path(folder))


def search_records(task: str, searches: list[tuple[str, str, dict[str, Any]]]) -> Records:
    records: Records = {}
    for algorithm, heuristic, options in searches:
        found = subject.run_search(task_of(task), heuristic, algorithm, {**options, **LIMIT})
        if algorithm != "bfs":  # which takes no heuristic
            found["recorded"] = subject.run_recorded_search(
                task_of(task), heuristic, algorithm, {**options, **LIMIT}
            )
        records[case_name(algorithm, heuristic, options)] = found
    return records


def value_records(task: str, heuristics: tuple[str, ...]) -> Records:
    states = subject.random_states(task_of(task), STATES, 23)
    records: Records = {"states": subject.digest([states.tobytes()])}
    for heuristic in heuristics:
        for cost in COSTS:
            values = subject.heuristic_values(task_of(task), heuristic, cost, states)
            records[f"{heuristic} {cost}"] = values
    if "ff" in heuristics:
        for cost in COSTS:
            lines = subject.preferred_operators(task_of(task), cost, states)
            records[f"preferred {cost}"] = subject.digest(
                "\n".join(lines).encode().splitlines(True)
            )
        records["relaxed plans"] = subject.relaxed_plan_features(task_of(task), states)
    return records


def puzzle_records(puzzle: str) -> Records:
    records: Records = {}
    for sum_of in PUZZLES[puzzle]:
        for pattern in sum_of:
            records[f"table {pattern}"] = subject.table_digest(puzzle, pattern, len(sum_of) > 1)
    for algorithm in ("astar", "idastar", "gbfs", "wastar"):
        for seed in (1, 2):
            found = subject.solve_puzzle(puzzle, PUZZLES[puzzle], (40, seed), algorithm)
            records[f"{algorithm} scramble {seed}"] = found
    return records


def database_records(task: str) -> Records:
    return {
        f"{algorithm} auto:500": subject.task_database_search(task_of(task), "auto:500", algorithm)
        for algorithm in ("astar", "gbfs")
    }


def training_problems(domain: str) -> dict[str, tuple[str, str]]:
    sizes = TRAINING_PROBLEMS[domain]
    return {
        f"p{i}": subject.generated_problem(domain, size, 31 + i) for i, size in enumerate(sizes)
    }


@cache
def training_plans() -> dict[str, dict[str, list[str]]]:
    """The plans that are learned from; stored, so that they outlive any change of a search."""
    path = FOLDER / "plans.json"
    return json.loads(path.read_text())


def plans_of(domain: str) -> dict[str, list[str]]:
    found = {}
    for name, texts in training_problems(domain).items():
        with tempfile.TemporaryDirectory() as folder:
            task = subject.load_texts(texts, Path(folder))
        found[name] = subject.run_search(task, "hmax", "astar", {})["plan"]
    return found


def training_records(domain: str) -> Records:
    records: Records = {}
    for name, spec in TRAININGS.items():
        with tempfile.TemporaryDirectory() as folder:
            records[name] = subject.train_curve(
                training_problems(domain), training_plans()[domain], spec, Path(folder)
            )
    return records


def learning_records(name: str) -> Records:
    with tempfile.TemporaryDirectory() as folder:
        return subject.learn_database(*LEARNED[name], Path(folder))


# File -> the names of its entries, and what computes one of them.
SECTIONS: dict[str, tuple[list[str], Callable[[str], Records]]] = {
    "searches": (list(TEXTS), lambda task: search_records(task, SEARCHES)),
    "heuristics": (list(TEXTS), lambda task: value_records(task, HEURISTICS)),
    "lmcut": (
        list(TEXTS),
        lambda task: {
            "searches": search_records(task, LMCUT_SEARCHES),
            "values": value_records(task, ("lmcut",)),
        },
    ),
    "puzzles": (list(PUZZLES), puzzle_records),
    "databases": (["blocksworld", "gripper", "logistics", "transport"], database_records),
    "trainings": (list(TRAINING_PROBLEMS), training_records),
    "learned": (list(LEARNED), learning_records),
}

"""The calls into hstar that the golden files pin. No other golden module imports hstar.

When modules move or signatures change, only this file follows; the recorded numbers stay. Results
are plain lists, dicts, numbers and strings, so that they can be stored as JSON.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file
from small_domains import ALL
from small_trainings import train

import hstar
from hstar import search
from hstar.domains import DOMAINS
from hstar.pdb import PdbHeuristic, build_pdb, parse_pattern
from hstar.planning.puzzle import make_puzzle
from hstar.slots.objectives import OBJECTIVES, make_objective
from hstar.slots.teachers import LabelOptions, label
from hstar.training.certified.learning import learn
from hstar.training.dataset import load_dataset
from hstar.training.loop import Line
from hstar.training.options import TABLE_DEFAULTS, TrainOptions
from hstar.training.source import TableData

DATA = Path(__file__).parents[1] / "data"
# The recorded "evaluations" count duplicates; results call that `requested`.
COUNTERS = (
    "status",
    "plan",
    "plan_cost",
    "evaluated",
    "evaluations",
    "expanded",
    "generated",
    "reopened",
    "deadends",
    "initial_h",
)


def digest(parts: Iterable[bytes]) -> str:
    sha = hashlib.sha256()
    for part in parts:
        sha.update(part)
    return sha.hexdigest()


# -- tasks


def generated_problem(domain: str, size: dict[str, float], seed: int) -> tuple[str, str]:
    """The texts of a domain and of a random problem of it."""
    generator = DOMAINS[domain]
    return generator.domain_pddl, generator.make(dict(size), random.Random(seed), "golden")


def small_problem(domain: str, seed: int) -> tuple[str, str]:
    return ALL[domain](random.Random(seed))


def data_problem(name: str) -> tuple[str, str]:
    folder = DATA / name
    return (folder / "domain.pddl").read_text(), (folder / "problem.pddl").read_text()


def load_texts(texts: tuple[str, str], folder: Path) -> hstar.Task:
    files = folder / "domain.pddl", folder / "problem.pddl"
    for path, text in zip(files, texts, strict=True):
        path.write_text(text)
    return hstar.load_task(*files)


def random_states(task: hstar.Task, count: int, seed: int) -> np.ndarray:
    """States of a random walk from the initial state, which starts anew in dead ends."""
    rng = random.Random(seed)
    states = [task.initial_state]
    while len(states) < count:
        successors = task.successors(states[-1])[1]
        states.append(successors[rng.randrange(len(successors))] if len(successors) else states[0])
    return np.stack(states)


# -- search and heuristics


def run_search(
    task: hstar.Task, heuristic: Any, algorithm: str, options: dict[str, Any]
) -> dict[str, Any]:
    """The plan and the counters; `heuristic` is a name, a function, or a model file."""
    if isinstance(heuristic, Path):
        heuristic = hstar.load_model(heuristic)
    return counters(hstar.search(task, heuristic, algorithm, **options))


def counters(result: hstar.SearchResult) -> dict[str, Any]:
    found = {name: getattr(result, name) for name in COUNTERS}
    return {**found, "evaluations": result.requested}


class RecordedHeuristic:
    """A function for search that notes every state it is asked about, in order."""

    def __init__(self, evaluate: Any) -> None:
        self.evaluate = evaluate
        self.batches: list[bytes] = []

    def __call__(self, states: np.ndarray) -> np.ndarray:
        self.batches.append(np.ascontiguousarray(states, dtype=np.int32).tobytes())
        return self.evaluate(states)

    def order(self) -> str:
        """A digest that tells batches apart: the same states in other batches are another order."""
        return digest(part for one in self.batches for part in (len(one).to_bytes(8, "big"), one))


def run_recorded_search(
    task: hstar.Task, heuristic: str, algorithm: str, options: dict[str, Any]
) -> dict[str, Any]:
    """The order in which a search evaluates states when a Python function is its heuristic."""
    options = dict(options)
    cost = options.pop("cost", "normal")
    recorded = RecordedHeuristic(hstar.make_heuristic(task, heuristic, cost).evaluate)
    result = hstar.search(task, recorded, algorithm, **options)
    return {"evaluations": result.requested, "order": recorded.order()}


def heuristic_values(
    task: hstar.Task, heuristic: str, cost: str, states: np.ndarray
) -> list[float]:
    return hstar.make_heuristic(task, heuristic, cost).evaluate(states).tolist()


def preferred_operators(task: hstar.Task, cost: str, states: np.ndarray) -> list[str]:
    """Per state a line with the names of the operators that the relaxed plan prefers."""
    found = hstar.make_heuristic(task, "ff", cost).preferred_operators(states)
    return [" ".join(task.operator_name(number) for number in numbers) for numbers in found]


def relaxed_plan_features(task: hstar.Task, states: np.ndarray) -> list[list[float]]:
    return hstar.make_heuristic(task, "ff").plan_features(states).tolist()


# -- puzzles and pattern databases


@cache
def database(name: str, pattern: str, additive: bool) -> Any:
    puzzle = make_puzzle(name)
    return build_pdb(puzzle, parse_pattern(puzzle, pattern), additive=additive)


def table_digest(name: str, pattern: str, additive: bool) -> str:
    return digest([database(name, pattern, additive).table.tobytes()])


def solve_puzzle(
    name: str, patterns: list[list[str]], scramble: tuple[int, int], algorithm: str
) -> dict[str, Any]:
    """The search with the maximum of sums of databases, once native and once recorded."""
    puzzle = make_puzzle(name)
    sums = [[database(name, one, len(each) > 1) for one in each] for each in patterns]
    heuristic = PdbHeuristic(sums)
    state = puzzle.scramble(*scramble)
    recorded = RecordedHeuristic(lambda states: heuristic.evaluate(puzzle, states))
    search(puzzle, recorded, algorithm, state=state)
    found = counters(search(puzzle, heuristic, algorithm, state=state))
    return {"state": state.tolist(), **found, "order": recorded.order()}


def task_database_search(task: hstar.Task, pattern: str, algorithm: str) -> dict[str, Any]:
    """Search a task with a pattern database of its own."""
    built = build_pdb(task, parse_pattern(task, pattern))
    found = run_search(task, PdbHeuristic([built]), algorithm, {})
    return {"table": digest([built.table.tobytes()]), **found}


# -- training

# The names that the golden files have for the numbers of a training curve.
VALIDATED = {
    name: name
    for name in ("train_loss", "validation_loss", "validation_mse", "validation_mse_clip")
}
SWEPT = {"loss": "train_loss", **{n: n for n in ("accuracy", "overestimates", "beta", "eta")}}


def old_line(line: Line, names: dict[str, str]) -> dict[str, str]:
    numbers = {name: repr(line.get(ours, float("nan"))) for name, ours in names.items()}
    return {"step": repr(line["step"]), **numbers}


@cache
def arithmetic() -> dict[str, str]:
    """What the last bits of trained weights depend on. Libraries below torch choose instructions
    by the kind of processor, so the weights of a small training tell more than any name does."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    inputs = torch.linspace(-3, 3, 96 * 40).sin().reshape(96, 40)
    layers = [torch.nn.Linear(40, 32), torch.nn.Linear(32, 16), torch.nn.Linear(16, 9)]
    for layer in layers:
        for weights in layer.parameters():
            weights.data = torch.linspace(-1, 1, weights.numel()).cos().reshape(weights.shape) / 4
    adam = torch.optim.AdamW([one for layer in layers for one in layer.parameters()], lr=0.01)
    for _ in range(10):
        hidden = layers[1](layers[0](inputs).sigmoid()).relu()
        outputs = layers[2](hidden)
        classes = torch.nn.functional.cross_entropy(outputs, torch.arange(96) % 9)
        scale = torch.nn.functional.softplus(outputs[:, 0]).log() + outputs[:, 1].exp()
        adam.zero_grad()
        (classes + scale.mean()).backward()
        adam.step()
    sha = hashlib.sha256(b"".join(one.weight.detach().numpy().tobytes() for one in layers))
    torch.set_num_threads(threads)
    return {"torch": torch.__version__, "a training": sha.hexdigest()[:16]}


def train_curve(
    problems: dict[str, tuple[str, str]],
    plans: dict[str, list[str]],
    spec: dict[str, Any],
    folder: Path,
) -> dict[str, Any]:
    """Label given plans, train, and search with the model.

    The plans are part of the golden files, so nothing here rests on a search or on LM-cut. The
    last problem validates and is the one that is searched.
    """
    torch.set_num_threads(1)  # sums of floats depend on how threads share them
    files = folder / "problems"
    files.mkdir(parents=True)
    for name, (domain, problem) in problems.items():
        (files / "domain.pddl").write_text(domain)
        (files / f"{name}.pddl").write_text(problem)
        (files / f"{name}.plan").write_text("".join(f"{step}\n" for step in plans[name]))
    options = {"plans": str(files)}
    label(files, folder / "labels.parquet", LabelOptions(jobs=1, teacher="plans", options=options))
    dataset = load_dataset(folder / "labels.parquet")
    last = len(dataset.tasks) - 1
    model = folder / "model.safetensors"
    given = dict(spec["objective"])
    name = given.pop("loss")
    known = OBJECTIVES.find(name).__dataclass_fields__
    chosen = {key: value for key, value in given.items() if key in known}
    further = dict(spec["options"])
    if not further.pop("fit_cap", True) and "cap" in known:
        chosen.setdefault("cap", None)
    options = TrainOptions(
        model=spec["model"],
        model_options=spec["shape"],
        objective=make_objective(name, **chosen),
        device="cpu",
        **further,
    )
    result = train(dataset.select(list(range(last))), dataset.select([last]), model, options)
    task = hstar.load_task(files / "domain.pddl", files / f"{list(problems)[-1]}.pddl")
    return {
        "curve": [old_line(line, VALIDATED) for line in result.curve],
        "parameters": result.parameters,
        "weights": weights_digest(model),
        "search": run_search(task, model, "gbfs", {"max_expansions": 300}),
    }


def weights_digest(path: Path) -> str:
    """Of all tensors of a file, whatever they are called and in whichever order they lie."""
    arrays = load_file(path).values()
    each = sorted(f"{array.dtype}{array.shape}{digest([array.tobytes()])}" for array in arrays)
    return digest(text.encode() for text in each)


def learn_database(
    name: str, pattern: str, options: dict[str, Any], target: dict[str, Any], folder: Path
) -> dict[str, Any]:
    """Learn a pattern database: the curve, the integer network, and the certificate."""
    torch.set_num_threads(1)
    output = folder / "learned.safetensors"
    given = dict(options)
    shape = {key: given.pop(key) for key in ("hidden", "width", "blocks") if key in given}
    loss = given.pop("loss", None)
    further = {key: given.pop(key) for key in ("pace", "patience") if key in given}
    objective = make_objective("cea", **further) if loss is None else loss
    wanted = dict(target)
    chosen = TrainOptions(
        **{
            **TABLE_DEFAULTS,
            "objective": objective,
            "model_options": shape,
            "decode": wanted.pop("decoding", "strict"),
            "decode_options": wanted,
            "device": "cpu",
            **given,
        }
    )
    found = learn(TableData(database(name, pattern, False), make_puzzle(name)), output, chosen)
    assert found is not None
    return {
        "curve": [old_line(line, SWEPT) for line in found.loop.curve],
        "certificate": found.file.certificate,
        "bytes": found.num_bytes,
        "exceptions": sum(one.count for one in found.file.model.exceptions),
        "tensors": weights_digest(output),
    }

"""Model files whose digest is right and whose metadata make no sense are refused in one way."""

from __future__ import annotations

import copy
import json
import math
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from small_patterns import OPTIONS, data_of
from untrained_models import untrained

from hstar.commands.cli import run as run_cli
from hstar.planning.puzzle import make_puzzle
from hstar.planning.task import Task, load_task
from hstar.slots.loader import load_model
from hstar.slots.model_file import ModelFile, ModelFileError, read_model, to_bytes
from hstar.slots.objectives import make_objective
from hstar.training.certified.learning import learn

DATA = Path(__file__).parents[1] / "data"
FORGERIES = 100  # of each of the files

Tensors = dict[str, NDArray[Any]]

pytestmark = pytest.mark.usefixtures("one_thread")

ODD_VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 2**31, 2**40, -(2**70), 0.5, 1e308, -1e-300),
    *(float("nan"), float("inf"), "", "x", "none", "one", "value", "strict", "float", "integers"),
    *("os:system", "no_such_module:thing", "a" * 300, [], {}, [1], [[1, 2]], [None], {"name": "x"}),
    *({"config": {}}, [0] * 50),
]


def places(held: Any) -> Iterator[tuple[Any, Any]]:
    """Every container with every key or index in it."""
    keys: Any = held if isinstance(held, dict) else range(len(held))
    for key in list(keys):
        yield held, key
        if isinstance(held[key], (dict, list)):
            yield from places(held[key])


def forge(rng: random.Random, metadata: dict[str, Any], tensors: Tensors) -> None:
    """One or two changes of what a file holds."""
    for _ in range(rng.choice([1, 1, 2])):
        kind = rng.random()
        if kind < 0.12 and tensors:
            forge_tensor(rng, tensors)
            continue
        # Else the long training curve would get nearly all changes.
        whole = {key: value for key, value in metadata.items() if key != "training"}
        chosen = list(places(whole))
        container, key = rng.choice(chosen)
        if container is whole:
            container = metadata
        if kind < 0.3:
            del container[key]
        elif kind < 0.4 and isinstance(container, list):
            container.insert(key, copy.deepcopy(container[key]))
        elif kind < 0.5 and isinstance(container, dict):
            container[key + "s"] = container.pop(key)
        elif kind < 0.6:
            other, place = rng.choice(chosen)
            container[key] = copy.deepcopy(other[place]) if place in other else 7
        else:
            container[key] = copy.deepcopy(rng.choice(ODD_VALUES))


def forge_tensor(rng: random.Random, tensors: Tensors) -> None:
    name = rng.choice(sorted(tensors))
    array = tensors.pop(name)
    change = rng.randrange(5)
    if change == 0:
        tensors[name + "x"] = array
    elif change == 1:
        tensors[name] = array.reshape(-1)[:-1]
    elif change == 2:
        tensors[name] = array.astype(np.float64 if array.dtype != np.float64 else np.int8)
    elif change == 3:
        tensors[name] = array[None]


NAMES = ("nlm", "linear", "hgn", "mlp", "integers")


@pytest.fixture(scope="module")
def originals(task: Task, tmp_path_factory: pytest.TempPathFactory) -> dict[str, ModelFile]:
    found = {
        kind: untrained(kind, task, make_objective(name, **options)).file
        for kind, name, options in (
            ("nlm", "truncated-gaussian", {}),
            ("linear", "l-star", {}),
            ("hgn", "gaussian", {"sigma": 1.0}),
            ("mlp", "cea", {"values": (0, 1, 3)}),
        )
    }
    path = tmp_path_factory.mktemp("integers") / "learned.safetensors"
    learn(data_of("cube2", "corners:0,1"), path, OPTIONS)
    return found | {"integers": read_model(path)}


@pytest.fixture(scope="module")
def task() -> Task:
    return load_task(DATA / "strips" / "domain.pddl", DATA / "strips" / "problem.pddl")


def try_file(path: Path, task: Task) -> str:
    """How far a file gets: what refuses it, or "bound"."""
    stage = "read"
    try:
        file = read_model(path)
        stage = "load"
        heuristic = load_model(path)
        stage = "bind"
        if file.metadata["form"] == "integers":
            space = make_puzzle(file.metadata["features"]["config"]["layout"]["space"])
            getattr(heuristic, "on_puzzle", heuristic.bind)(space)
        else:
            heuristic.bind(task)
    except ModelFileError as error:
        assert error.path == str(path)
        return stage
    return "bound"


@pytest.mark.parametrize("name", NAMES)
def test_a_forged_file_loads_or_is_refused(
    name: str, originals: dict[str, ModelFile], task: Task, tmp_path: Path
) -> None:
    """Nothing but ModelFileError ever comes out, whatever the metadata say."""
    metadata, tensors = originals[name].metadata, originals[name].tensors
    path = tmp_path / "m.safetensors"
    path.write_bytes(to_bytes(originals[name]))
    assert try_file(path, task) == "bound"  # or the digest of the forgeries would be wrong, too
    rng = random.Random(name)
    outcomes = set()
    for number in range(FORGERIES):
        changed, arrays = copy.deepcopy(metadata), dict(tensors)
        forge(rng, changed, arrays)
        path.write_bytes(to_bytes(ModelFile(changed, arrays)))
        try:
            outcomes.add(try_file(path, task))
        except Exception as error:
            raise AssertionError(f"forgery {number}: {json.dumps(changed)}") from error
    assert {"bound", "read"} <= outcomes


SEARCH = {
    **{"algorithm": "lazy", "heuristic": "ff", "cost": "one", "preferred_by": "ff", "batch": 32},
    **{"seed": 0, "queues": [[0, False], [0, True]], "max_expansions": 100},
    "alternating": [{"algorithm": "default"}, {"algorithm": "first-improvement", "ranked": False}],
}
MUTANT_SECONDS = 4.0  # for the mutants of each file


def routes(held: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The keys that lead to every field."""
    for key in held if isinstance(held, dict) else range(len(held)):
        yield (*above, key)
        if isinstance(held[key], (dict, list)):
            yield from routes(held[key], (*above, key))


def mutants(metadata: dict[str, Any], rng: random.Random) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Each field of the metadata in turn has each odd value, or is gone, in random order."""
    whole = {key: value for key, value in metadata.items() if key != "training"}
    gone = object()
    changes = [(route, value) for route in routes(whole) for value in (*ODD_VALUES, gone)]
    rng.shuffle(changes)
    for route, value in changes:
        changed = copy.deepcopy(metadata)
        container = changed
        for key in route[:-1]:
            container = container[key]
        if value is gone:
            del container[route[-1]]
        else:
            container[route[-1]] = copy.deepcopy(value)
        yield (route, "gone" if value is gone else value), changed


def refuse_or_run(name: str, original: ModelFile, path: Path, seconds: float) -> None:
    """Every command that reads a mutant ends as commands do, and not as a bug."""
    metadata, tensors = original.metadata, original.tensors
    pdb = metadata["form"] == "integers"
    if not pdb:
        metadata = {**metadata, "search": SEARCH}
    strips = [str(DATA / "strips" / f"{one}.pddl") for one in ("domain", "problem")]
    few, output = ["--max-expansions", "20"], ["--plan-file", str(path.with_name("plan"))]
    use = ["plan", *strips, "-H", str(path), *few, *output]
    if pdb:
        use = ["solve", "cube2", "--scramble", "2", "-H", f"pdb:{path}", "-s", "gbfs", *few]
    codes, started = set(), time.monotonic()
    for change, changed in mutants(metadata, random.Random(name)):
        path.write_bytes(to_bytes(ModelFile(changed, dict(tensors))))
        for command in (use, ["model", "show", str(path)], ["pdb", "show", str(path)]):
            codes.add(run_cli(command))
            assert codes <= {0, 12, 31, 36}, (command[:2], change)
        if time.monotonic() - started > seconds:
            break
    assert codes >= {0, 31}


@pytest.mark.parametrize("name", NAMES)
def test_a_mutant_is_refused_or_runs(
    name: str, originals: dict[str, ModelFile], tmp_path: Path
) -> None:
    refuse_or_run(name, originals[name], tmp_path / "m.safetensors", MUTANT_SECONDS)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_every_mutant_is_refused_or_runs(
    name: str, originals: dict[str, ModelFile], tmp_path: Path
) -> None:
    refuse_or_run(name, originals[name], tmp_path / "m.safetensors", math.inf)

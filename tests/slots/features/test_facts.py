"""Networks on facts: inputs by name, the core against torch, and steps against starting afresh."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_domains
import torch
from fact_reference import FactRows
from numpy.typing import NDArray
from random_tasks import random_task
from untrained_models import has_conditional_effects, random_walk, read_task, untrained, values

from hstar import _core
from hstar.domains import generate
from hstar.planning.task import Task, load_task
from hstar.slots.decode import DECODES
from hstar.slots.features.facts import FACTS, fact_rows
from hstar.slots.features.feature import SpaceStates
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import ModelFile, ModelFileError
from hstar.slots.models import MODELS
from hstar.slots.objectives import make_objective
from hstar.training.native import MlpOptions, train_mlp

PLAIN = {"hidden": 20, "width": 12, "blocks": 1, "norm": False, "output": "relu"}

DOMAIN = """(define (domain grid) (:requirements :typing) (:types cell)
 (:predicates (at ?c - cell) (visited ?c - cell) (next ?a ?b - cell))
 (:action move :parameters (?a ?b - cell) :precondition (and (at ?a) (next ?a ?b))
  :effect (and (not (at ?a)) (at ?b) (visited ?b))))"""


def grid(folder: Path, visited: str, goal: str = "abcd", cells: str = "abcd") -> Task:
    """A walk around a circle of cells; the first visited one is where it starts."""
    folder.mkdir(exist_ok=True)
    steps = [f"(next {a} {b})" for a, b in zip(cells, cells[1:] + cells[0], strict=True)]
    init = [f"(at {visited[0]})", *(f"(visited {c})" for c in visited), *steps]
    wanted = " ".join(f"(visited {c})" for c in goal)
    problem = f"""(define (problem walk) (:domain grid) (:objects {" ".join(cells)} - cell)
     (:init {" ".join(init)}) (:goal (and {wanted})))"""
    return read_task(folder, DOMAIN, problem)


def names_of(task: Task, state: NDArray[np.int32], initial: set[str]) -> set[str]:
    """What is true in a state: its atoms, and those of the initial state that never change."""
    return set(task.atoms(state)) | (initial - set(task.core.positive_atoms()))


def plain_model(task: Task, seed: int = 0, **options: Any) -> LearnedHeuristic:
    chosen = {**PLAIN, **options}
    objective = make_objective("l-gbfs", base=chosen.pop("base", "none"))
    return untrained("mlp", task, objective, seed=seed, features="facts", **chosen)


def test_inputs_are_the_positive_atoms_by_name(tmp_path: Path) -> None:
    domain, problem = small_domains.blocks(random.Random(2))
    task = read_task(tmp_path, domain, problem)
    config = FACTS.configure([task], {}, "one")
    assert config["atoms"] == sorted(config["atoms"]) and len(config["atoms"]) == config["width"]
    assert not any(name.startswith(("not ", "<")) for name in config["atoms"])
    assert json.loads(json.dumps(config)) == config
    states = random_walk(task, random.Random(1), 20)
    dense = FACTS.encoder(config, task)(states)
    for row, state in zip(dense, states, strict=True):
        assert {config["atoms"][i] for i in np.flatnonzero(row)} == set(task.atoms(state))
    inputs = FACTS.inputs(config, [SpaceStates(task, states)])
    assert np.array_equal(inputs.select(np.array([3, 1])), dense[[3, 1]])


def test_atoms_that_grounding_drops_keep_their_inputs(tmp_path: Path) -> None:
    """A cell that is visited at first is no fact of that problem, but it is true."""
    trained = [grid(tmp_path / "1", "a"), grid(tmp_path / "2", "b")]
    config = FACTS.configure(trained, {}, "one")
    assert {"visited(a)", "visited(b)", "at(a)"} <= set(config["atoms"])
    other = grid(tmp_path / "3", "cab")
    constant = fact_rows(config, other)[1]
    assert [config["atoms"][row] for row in constant] == ["visited(a)", "visited(b)", "visited(c)"]
    initial = {f"visited({c})" for c in "abc"}
    states = random_walk(other, random.Random(0), 6)
    for dense, state in zip(FACTS.encoder(config, other)(states), states, strict=True):
        true = {config["atoms"][i] for i in np.flatnonzero(dense)}
        assert true == names_of(other, state, initial) & set(config["atoms"])
    model = plain_model(trained[0])
    known = FACTS.configure(trained[:1], {}, "one")
    assert len(fact_rows(known, other)[1]) == 2
    torch_values = model._in_torch(other)(states)
    assert np.abs(values(model, other, states) - torch_values).max() < 1e-4
    assert "visited(a)" not in known["atoms"]


def test_another_goal_or_other_objects_are_refused(tmp_path: Path) -> None:
    task = grid(tmp_path / "1", "a")
    model = plain_model(task)
    model.bind(grid(tmp_path / "2", "bc"))
    model.bind(grid(tmp_path / "3", "b", goal="dcba"))  # the same in another order
    for other, message in (
        (grid(tmp_path / "4", "a", goal="abc"), r"has another goal: '\(and .*; train a model"),
        (grid(tmp_path / "5", "a", cells="abcde"), "has the object 'e - cell'; train a model"),
        (grid(tmp_path / "6", "a", goal="abc", cells="abc"), "lacks the object 'd - cell'"),
    ):
        with pytest.raises(ModelFileError, match=message):
            model.bind(other)
        with pytest.raises(ValueError, match="of several problems; choose features"):
            FACTS.configure([task, other], {}, "one")


def cases(folder: Path) -> list[Task]:
    """Tasks with and without conditional effects, negated facts and none-of-those values."""
    found = []
    for seed in range(60):
        text = random_task(seed)
        (folder / str(seed)).mkdir()
        task = read_task(folder / str(seed), text.domain, text.problem)
        if any(task.core.positive_atoms()) and task.num_operators:
            found.append(task)
    for number, make in enumerate(small_domains.ALL.values()):
        (folder / f"small{number}").mkdir()
        found.append(read_task(folder / f"small{number}", *make(random.Random(number))))
    return found


def test_the_core_agrees_with_torch_and_steps_agree_with_starting_afresh(tmp_path: Path) -> None:
    conditional = 0
    for number, task in enumerate(cases(tmp_path)):
        precision = "int16" if number % 4 == 1 else "float32"
        model = plain_model(task, number, base="ff" if number % 5 == 0 else "none",
                            norm=number % 3 == 0, output="relu" if number % 2 else "none",
                            hidden=17 + number, precision=precision)  # fmt: skip
        states = random_walk(task, random.Random(number), 25)
        found = values(model, task, states)
        expected = model._in_torch(task)(states)
        finite = np.isfinite(expected)
        assert np.array_equal(np.isfinite(found), finite)
        scale = 1 + np.abs(expected[finite])
        most = 1e-4 if precision == "float32" else 1e-2
        assert (np.abs(found[finite] - expected[finite]) / scale).max(initial=0) < most
        afresh = np.concatenate([values(model, task, state[None]) for state in states])
        assert afresh.tobytes() == found.tobytes()

        def slow(batch: NDArray[np.int32], task: Task = task, model: Any = model) -> Any:
            return np.concatenate([values(model, task, state[None]) for state in batch])

        for batch in (1, 5):
            options = _core.SearchOptions()
            options.max_evaluations = 60
            options.batch = batch
            results = [
                _core.search_in_turns(task.core, None, [([heuristic], options)], [1.0], 0.0, 0)[1][
                    0
                ]
                for heuristic in (model.bind(task), slow)
            ]
            for key in ("plan", "evaluated", "expanded", "generated", "initial_h"):
                assert results[0][key] == results[1][key]
        conditional += has_conditional_effects(task)
    assert conditional >= 10


def test_values_rounded_down(tmp_path: Path) -> None:
    task = read_task(tmp_path, *small_domains.logistics(random.Random(4)))
    states = random_walk(task, random.Random(4), 30)
    for base in ("none", "ff"):
        model = plain_model(task, base=base)
        real = values(model, task, states)
        rounded = LearnedHeuristic(model.file, model.path, "floor")
        assert values(rounded, task, states).tolist() == np.floor(real).tolist()
        assert values(rounded, task, states).tolist() == rounded._in_torch(task)(states).tolist()
    half = torch.tensor([[2.75], [0.0]])
    base = torch.tensor([1.5, 0.0])
    assert DECODES.find("floor").value(half, base, base, {}).tolist() == [4.0, 0.0]


def test_every_kernel_input_is_checked(tmp_path: Path) -> None:
    task = grid(tmp_path, "a")
    model = plain_model(task)
    config = model.metadata["features"]["config"]
    spec = {
        **model.specification(),
        **MODELS.find("mlp").native(model.metadata["model"]["config"], model.file.tensors),
        **FACTS.native(config, task),
    }
    _core.Heuristic.learned(task.core, spec)
    rows, layers = np.asarray(spec["rows"]), spec["layers"]
    weight, bias, activation, skip = layers[0]
    broken = weight.copy()
    broken[0, 0] = np.inf
    changes: list[dict[str, Any]] = [
        {"rows": rows[:-1]},
        {"rows": rows + config["width"]},
        {"rows": rows - 2},
        {"constant": np.array([config["width"]], dtype=np.int32)},
        {"constant": np.array([-1], dtype=np.int32)},
        {"layers": layers[:1]},
        {"layers": []},
        {"layers": [(weight[:, :-1].copy(), bias, activation, skip), *layers[1:]]},
        {"layers": [(broken, bias, activation, skip), *layers[1:]]},
        {"layers": [layers[0], (*layers[1][:3], True), *layers[2:]]},
        {"precision": "int4"},
        {"precision": 16},
    ]
    narrow = {"precision": "int16"}
    changes += [change | narrow for change in changes if "layers" in change]
    changes += [{"layers": [(weight, bias, "none", skip), *layers[1:]]} | narrow]
    for change in changes:
        with pytest.raises(ValueError, match=r"\w+"):
            _core.Heuristic.learned(task.core, spec | change)
    for key in ("rows", "constant"):
        with pytest.raises(ValueError, match=key):
            _core.Heuristic.learned(task.core, {k: v for k, v in spec.items() if k != key})


def test_large_weights_do_not_overflow(tmp_path: Path) -> None:
    """The unit of the first layer's whole numbers grows with the weights."""
    task = grid(tmp_path, "a")
    model = plain_model(task)
    states = random_walk(task, random.Random(0), 8)
    for factor in (1e-6, 1e6, 1e20):
        tensors = {
            name: (tensor * np.float32(factor if name.startswith("layers.0") else 1))
            for name, tensor in model.file.tensors.items()
        }
        scaled = LearnedHeuristic(ModelFile(model.file.metadata, tensors), model.path)
        found, expected = values(scaled, task, states), scaled._in_torch(task)(states)
        assert (np.abs(found - expected) / (1 + np.abs(expected))).max() < 1e-4


def test_options_of_the_network(tmp_path: Path) -> None:
    task = grid(tmp_path, "a")
    config = FACTS.configure([task], {}, "one")
    model = MODELS.find("mlp")
    for wrong, message in (
        ({"norm": "no"}, "'norm' must be true or false"),
        ({"output": "softmax"}, "unknown output 'softmax'; choose none, relu"),
        ({"precision": "int4"}, "unknown precision 'int4'; choose float32, int16"),
    ):
        with pytest.raises(ValueError, match=message):
            model.configure(config, 1, {**model.options, **wrong})
    with pytest.raises(ValueError, match="2 outputs; take output none"):
        model.configure(config, 2, {**model.options, "output": "relu"})
    with pytest.raises(ValueError, match="precision int16 is for features facts"):
        model.configure({"width": 4}, 1, {**model.options, "precision": "int16"})
    held = plain_model(task, norm=True, output="none")
    shape = held.metadata["model"]["config"]
    old = {key: value for key, value in shape.items() if key not in ("norm", "output", "precision")}
    metadata = {**held.metadata, "model": {"name": "mlp", "config": old}}
    states = random_walk(task, random.Random(0), 8)
    older = LearnedHeuristic(ModelFile(metadata, held.file.tensors), held.path)
    assert values(older, task, states).tolist() == values(held, task, states).tolist()
    assert older._in_torch(task)(states).tolist() == held._in_torch(task)(states).tolist()


def test_16_bits_choose_the_same_successor(tmp_path: Path) -> None:
    """As those of single precision, of a network that was trained, in 99 of 100 expansions."""
    generate("blocksworld", tmp_path, ["train"], count=1, ranges={"blocks": [8]})
    folder = tmp_path / "train"
    problem = next(path for path in folder.glob("*.pddl") if path.stem != "domain")
    task = load_task(folder / "domain.pddl", problem)
    config = FACTS.configure([task], {}, "one")
    states = random_walk(task, random.Random(0), 3000)
    h = _core.Heuristic(task.core, "ff", "one").evaluate(states)
    missing = np.full_like(h, np.nan)
    inputs = FACTS.inputs(config, [SpaceStates(task, states)])
    rows = FactRows(config["width"], inputs.starts, inputs.columns, h, missing, missing)
    options = MlpOptions(hidden=64, width=64, learning_rate=1e-3, epochs=12)
    trained = train_mlp(rows.native(), config["width"], options, 0)
    assert trained.best is not None and trained.best["validation"] < 0.2 * float(h.var())
    spec = {
        **plain_model(task).specification(),
        **{"model": "mlp", "layers": trained.layers, **FACTS.native(config, task)},
    }
    groups = [task.successors(state)[1] for state in states[::5]]
    exact, narrow = (
        _core.Heuristic.learned(task.core, spec | {"precision": precision})
        for precision in ("float32", "int16")
    )
    same = 0
    for children in groups:
        found = exact.evaluate(children)
        same += found[narrow.evaluate(children).argmin()] == found.min()
    assert same >= 0.99 * len(groups)


def test_thousands_of_facts_are_named_by_one_call(tmp_path: Path) -> None:
    generate("sliding-tiles", tmp_path, ["train"], count=1, ranges={"rows": [4], "columns": [4]})
    folder = tmp_path / "train"
    problem = next(path for path in folder.glob("*.pddl") if path.stem != "domain")
    task = load_task(folder / "domain.pddl", problem)
    names = task.core.positive_atoms()
    expected = [task.core.atom_name(fact) for fact in range(task.num_facts)]
    assert names == ["" if n.startswith(("not ", "<")) else n for n in expected]
    known = [name for name in names if name]
    assert len(set(known)) == len(known)

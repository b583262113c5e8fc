"""Weisfeiler-Leman features: the definition, following states, names, and models on them."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_domains
from label_folders import generated as label_folder
from numpy.typing import NDArray
from random_tasks import random_task
from small_trainings import LABELLING, options
from untrained_models import has_conditional_effects, random_walk, read_task, untrained, values
from wl_oracle import Graph, goal_orders

from hstar import _core
from hstar.domains import DOMAINS, generate
from hstar.planning.task import Task, load_task
from hstar.slots.features.feature import SpaceStates
from hstar.slots.features.wl import WL, colour_counts
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import ModelFile, ModelFileError
from hstar.slots.models import MODELS
from hstar.slots.objectives import make_objective
from hstar.slots.teachers import label
from hstar.training.dataset import load_dataset
from hstar.training.train import prepare

States = NDArray[np.int32]
KINDS = [
    (hash, statics, orders)
    for hash in ("set", "multiset")
    for statics in (False, True)
    for orders in (False, True)
]


def config_of(
    task: Task, rounds: int, hash: str = "set", statics: bool = False, orders: bool = False
) -> dict[str, Any]:
    options = {"rounds": rounds, "hash": hash, "statics": statics, "orders": orders}
    return WL.configure([task], options, "one")


def generated(folder: Path, domain: str) -> Task:
    generate(domain, folder, ["train"], count=1)
    problems = sorted(p for p in (folder / "train").glob("*.pddl") if p.stem != "domain")
    return load_task(folder / "train" / "domain.pddl", problems[0])


def compare(
    task: Task, states: States, rounds: int, hash: str, statics: bool, orders: bool
) -> None:
    """The hashes tell colours apart as the tuples do, and count them alike."""
    graph = Graph(task, rounds, hash, statics, orders)
    config = config_of(task, rounds, hash, statics, orders)
    starts, colours, counts = colour_counts(config, task, states)
    totals: Counter[int] = Counter()
    expected: Counter[Any] = Counter()
    for s, state in enumerate(states):
        part = slice(starts[s], starts[s + 1])
        found = graph.counts(state)
        assert sorted(counts[part].tolist()) == sorted(found.values())
        assert (np.diff(colours[part].astype(object)) > 0).all()
        # States have the same colours in common.
        for colour, count in zip(colours[part].tolist(), counts[part].tolist(), strict=True):
            totals[colour] += count * (s + 1) ** 2
        for key, count in found.items():
            expected[key] += count * (s + 1) ** 2
    assert sorted(totals.values()) == sorted(expected.values())


def random_tasks(folder: Path, count: int) -> Iterator[Task]:
    for seed in range(count):
        text = random_task(seed)
        (folder / str(seed)).mkdir()
        yield read_task(folder / str(seed), text.domain, text.problem)


def test_colours_of_random_tasks_are_those_of_the_definition(tmp_path: Path) -> None:
    negative = constants = ordered = 0
    for number, task in enumerate(random_tasks(tmp_path, 120)):
        states = random_walk(task, random.Random(number), 12)
        compare(task, states, number % 5, *KINDS[number % 8])
        negative += not all(Graph(task, 0, "set", False).goals.values())
        constants += bool(task.problem.domain.constants)
        ordered += number % 2 and bool(goal_orders(task))
    assert negative >= 5 and constants >= 20 and ordered >= 2


@pytest.mark.parametrize("domain", DOMAINS)
def test_colours_of_every_domain_are_those_of_the_definition(domain: str, tmp_path: Path) -> None:
    task = generated(tmp_path, domain)
    states = random_walk(task, random.Random(1), 10)
    for rounds in range(5):
        for kind in KINDS:
            compare(task, states, rounds, *kind)


def from_scratch(config: dict[str, Any], task: Task, states: States) -> NDArray[np.int32]:
    """Counts by a new follower for each state."""
    spec = WL.native(config, task)
    return np.concatenate(
        [_core.WlFeatures(task.core, spec).counts(state[None]) for state in states]
    )


def without_a_third(config: dict[str, Any]) -> dict[str, Any]:
    """A configuration that lacks every third of its colours."""
    colours = [c for i, c in enumerate(config["colours"]) if i % 3]
    return {**config, "colours": colours, "width": len(colours)}


def weighted(task: Task, config: dict[str, Any], kind: str = "linear", seed: int = 0) -> Any:
    """A model with random weights on these features."""
    held = untrained(kind, task, make_objective("l-gbfs", base="none"), features="wl", seed=seed)
    model = MODELS.find(kind)
    shape = {**held.metadata["model"]["config"], "inputs": config["width"]}
    rng = np.random.default_rng(seed)
    first = "weight" if kind == "linear" else "layers.0.dense.weight"
    outputs = len(held.file.tensors[first])
    drawn = rng.normal(size=(outputs, config["width"])).astype(np.float32)
    metadata = {
        **held.metadata,
        "features": {"name": "wl", "config": config},
        "model": {"name": model.name, "config": shape},
    }
    tensors = {**held.file.tensors, first: drawn}
    return LearnedHeuristic(ModelFile(json.loads(json.dumps(metadata)), tensors), held.path)


def searched_states(task: Task, config: dict[str, Any], evaluations: int) -> States:
    """Greedy search with values that follow states sees what it sees with values from scratch:
    these states."""
    model = weighted(task, config)
    seen: list[States] = []

    def slow(batch: States) -> Any:
        seen.append(batch.copy())
        return np.concatenate([values(model, task, state[None]) for state in batch])

    for batch in (1, 3):
        settings = _core.SearchOptions()
        settings.max_evaluations, settings.batch = evaluations, batch
        results = [
            _core.search_in_turns(task.core, None, [([heuristic], settings)], [1.0], 0.0, 0)[1][0]
            for heuristic in (model.bind(task), slow)
        ]
        for key in ("plan", "evaluated", "expanded", "generated", "initial_h"):
            assert results[0][key] == results[1][key]
    return np.concatenate(seen)


def plain_counts(config: dict[str, Any], task: Task, states: States) -> NDArray[np.int32]:
    """Counts of all colours by the definition, of which those that are features remain."""
    starts, colours, counts = colour_counts(config, task, states)
    number = {int(colour, 16): i for i, colour in enumerate(config["colours"])}
    found = np.zeros((len(states), config["width"]), dtype=np.int32)
    for s in range(len(states)):
        for i in range(starts[s], starts[s + 1]):
            if int(colours[i]) in number:
                found[s, number[int(colours[i])]] += counts[i]
    return found


def agrees_everywhere(
    task: Task,
    seed: int,
    rounds: int,
    hash: str,
    statics: bool,
    orders: bool,
    evaluations: int = 60,
) -> int:
    """On a random walk and on all states that a search evaluates. Returns how many these are."""
    states = random_walk(task, random.Random(seed), 20)
    config = config_of(task, rounds, hash, statics, orders)
    config = WL.fit(config, [SpaceStates(task, states[::2])])
    config = without_a_third(config)
    if config["width"]:
        states = np.concatenate([states, searched_states(task, config, evaluations)])
    expected = plain_counts(config, task, states)
    assert np.array_equal(from_scratch(config, task, states[:10]), expected[:10])
    assert np.array_equal(WL.encoder(config, task)(states), expected)
    return len(states)


def test_following_random_tasks_equals_starting_afresh(tmp_path: Path) -> None:
    conditional = 0
    for number, task in enumerate(random_tasks(tmp_path, 60)):
        agrees_everywhere(task, number, number % 5, *KINDS[number % 8])
        conditional += has_conditional_effects(task)
    assert conditional >= 10


@pytest.mark.parametrize("domain", ["blocksworld", "ferry", "satellite", "visitall", "logistics"])
def test_following_domains_equals_starting_afresh(domain: str, tmp_path: Path) -> None:
    task = generated(tmp_path, domain)
    for rounds in range(5):
        for kind in KINDS:
            agrees_everywhere(task, rounds, rounds, *kind)


def test_other_names_change_no_count(tmp_path: Path) -> None:
    """Predicates, actions, objects and constants with other names, in the same order."""
    domain, problem = small_domains.transport(random.Random(3))
    names = ["road", "lies", "room", "less", "drive", "pick", "drop"]
    renamed = [domain, problem]
    for number, name in enumerate(names):
        renamed = [text.replace(f"({name} ", f"(z{9 - number} ") for text in renamed]
        renamed = [text.replace(f":action {name} ", f":action z{9 - number} ") for text in renamed]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    task = read_task(tmp_path / "a", domain, problem)
    objects = sorted(task.problem.objects)
    for number, name in enumerate(objects):
        for end in (" ", ")"):
            renamed[1] = renamed[1].replace(f" {name}{end}", f" y{99 - number}{end}")
    other = read_task(tmp_path / "b", *renamed)
    assert not set(objects) & set(other.problem.objects)
    for kind in KINDS:
        config, again = (config_of(one, 3, *kind) for one in (task, other))
        assert config["colours"] == again["colours"]
        plan = [task.initial_state, *task.successors(task.initial_state)[1]]
        found = [other.initial_state, *other.successors(other.initial_state)[1]]
        states = colour_counts(config, task, np.stack(plan))
        others = colour_counts(again, other, np.stack(found))
        assert all(np.array_equal(a, b) for a, b in zip(states, others, strict=True))


DOMAIN = """(define (domain small) (:requirements :strips :negative-preconditions)
 {constants} (:predicates {predicates})
 (:action flip :parameters (?x) :precondition (p ?x) :effect (and (not (p ?x)) (q ?x)))
 (:action back :parameters (?x) :precondition (q ?x) :effect (and (p ?x) (not (q ?x)))))"""
PROBLEM = """(define (problem one) (:domain small) (:objects a b)
 (:init (p a) (q b) (p c) (p d)) (:goal (and (q a) (q c) (not (p b)))))"""


def ordered(folder: Path, predicates: str, constants: str) -> Task:
    folder.mkdir()
    text = DOMAIN.format(constants=f"(:constants {constants})", predicates=predicates)
    return read_task(folder, text, PROBLEM)


def test_another_order_in_the_domain_file_changes_no_value(tmp_path: Path) -> None:
    task = ordered(tmp_path / "1", "(p ?x) (q ?x)", "c d")
    other = ordered(tmp_path / "2", "(q ?x) (p ?x)", "d c")
    config = config_of(task, 2)
    assert config_of(other, 2)["colours"] != config["colours"]
    model = weighted(task, config)
    for one in (task, other):
        atoms = [set(one.atoms(state)) for state in random_walk(one, random.Random(0), 0)]
        assert atoms[0] >= {"p(a)", "q(b)"}
    assert values(model, task, task.initial_state[None]) == values(
        model, other, other.initial_state[None]
    )


def test_roles_of_atoms_and_constants(tmp_path: Path) -> None:
    """Without rounds: two plain objects, two constants, and each predicate in its roles."""
    task = ordered(tmp_path / "1", "(p ?x) (q ?x)", "c d")
    _, _, counts = colour_counts(config_of(task, 0), task, task.initial_state[None])
    graph = Graph(task, 0, "set", False).counts(task.initial_state)
    assert graph[("object", None)] == 2 and graph[("object", "c")] == 1
    assert graph[("q", False, True)] == 2  # unachieved goals
    assert graph[("p", False, False)] == 1  # an achieved negative goal
    assert sorted(counts.tolist()) == sorted(graph.values())


def test_the_core_agrees_with_torch(tmp_path: Path) -> None:
    for number, task in enumerate(random_tasks(tmp_path, 20)):
        states = random_walk(task, random.Random(number), 15)
        for kind in ("linear", "mlp"):
            config = WL.fit(config_of(task, number % 4), [SpaceStates(task, states[:8])])
            model = weighted(task, config, kind, number)
            bound: Any = model.bind(task)
            found, expected = bound.evaluate(states), model._in_torch(task)(states)
            assert bound.seconds_spent > 0
            scale = 1 + np.abs(expected)
            assert (np.abs(found - expected) / scale).max() < 1e-4
            afresh = np.concatenate([values(model, task, state[None]) for state in states])
            assert afresh.tobytes() == found.tobytes()


def test_large_and_small_weights(tmp_path: Path) -> None:
    task = ordered(tmp_path / "1", "(p ?x) (q ?x)", "c d")
    states = random_walk(task, random.Random(0), 8)
    model = weighted(task, config_of(task, 2))
    for factor in (0.0, 1e-30, 1e6, 1e30):
        tensors = {name: tensor * np.float32(factor) for name, tensor in model.file.tensors.items()}
        scaled = LearnedHeuristic(ModelFile(model.file.metadata, tensors), model.path)
        found, expected = values(scaled, task, states), scaled._in_torch(task)(states)
        assert np.allclose(found, expected, rtol=1e-4, atol=1e-4 * factor)


def test_colours_are_those_of_the_states_that_training_sees(tmp_path: Path) -> None:
    """With pairs these are the neighbours of plans, too."""
    label(label_folder(tmp_path, "3-4", 4), tmp_path / "labels.parquet", LABELLING)
    data = load_dataset(tmp_path / "labels.parquet")
    seen = [SpaceStates(labelled.task, labelled.states) for labelled in data.tasks]
    known = {}
    for objective in ("squared", "l-gbfs"):
        chosen = options("linear", make_objective(objective), features="wl")
        known[objective] = prepare(data, data, chosen).about["features"][1]
    expected = WL.fit(config_of(data.tasks[0].task, **WL.options), seen)
    assert known["squared"] == expected
    assert set(known["l-gbfs"]["colours"]) > set(expected["colours"])
    rows = np.random.default_rng(0).integers(len(data), size=20)
    dense = [WL.encoder(expected, one.space)(one.states) for one in seen]
    assert np.array_equal(WL.inputs(expected, seen).select(rows), np.concatenate(dense)[rows])


def test_configuration(tmp_path: Path) -> None:
    task = ordered(tmp_path / "1", "(p ?x) (q ?x)", "c d")
    config = config_of(task, 1)
    assert json.loads(json.dumps(config)) == config and config["width"] == len(config["colours"])
    assert config["colours"] == sorted(set(config["colours"]))
    walk = [SpaceStates(task, random_walk(task, random.Random(0), 20))]
    assert set(WL.fit(config, walk)["colours"]) > set(config["colours"])
    for wrong, message in (
        ({"rounds": 5}, "'rounds' must be a whole number from 0 to 4"),
        ({"rounds": True}, "'rounds' must be"),
        ({"hash": "bag"}, "unknown hash 'bag'; choose set, multiset"),
        ({"statics": 1}, "'statics' must be true or false"),
    ):
        with pytest.raises(ValueError, match=message):
            WL.configure([task], {**WL.options, **wrong}, "one")


def test_other_domains_are_refused(tmp_path: Path) -> None:
    task = ordered(tmp_path / "1", "(p ?x) (q ?x)", "c d")
    model = weighted(task, config_of(task, 1))
    for other, message in (
        (ordered(tmp_path / "2", "(p ?x) (q ?x) (r)", "c d"), "has the predicate 'r', which"),
        (ordered(tmp_path / "3", "(p ?x) (q ?x)", "c d e"), "has the constant 'e', which"),
    ):
        with pytest.raises(ModelFileError, match=message):
            model.bind(other)
        with pytest.raises(ModelFileError, match=message.replace("has", "lacks")):
            weighted(other, config_of(other, 1)).bind(task)


def test_every_input_of_the_core_is_checked(tmp_path: Path) -> None:
    task = ordered(tmp_path / "1", "(p ?x) (q ?x)", "c d")
    model = weighted(task, config_of(task, 1))
    spec = {
        **model.specification(),
        **MODELS.find("linear").native(model.metadata["model"]["config"], model.file.tensors),
        **WL.native(model.metadata["features"]["config"], task),
    }
    spec["colours"] = np.asarray(spec["colours"])
    _core.Heuristic.learned(task.core, spec)
    weight, bias, activation, skip = spec["layers"][0]
    infinite = weight.copy()
    infinite[0, 0] = np.inf
    changes: list[dict[str, Any]] = [
        {"rounds": 5},
        {"rounds": -1},
        {"hash": "bag"},
        {"statics": "yes"},
        {"predicates": [0]},
        {"predicates": [0, 0]},
        {"predicates": [1, 2]},
        {"constants": [4]},
        {"constants": [-1]},
        {"colours": spec["colours"][:-1]},
        {"colours": np.zeros_like(spec["colours"])},
        {"colours": spec["colours"].reshape(1, -1)},
        {"layers": []},
        {"layers": [(infinite, bias, activation, skip)]},
        {"layers": [(weight[:, :-1].copy(), bias, activation, skip)]},
    ]
    for change in changes:
        with pytest.raises(ValueError, match=r"\w+"):
            _core.Heuristic.learned(task.core, spec | change)
    for key in ("rounds", "hash", "statics", "predicates", "constants", "colours"):
        with pytest.raises(ValueError, match=key):
            _core.WlFeatures(task.core, {k: v for k, v in spec.items() if k != key})
    features = _core.WlFeatures(task.core, spec)
    for wrong in (np.full((1, task.num_variables), 99, np.int32), np.zeros((1, 99), np.int32)):
        for method in (features.counts, features.collect):
            with pytest.raises(ValueError, match="state"):
                method(wrong)
    assert features.counts(np.zeros((0, task.num_variables), np.int32)).shape == (0, len(weight[0]))

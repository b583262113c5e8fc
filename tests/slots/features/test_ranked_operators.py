"""Colours of operators against their definition, and searches that try the best operators first."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from linear_lessons import from_plans, linear_model, optimal_plan, plain_choices
from test_wl import KINDS, config_of, generated, random_tasks
from untrained_models import random_walk
from wl_oracle import Graph

from hstar import search
from hstar.domains import generate
from hstar.pddl.validate import validate
from hstar.planning.heuristics import bind_heuristic
from hstar.planning.specification import SearchSpecification
from hstar.planning.task import Task, load_task
from hstar.slots.features.wl import operator_colours
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import ModelFile, ModelFileError

FEATURES = {"rounds": 2, "orders": True}


def named_operators(task: Task, state: Any) -> list[int]:
    ops = task.successors(state)[0].tolist()
    return [op for op in ops if not task.core.is_artificial(op)]


def colours_of(config: dict[str, Any], task: Task, states: Any, ops: Any) -> Any:
    return operator_colours(config, task, states, ops, actions_of(task))


def actions_of(task: Task) -> list[str]:
    return [action.name for action in task.problem.domain.actions]


def compare(task: Task, states: Any, rounds: int, hash: str, statics: bool, orders: bool) -> int:
    """Equal colours are equal by the definition, and different ones different. Returns how many
    operators were seen."""
    graph = Graph(task, rounds, hash, statics, orders)
    config = config_of(task, rounds, hash, statics, orders)
    meaning: dict[int, Any] = {}
    count = 0
    for state in states:
        ops = named_operators(task, state)
        if not ops:
            continue
        found = colours_of(config, task, np.stack([state] * len(ops)), np.array(ops))
        assert found.shape == (len(ops), rounds + 2)
        for op, colours in zip(ops, found.tolist(), strict=True):
            expected = graph.operator_colours(state, task.operator_name(op))
            for colour, definition in zip(colours, expected, strict=True):
                assert meaning.setdefault(colour, definition) == definition
        count += len(ops)
    assert len(set(meaning.values())) == len(meaning)
    return count


def test_colours_of_operators_of_random_tasks(tmp_path: Path) -> None:
    seen = 0
    for number, task in enumerate(random_tasks(tmp_path, 60)):
        states = random_walk(task, random.Random(number), 8)
        seen += compare(task, states, number % 5, *KINDS[number % 8])
    assert seen > 500


@pytest.mark.parametrize("domain", ["blocksworld", "ferry", "logistics", "satellite", "visitall"])
def test_colours_of_operators_of_domains(domain: str, tmp_path: Path) -> None:
    task = generated(tmp_path, domain)
    states = random_walk(task, random.Random(2), 6)
    for rounds in range(5):
        for kind in KINDS:
            assert compare(task, states, rounds, *kind)


def learned(task: Task, features: dict[str, Any] = FEATURES) -> LearnedHeuristic:
    return LearnedHeuristic(linear_model(from_plans([task]), features), "learned")


@pytest.mark.parametrize("domain", ["blocksworld", "ferry", "gripper", "logistics"])
def test_the_ranking_prefers_the_steps_of_the_plan(domain: str, tmp_path: Path) -> None:
    """On the problem that it was learned from, operators of the plan come before others, unless
    those look the same, or are as good."""
    task = generated(tmp_path, domain)
    choices = plain_choices(task, optimal_plan(task))
    model = learned(task)
    described, weights = model.metadata["operators"], model.file.tensors["operators"]
    value = dict(zip((int(c, 16) for c in described["colours"]), weights.tolist(), strict=True))
    config = model.metadata["features"]["config"]
    rows, better, worse = choices.steps.T
    assert len(rows) >= 3
    colours = [colours_of(config, task, choices.states[rows], ops) for ops in (better, worse)]
    sums = [np.array([sum(value.get(c, 0.0) for c in one) for one in c.tolist()]) for c in colours]
    differ = (colours[0] != colours[1]).any(axis=1)
    assert (sums[0] < sums[1])[differ].mean() > 0.9


@pytest.mark.parametrize("domain", ["blocksworld", "ferry", "gripper", "visitall"])
@pytest.mark.parametrize("algorithm", ["first-improvement", "lazy"])
def test_ranked_searches_find_plans(domain: str, algorithm: str, tmp_path: Path) -> None:
    task = generated(tmp_path, domain)
    model = learned(task)
    options: Any = {"preferred": False} if algorithm == "lazy" else {}
    found = search(task, model, algorithm, ranked=True, **options)
    steps = [tuple(step[1:-1].split()) for step in found.plan]
    assert validate(task.problem, steps).valid
    again = search(task, model, algorithm, ranked=True, **options)
    assert (again.plan, again.evaluated) == (found.plan, found.evaluated)
    plain = search(task, model, algorithm, **options)
    assert plain.plan is not None


def reached_first(task: Task, model: LearnedHeuristic, algorithm: str) -> list[Any]:
    """The states that a search with this ranking evaluates first, after the initial one."""
    seen: list[Any] = []

    def watch(batch: Any) -> Any:
        seen.extend(batch.copy())
        return np.zeros(len(batch))

    options: Any = {"preferred": False} if algorithm == "lazy" else {}
    search(task, [model, watch], algorithm, ranked=True, max_expansions=2, **options)
    return seen[1:]


@pytest.mark.parametrize("algorithm", ["first-improvement", "lazy"])
def test_operators_are_tried_in_the_order_of_their_ranks(algorithm: str, tmp_path: Path) -> None:
    """All states have the same value, so a search begins with the best operator of the initial
    state; first-improvement evaluates four at once."""
    generate("gripper", tmp_path, ["train"], count=1, ranges={"balls": [6]})
    problem = next((tmp_path / "train").glob("balls*.pddl"))
    task = load_task(tmp_path / "train" / "domain.pddl", problem)
    model = learned(task)
    tensors = {**model.file.tensors, "weight": np.zeros_like(model.file.tensors["weight"])}
    config = model.metadata["features"]["config"]
    ops, successors = task.successors(task.initial_state)
    colours = colours_of(config, task, np.stack([task.initial_state] * len(ops)), ops)
    known = [int(c, 16) for c in model.metadata["operators"]["colours"]]
    orders = set()
    for seed in range(8):
        drawn = np.random.default_rng(seed).permutation(len(known)).astype(np.float32)
        file = ModelFile(model.metadata, {**tensors, "operators": drawn})
        value = dict(zip(known, drawn.tolist(), strict=True))
        ranks = [sum(value.get(c, 0.0) for c in row) for row in colours.tolist()]
        order = np.argsort(ranks, kind="stable").tolist()
        found = reached_first(task, LearnedHeuristic(file, "learned"), algorithm)
        for place, state in zip(
            order[: 4 if algorithm == "first-improvement" else 1], found, strict=False
        ):
            assert np.array_equal(state, successors[place])
        orders.add(order[0])
    assert len(orders) > 1


def test_the_file_keeps_the_ranking_and_other_orders_of_actions(tmp_path: Path) -> None:
    from hstar.slots.model_file import from_bytes, to_bytes

    task = generated(tmp_path, "blocksworld")
    model = learned(task)
    kept = LearnedHeuristic(from_bytes(to_bytes(model.file), "x"), "x")
    assert kept.ranks_operators and kept.metadata == model.metadata
    # The same domain with its actions in another order is the same domain.
    domain = (tmp_path / "train" / "domain.pddl").read_text()
    start = domain.index("(:action")
    parts = ["(:action" + part for part in domain[start:].strip()[:-1].split("(:action")[1:]]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "domain.pddl").write_text(domain[:start] + "".join(parts[::-1]) + ")")
    other = load_task(tmp_path / "other" / "domain.pddl", task.problem.path)
    assert actions_of(other) == actions_of(task)[::-1]
    ranked, again = (
        search(one, model, "lazy", ranked=True, preferred=False).evaluated for one in (task, other)
    )
    assert ranked == again != search(task, model, "lazy", preferred=False).evaluated
    # Both may be learned from together.
    plan = optimal_plan(task)
    alone, both = (
        linear_model(from_plans(some, [plan] * len(some)), FEATURES)
        for some in ([task], [task, other])
    )
    assert alone.metadata["operators"] == both.metadata["operators"]


def test_models_without_a_ranking_are_refused(tmp_path: Path) -> None:
    task = generated(tmp_path, "ferry")
    model = learned(task)
    metadata = {key: value for key, value in model.metadata.items() if key != "operators"}
    plain = LearnedHeuristic(ModelFile(metadata, model.file.tensors), "plain")
    for heuristic in (plain, "ff"):
        with pytest.raises(ValueError, match="the heuristic ranks no operators; models of"):
            SearchSpecification(heuristic, "first-improvement", ranked=True)
    with pytest.raises(
        ValueError, match="gbfs does not take 'ranked'; choose first-improvement, lazy"
    ):
        SearchSpecification(model, "gbfs", ranked=True)
    with pytest.raises(ValueError, match="'ranked' must be true or false, not 1"):
        SearchSpecification(model, "first-improvement", ranked=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"actions": ["sail"]}, "malformed|cannot take"),
        ({"actions": ["sail", "board", "debark", "debark"]}, "permutation|malformed"),
        ({"colours": ["zz"]}, "invalid literal"),
        ({"colours": ["0123456789abcdef"]}, "needs one weight"),
    ],
)
def test_broken_rankings_are_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    task = generated(tmp_path, "ferry")
    model = learned(task)
    operators = {**model.metadata["operators"], **change}
    broken = ModelFile({**model.metadata, "operators": operators}, model.file.tensors)
    with pytest.raises(ModelFileError, match=message):
        bind_heuristic(LearnedHeuristic(broken, "broken"), task)
    for bad in (np.nan, np.inf):
        tensors = {**model.file.tensors, "operators": model.file.tensors["operators"] * bad}
        with pytest.raises(ModelFileError, match="must be finite"):
            bind_heuristic(LearnedHeuristic(ModelFile(model.metadata, tensors), "broken"), task)

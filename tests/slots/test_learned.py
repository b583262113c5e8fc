"""Learned heuristics in search: their values, and what search makes of them."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import small_domains
import torch
from small_trainings import TINY
from untrained_models import States, random_walk, read_task, untrained, values

from hstar import search
from hstar.pddl import UnsupportedPddlError
from hstar.pddl.validate import validate
from hstar.planning.algorithms import SEARCHES
from hstar.planning.heuristics import make_heuristic
from hstar.planning.task import Task
from hstar.slots.decode import DECODES
from hstar.slots.features.feature import SpaceStates
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.loader import load_model
from hstar.slots.model_file import ModelFileError, write_model
from hstar.slots.objectives import make_objective
from hstar.slots.objectives.likelihood import BASES, LOWER_BOUNDS, TruncatedGaussian
from hstar.training.source import on_device

pytestmark = pytest.mark.usefixtures("one_thread")
DECODES_OF_NUMBERS = ("value", "mean", "clip", "truncated-mean")

# Stepping onto thin ice breaks it, and some ways need it whole; tolls make costs differ.
ICE = """(define (domain ice) (:requirements :action-costs)
(:predicates (at ?x) (path ?x ?y) (thin ?x ?y) (whole)) (:functions (total-cost) (toll ?x))
(:action walk :parameters (?x ?y) :precondition (and (at ?x) (path ?x ?y))
  :effect (and (at ?y) (not (at ?x)) (increase (total-cost) 2)))
(:action slide :parameters (?x ?y) :precondition (and (at ?x) (thin ?x ?y))
  :effect (and (at ?y) (not (at ?x)) (not (whole)) (increase (total-cost) (toll ?y))))
(:action cross :parameters (?x ?y) :precondition (and (at ?x) (path ?y ?x) (whole))
  :effect (and (at ?y) (not (at ?x)) (increase (total-cost) 3))))
"""


def ice_problem(tolls: str = "5") -> str:
    edges = ["(path b a)", "(path c b)", "(path d c)", "(path a e)"]
    edges += ["(thin a c)", "(thin b d)", "(thin b e)"]
    init = ["(at a)", "(whole)", *edges, *(f"(= (toll {x}) {tolls})" for x in "abcde")]
    end = "(:metric minimize (total-cost))"
    return small_domains.problem_text("ice", "a b c d e", init, ["(at d)"], end)


def all_states(task: Task, limit: int = 500) -> States:
    found = {task.initial_state.tobytes(): task.initial_state}
    waiting = [task.initial_state]
    while waiting and len(found) < limit:
        for state in task.successors(waiting.pop())[1]:
            if state.tobytes() not in found:
                found[state.tobytes()] = state
                waiting.append(state)
    return np.stack(list(found.values()))


def outputs_of(heuristic: LearnedHeuristic, task: Task, states: States) -> torch.Tensor:
    """What the network of a model says, computed by its training code."""
    network = heuristic.network()
    config = heuristic.metadata["features"]["config"]
    inputs = heuristic.features.inputs(config, [SpaceStates(task, states)])
    with torch.no_grad():
        everything = on_device(inputs.select(np.arange(len(states))), torch.device("cpu"))
        result: torch.Tensor = network(everything)
    return result


@pytest.mark.parametrize("cost", ["one", "normal"])
@pytest.mark.parametrize("kind", TINY)
def test_values_are_the_decoded_outputs(kind: str, cost: str, tmp_path: Path) -> None:
    """For all bases, lower bounds, decodings and kinds of sigma, capped or not; and dead ends are
    infinite. One problem has dead ends, in the other some bases are far above the bounds."""
    icy = read_task(tmp_path, ICE, ice_problem())
    states = all_states(icy)
    assert 0 < np.isinf(make_heuristic(icy, "ff", cost).evaluate(states)).sum() < len(states)
    check_decoded_outputs(kind, cost, icy, states)
    rng = random.Random(3)
    blocks = read_task(tmp_path, *small_domains.blocks(rng))
    assert check_decoded_outputs(kind, cost, blocks, random_walk(blocks, rng, 12)) > 50


def check_decoded_outputs(kind: str, cost: str, task: Task, states: States) -> int:
    """Returns how often a cap made a difference."""
    symbolic = {
        name: make_heuristic(task, name, cost).evaluate(states) for name in (*BASES[1:], "blind")
    }
    symbolic["none"] = np.zeros(len(states), dtype=np.float32)
    lowered = 0
    for sigma, cap in itertools.product((None, 1.4), (None, 1.0, 1.15)):
        outputs = None
        for base, lower, decode in itertools.product(BASES, LOWER_BOUNDS, DECODES_OF_NUMBERS):
            objective = TruncatedGaussian(sigma, base, lower, 0.2, cap=None)
            if cap is not None and not objective.can_be_capped:
                continue
            objective = replace(objective, cap=cap)
            heuristic = untrained(kind, task, objective, cost)
            heuristic.decode = DECODES.find(decode)
            if outputs is None:
                outputs = outputs_of(heuristic, task, states)
            bounded = (cap or decode in ("clip", "truncated-mean")) and lower != "none"
            bound = symbolic[lower] if bounded else np.full(len(states), -np.inf, np.float32)
            dead = np.isinf(symbolic[base]) | (bound == np.inf)
            if kind in ("linear", "mlp"):
                dead |= np.isinf(symbolic["ff"])
            alive = torch.from_numpy(~dead)
            corrected = symbolic[base]
            if cap is not None:
                corrected = np.minimum(corrected, np.float32(cap) * bound)
            lowered += int((corrected < symbolic[base])[~dead].sum())
            symbols = (torch.from_numpy(column)[alive] for column in (corrected, bound))
            expected = np.full(len(states), np.inf, dtype=np.float32)
            expected[~dead] = DECODES.find(decode).value(
                outputs[alive], *symbols, objective.constants()
            )
            found = values(heuristic, task, states)
            message = f"{sigma} {cap} {base} {lower} {decode}"
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4, err_msg=message)
    return lowered


@pytest.mark.parametrize("kind", TINY)
def test_a_ranking_is_output_plus_base(kind: str, tmp_path: Path) -> None:
    task = read_task(tmp_path, *small_domains.blocks(random.Random(3)))
    states = random_walk(task, random.Random(0), 20)
    heuristic = untrained(kind, task, make_objective("l-star", base="hadd"))
    outputs = outputs_of(heuristic, task, states)
    assert outputs.shape == (len(states), 1)
    expected = outputs[:, 0].numpy() + make_heuristic(task, "hadd", "one").evaluate(states)
    np.testing.assert_allclose(values(heuristic, task, states), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("decode", ["clip", "truncated-mean"])
@pytest.mark.parametrize("kind", TINY)
def test_a_ranking_is_not_decoded_as_a_distribution(kind: str, decode: str, tmp_path: Path) -> None:
    """It has no scale, and its values are in no unit that a bound could be in."""
    task = read_task(tmp_path, *small_domains.blocks(random.Random(3)))
    ranking = untrained(kind, task, make_objective("l-gbfs", base="none"))
    write_model(tmp_path / "m.safetensors", ranking.file)
    with pytest.raises(
        ValueError, match="reads location-scale, but the model's outputs have the form value"
    ):
        load_model(tmp_path / "m.safetensors", decode)


@pytest.mark.parametrize("kind", TINY)
def test_a_model_of_unit_costs_ignores_the_costs_of_a_problem(kind: str, tmp_path: Path) -> None:
    """It was trained where every action costs 1, and that is how it must see any problem."""
    text = ice_problem()
    plain = read_task(tmp_path, ICE, text.replace("(:metric minimize (total-cost))", ""))
    priced = read_task(tmp_path, ICE, text)
    heuristic = untrained(kind, plain, make_objective("truncated-gaussian"), "one")
    found = values(heuristic, priced, all_states(priced))
    assert found.tolist() == values(heuristic, plain, all_states(plain)).tolist()


def test_an_unknown_decoding_is_refused(tmp_path: Path) -> None:
    task = read_task(tmp_path, ICE, ice_problem())
    write_model(
        tmp_path / "m.safetensors",
        untrained("nlm", task, make_objective("truncated-gaussian")).file,
    )
    assert load_model(tmp_path / "m.safetensors").decode.name == "truncated-mean"
    assert load_model(tmp_path / "m.safetensors", "clip").decode.name == "clip"
    with pytest.raises(ValueError, match="unknown decode 'median'"):
        load_model(tmp_path / "m.safetensors", "median")


# -- search


@pytest.mark.parametrize("algorithm", SEARCHES)
@pytest.mark.parametrize("kind", TINY)
def test_plans_found_with_learned_heuristics_are_valid(
    kind: str, algorithm: str, tmp_path: Path
) -> None:
    for name in ("blocks", "gripper", "briefcase"):
        task = read_task(tmp_path, *small_domains.ALL[name](random.Random(1)))
        heuristic = untrained(kind, task, make_objective("truncated-gaussian"))
        batch = {"batch": 3} if "batch" in SEARCHES[algorithm].options else {}
        result = search(task, heuristic, algorithm, **batch)
        assert result.solved, result.status
        steps = [tuple(step[1:-1].split()) for step in result.plan or ()]
        assert validate(task.problem, steps).valid
        assert result.plan_cost == len(steps) > 0


@pytest.mark.parametrize("kind", TINY)
def test_dead_ends_and_ends_that_are_there_already(kind: str, tmp_path: Path) -> None:
    problem = ice_problem().replace("(thin b d)", "")  # d can be reached over whole ice alone
    task = read_task(tmp_path, ICE, problem)
    heuristic = untrained(kind, task, make_objective("truncated-gaussian"))
    result = search(task, heuristic)
    assert result.solved
    assert result.deadends > 0
    solved = read_task(tmp_path, ICE, problem.replace("(at a)", "(at d)"))
    assert search(solved, heuristic).plan == []
    broken = read_task(tmp_path, ICE, problem.replace("(whole)", ""))
    # The search does not believe a function in torch that a dead end is one.
    assert search(broken, heuristic).status == (
        "gave up" if kind in ("hgn", "gnn") else "unsolvable"
    )


def test_decimal_costs_are_refused_where_costs_matter(tmp_path: Path) -> None:
    task = read_task(tmp_path, ICE, ice_problem("0.5"))
    assert search(task, untrained("nlm", task, make_objective("truncated-gaussian"), "one")).solved
    with pytest.raises(ModelFileError, match="the problem has decimal ones"):
        search(task, untrained("nlm", task, make_objective("truncated-gaussian"), "normal"))


def test_a_network_refuses_a_goal_it_cannot_see(tmp_path: Path) -> None:
    task = read_task(tmp_path, ICE, ice_problem().replace("(at d)", "(or (at d) (at c))"))
    for kind in ("hgn", "linear"):
        assert search(task, untrained(kind, task, make_objective("truncated-gaussian"))).solved
    with pytest.raises(UnsupportedPddlError, match="conjunctions of literals"):
        search(task, untrained("nlm", task, make_objective("truncated-gaussian")))

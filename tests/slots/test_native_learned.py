"""Learned heuristics in the core: the network's number and what symbolic heuristics add to it."""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_domains
import torch
from nlm_oracle import Shape, State, batch_of, random_theta
from numpy.typing import NDArray
from untrained_models import random_walk, read_task

from hstar import _core
from hstar.planning.task import Task


@dataclass(frozen=True, slots=True)
class Encoded:
    """A task's states as an NLM sees them: one channel per predicate and one for the goal."""

    channels: tuple[int, ...]
    spec: dict[str, Any]

    def state(self, core: _core.Task, values: NDArray[np.int32]) -> State:
        entries = [(int(a), int(i), 1.0) for a, i in self.spec["base_entries"]]
        first = np.cumsum([0, *core.domain_sizes[:-1]])
        for fact in first + values:
            arity, index = self.spec["fact_entries"][fact]
            if arity >= 0:
                entries.append((int(arity), int(index), 1.0))
        return State(self.spec["num_objects"], tuple(entries))


def encoded(core: _core.Task) -> Encoded:
    """From the names of the facts; static atoms are left out."""
    atoms: dict[int, tuple[str, ...]] = {}
    for fact in range(core.num_facts):
        name = core.atom_name(fact)
        if not name.startswith(("<", "not ")):
            atoms[fact] = tuple(re.split(r"[(), ]+", name.rstrip(")")))
    objects = sorted({o for atom in atoms.values() for o in atom[1:]})
    predicates = sorted({(len(atom) - 1, atom[0]) for atom in atoms.values()})
    by_arity = [[name for a, name in predicates if a == arity] for arity in range(4)]
    channels = tuple(2 * len(names) for names in by_arity)

    def entry(atom: tuple[str, ...], is_goal: bool) -> tuple[int, int]:
        arity, number = len(atom) - 1, 0
        for member in atom[1:]:
            number = number * len(objects) + objects.index(member)
        names = by_arity[arity]
        return arity, number * channels[arity] + names.index(atom[0]) + len(names) * is_goal

    facts = np.full((core.num_facts, 2), -1, dtype=np.int32)
    for fact, atom in atoms.items():
        facts[fact] = entry(atom, False)
    first = np.cumsum([0, *core.domain_sizes[:-1]])
    goal = [first[variable] + value for variable, value in core.goal]
    base = np.array([entry(atoms[f], True) for f in goal if f in atoms], dtype=np.int32)
    spec = {
        "num_objects": len(objects),
        "base_entries": base.reshape(-1, 2),
        "base_values": np.ones(len(base), dtype=np.float32),
        "fact_entries": facts,
    }
    return Encoded(channels, spec)


def random_task(rng: random.Random, folder: Path) -> Task:
    domain, problem = rng.choice(list(small_domains.ALL.values()))(rng)
    return read_task(folder, domain, problem)


def decoding(name: str, **changes: Any) -> dict[str, Any]:
    constants = {"epsilon": 0.1, "sigma": 0.0, "least_sigma": 0.1, "sigma_range": 10.0}
    return {"name": name, **constants, **changes}


def decoded(
    decode: str, mu: NDArray[Any], sigma: NDArray[Any], lower: NDArray[Any]
) -> NDArray[Any]:
    if decode in ("value", "mean"):
        return mu
    if decode == "clip":
        return np.maximum(mu, lower)
    alpha = torch.tensor((lower - 0.1 - mu) / sigma, dtype=torch.float64)
    hazard = (2 / math.pi) ** 0.5 / torch.special.erfcx(alpha / 2**0.5)
    return mu + sigma * hazard.numpy()


@pytest.mark.parametrize("seed", range(40))
def test_values_in_search_are_network_plus_symbolic_values(seed: int, tmp_path: Path) -> None:
    rng = random.Random(3000 + seed)
    task = random_task(rng, tmp_path)
    core = task.core
    code = encoded(core)
    cost = rng.choice(["one", "normal"])
    base, lower = (
        rng.choice(["", "ff", "lmcut", "hadd"]),
        rng.choice(["lmcut", "hmax", "blind", "ff"]),
    )
    decode = rng.choice(["value", "mean", "clip", "truncated-mean", "truncated-mean"])
    sigma = rng.choice([0.0, 0.7])
    spec: dict[str, Any] = {
        "cost": cost,
        "base": base,
        "lower": lower,
        "decode": decoding(decode, sigma=sigma),
        "cap": rng.choice([0.0, 1.0, 1.3]) if base else 0.0,
    }
    states = random_walk(task, rng, 30)
    if rng.random() < 0.7:
        shape = Shape(3, 4, 4, 2, rng.random() < 0.5, False, "sigmoid", code.channels)
        theta = random_theta(rng, shape, 3.0)
        spec |= {"model": "nlm", "shape": shape.native(), "theta": theta, **code.spec}
        arrays = batch_of([code.state(core, s) for s in states])
        outputs = _core.nlm_forward(shape.native(), theta, *arrays, 1).astype(np.float64)
    else:
        weights = np.array(
            [[rng.gauss(0, 0.3) for _ in range(5)] for _ in range(2)], dtype=np.float32
        )
        layer = (weights[:, :4].copy(), weights[:, 4].copy(), "none", False)
        spec |= {"model": "mlp", "input": "relaxed-plan", "layers": [layer]}
        features = _core.Heuristic(core, "ff", cost).plan_features(states)
        with np.errstate(invalid="ignore"):
            outputs = features.astype(np.float64) @ weights[:, :4].T + weights[:, 4]

    def symbolic(name: str, missing: float) -> NDArray[Any]:
        if not name:
            return np.full(len(states), missing)
        return _core.Heuristic(core, name, cost).evaluate(states).astype(np.float64)

    bases, lowers = symbolic(base, 0.0), symbolic(lower, -math.inf)
    dead = np.isinf(bases) | np.isinf(symbolic("ff" if spec["model"] == "mlp" else "", 0.0))
    dead |= lowers == math.inf
    if spec["cap"]:
        bases = np.where(np.isinf(bases), bases, np.minimum(bases, spec["cap"] * lowers))
    heuristic = _core.Heuristic.learned(core, spec)
    actual = heuristic.evaluate(states)
    assert np.array_equal(np.isinf(actual), dead)
    sigmas = np.full(len(states), sigma) if sigma else 0.1 + 10 / (1 + np.exp(-outputs[:, 1]))
    wanted = decoded(decode, (outputs[:, 0] + bases)[~dead], sigmas[~dead], lowers[~dead])
    assert np.abs(actual[~dead] - wanted).max(initial=0) < 1e-4
    one_by_one = np.concatenate([heuristic.evaluate(states[i : i + 1]) for i in range(len(states))])
    assert one_by_one.tobytes() == actual.tobytes()


def search(core: _core.Task, heuristic: Any) -> dict[str, Any]:
    options = _core.SearchOptions()
    options.max_evaluations = 3000
    if isinstance(heuristic, str):
        heuristic = _core.Heuristic(core, heuristic, "one")
    found: dict[str, Any] = _core.search_in_turns(
        core, None, [([heuristic], options)], [1.0], 0.0, 0
    )[1][0]
    return found


def blocks_model(tmp_path: Path, decode: str = "mean") -> tuple[Task, dict[str, Any]]:
    rng = random.Random(5)
    task = read_task(tmp_path, *small_domains.blocks(rng))
    code = encoded(task.core)
    shape = Shape(3, 5, 8, 2, False, False, "sigmoid", code.channels)
    spec = {
        "model": "nlm",
        "cost": "one",
        "base": "ff",
        "lower": "lmcut",
        "decode": decoding(decode),
        "cap": 0.0,
        "shape": shape.native(),
        "theta": random_theta(rng, shape),
        **code.spec,
    }
    return task, spec


def test_search_takes_a_learned_heuristic_and_a_callable_alike(tmp_path: Path) -> None:
    task, spec = blocks_model(tmp_path, "truncated-mean")
    heuristic = _core.Heuristic.learned(task.core, spec)
    direct = search(task.core, heuristic)
    wrapped = search(task.core, lambda states: heuristic.evaluate(states))
    assert direct["status"] == "solved"
    for key in ("plan", "evaluated", "evaluations", "expanded", "generated", "initial_h"):
        assert direct[key] == wrapped[key]
    other, _ = blocks_model(tmp_path)
    with pytest.raises(ValueError, match="another task"):
        search(other.core, heuristic)


def check_refused(task: Task, spec: dict[str, Any], changes: list[dict[str, Any]]) -> None:
    """None of the changes makes a model, and no key may be missing."""
    for change in changes:
        with pytest.raises(ValueError, match=r"\w+"):
            _core.Heuristic.learned(task.core, spec | change)
    for key in spec:
        with pytest.raises(ValueError, match=key):
            _core.Heuristic.learned(task.core, {k: v for k, v in spec.items() if k != key})


def test_bad_models_are_refused(tmp_path: Path) -> None:
    task, spec = blocks_model(tmp_path)
    theta = spec["theta"]
    broken = theta.copy()
    broken[3] = np.nan
    changes: list[dict[str, Any]] = [
        {"model": "oracle"},
        {"cost": "free"},
        {"base": "magic"},
        {"decode": "guess"},
        {"decode": decoding("guess")},
        {"decode": decoding("truncated-mean", sigma=-1.0)},
        {"decode": decoding("truncated-mean", sigma=math.inf)},
        {"decode": decoding("truncated-mean", least_sigma=0.0)},
        {"decode": decoding("truncated-mean", sigma_range=math.nan)},
        {"cap": 1.2, "lower": ""},
        {"cap": 1.2, "base": ""},
        {"cap": 0.9},
        {"cap": -1.0},
        {"cap": math.inf},
        {"cap": math.nan},
        {"cap": "tight"},
        {"decode": decoding("truncated-mean", sigma="wide")},
        {"decode": decoding("truncated-mean", epsilon=math.nan)},
        {"theta": theta[:-1]},
        {"theta": broken},
        {"num_objects": 0},
        {"num_objects": -1},
        {"base_values": spec["base_values"][:-1]},
        {"fact_entries": spec["fact_entries"][:-1]},
        {"fact_entries": spec["fact_entries"] + 10_000},
        {"model": "linear", "outputs": 2},
        {
            "model": "mlp",
            "input": "relaxed-plan",
            "layers": [(np.zeros((1, 4), np.float32), np.zeros(1, np.float32), "none", False)],
            "decode": decoding("truncated-mean"),
        },
    ]
    check_refused(task, spec, changes)
    decode = decoding("truncated-mean")
    for key in decode:
        less = {k: v for k, v in decode.items() if k != key}
        with pytest.raises(ValueError, match=key):
            _core.Heuristic.learned(task.core, spec | {"decode": less})


def test_a_value_beyond_floats_is_an_error_and_not_a_number(tmp_path: Path) -> None:
    task, spec = blocks_model(tmp_path)
    spec["theta"] = np.full_like(spec["theta"], 3e38)
    heuristic = _core.Heuristic.learned(task.core, spec)
    with pytest.raises(RuntimeError, match="finite"):
        heuristic.evaluate(task.initial_state.reshape(1, -1))

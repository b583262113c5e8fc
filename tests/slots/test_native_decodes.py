"""Class decodes and dense networks in the core, against NumPy."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from nlm_oracle import Shape, batch_of, random_theta
from numpy.typing import NDArray
from test_native_learned import blocks_model, check_refused, decoding, encoded, random_task
from untrained_models import random_walk

from hstar import _core
from hstar.slots.decode import Shaped
from hstar.slots.features.digits import DIGITS, digit_config, first_rows

VALUES = [-2.0, 0.0, 1.0, 3.5, 8.0]


def choose_class(logits: NDArray[np.float64], decode: dict[str, Any]) -> NDArray[np.int64]:
    """The definition: argmax, or the largest k with P(class >= k) >= tau."""
    if decode["name"] == "argmax":
        return logits.argmax(axis=1)
    weights = np.exp((logits - logits.max(axis=1, keepdims=True)) / decode["temperature"])
    tails = weights[:, ::-1].cumsum(axis=1)[:, ::-1]
    accepted = tails / tails[:, :1] >= decode["tau"]
    chosen: NDArray[np.int64] = (np.arange(logits.shape[1]) * accepted).max(axis=1)
    return chosen


@pytest.mark.parametrize("seed", range(24))
def test_classes_are_decoded(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    task = random_task(rng, tmp_path)
    code = encoded(task.core)
    shape = Shape(3, 3, 6, len(VALUES), False, False, "sigmoid", code.channels)
    theta = random_theta(rng, shape, 3.0)
    base = rng.choice(["", "ff"])
    decode: dict[str, Any] = {"name": "argmax", "values": VALUES}
    if seed % 4:
        decode = {
            "name": "quantile",
            "values": VALUES,
            "tau": rng.choice([0.0, 0.1, 0.5, 0.9, 0.999, 1.0]),
            "temperature": rng.choice([0.5, 1.0, 3.0]),
        }
    spec = {"model": "nlm", "cost": "one", "base": base, "lower": "", "cap": 0.0, "decode": decode}
    spec |= {"shape": shape.native(), "theta": theta, **code.spec}
    states = random_walk(task, rng, 30)
    arrays = batch_of([code.state(task.core, state) for state in states])
    logits = _core.nlm_forward(shape.native(), theta, *arrays, 1).astype(np.float64)
    wanted = np.array(VALUES)[choose_class(logits, decode)].astype(np.float32)
    if base:
        wanted += _core.Heuristic(task.core, base, "one").evaluate(states)
    heuristic = _core.Heuristic.learned(task.core, spec)
    assert heuristic.evaluate(states).tolist() == wanted.tolist()


def test_constants_of_sigma_are_those_given(tmp_path: Path) -> None:
    task, spec = blocks_model(tmp_path, "truncated-mean")
    state = task.initial_state.reshape(1, -1)

    def value(**changes: float) -> float:
        decode = decoding("truncated-mean", **changes)
        heuristic = _core.Heuristic.learned(task.core, spec | {"decode": decode})
        return float(heuristic.evaluate(state)[0])

    assert value(least_sigma=2.5, sigma_range=0.0) == value(sigma=2.5)
    assert value(least_sigma=0.3) != value() != value(sigma_range=7.0)


def test_bad_class_decodes_are_refused(tmp_path: Path) -> None:
    task, spec = blocks_model(tmp_path)  # two outputs
    good = {"name": "quantile", "values": [0, 1], "tau": 0.5, "temperature": 1.0}
    _core.Heuristic.learned(task.core, spec | {"decode": good})
    changes: list[dict[str, Any]] = [
        {"values": [0, 1, 2]},
        {"values": [1, 0]},
        {"values": [0, np.inf]},
        {"values": "many"},
        {"tau": -0.1},
        {"tau": 1.1},
        {"tau": np.nan},
        {"temperature": 0.0},
        {"temperature": np.nan},
    ]
    for change in changes:
        (key,) = change
        with pytest.raises(ValueError, match=key):
            _core.Heuristic.learned(task.core, spec | {"decode": good | change})
    for key in good:
        less = {k: v for k, v in good.items() if k != key}
        with pytest.raises(ValueError, match=key):
            _core.Heuristic.learned(task.core, spec | {"decode": less})


Layers = list[tuple[NDArray[np.float32], NDArray[np.float32], str, bool]]


def random_layers(seed: int, inputs: int, outputs: int) -> Layers:
    """One dense layer, or two and residual blocks of two before the last."""
    rng = np.random.default_rng(seed)
    width, blocks = int(rng.integers(1, 70)), int(rng.integers(0, 3))
    widths = [inputs, *([] if seed % 5 == 0 else [width] * (2 + 2 * blocks)), outputs]
    layers: Layers = []
    for number in range(len(widths) - 1):
        fan_in, fan_out = widths[number], widths[number + 1]
        weight = rng.normal(0, fan_in**-0.5, (fan_out, fan_in)).astype(np.float32)
        bias = rng.normal(0, 1, fan_out).astype(np.float32)
        is_last = number == len(widths) - 2
        skip = not is_last and number >= 3 and number % 2 == 1
        layers.append((weight, bias, "none" if is_last else "relu", skip))
    return layers


def forward(layers: Layers, x: NDArray[np.float32]) -> NDArray[np.float32]:
    older = x
    for weight, bias, activation, skip in layers:
        y = x @ weight.T + bias + (older if skip else np.float32(0))
        older, x = x, np.maximum(y, np.float32(0)) if activation == "relu" else y
    return x


@pytest.mark.parametrize("seed", range(24))
def test_dense_networks(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    task = random_task(rng, tmp_path)
    states = random_walk(task, rng, 70)
    sizes = task.core.domain_sizes
    spec: dict[str, Any] = {"model": "mlp", "cost": "one", "base": "", "lower": "", "cap": 0.0}
    spec["decode"] = {"name": "value"}
    if seed % 3 and seed % 5:  # a network of one layer reads relaxed plans
        chosen = rng.sample(range(len(sizes)), rng.randint(1, len(sizes)))
        config = digit_config(chosen, [sizes[v] for v in chosen], "")
        spec |= {**DIGITS.native(config, task), "precision": "float32"}
        x = np.zeros((len(states), config["width"]), dtype=np.float32)
        for variable, row in zip(chosen, first_rows(config["domain_sizes"]), strict=True):
            x[np.arange(len(states)), row + states[:, variable]] = 1
    else:
        spec["input"] = "relaxed-plan"
        x = _core.Heuristic(task.core, "ff", "one").plan_features(states)
    spec["layers"] = random_layers(seed, x.shape[1], rng.randint(1, 20))
    alive = np.isfinite(x).all(axis=1)
    wanted = forward(spec["layers"], x[alive])[:, 0]
    heuristic = _core.Heuristic.learned(task.core, spec)
    actual = heuristic.evaluate(states)
    assert np.array_equal(np.isfinite(actual), alive)
    assert np.abs(actual[alive] - wanted).max(initial=0) <= 1e-5 * np.abs(wanted).max(initial=1)
    one_by_one = np.concatenate([heuristic.evaluate(states[i : i + 1]) for i in range(len(states))])
    assert one_by_one.tobytes() == actual.tobytes()


def test_bad_dense_networks_are_refused(tmp_path: Path) -> None:
    task, _ = blocks_model(tmp_path)
    size = task.core.domain_sizes[0]

    def layer(outputs: int, inputs: int, activation: str = "relu", skip: bool = False) -> Any:
        return (
            np.ones((outputs, inputs), np.float32),
            np.ones(outputs, np.float32),
            activation,
            skip,
        )

    spec: dict[str, Any] = {"model": "mlp", "cost": "one", "base": "", "lower": "", "cap": 0.0}
    config = digit_config([0], [size], "")
    spec |= {"decode": {"name": "value"}, "precision": "float32", **DIGITS.native(config, task)}
    rows = spec["rows"]
    spec["layers"] = [layer(3, size), layer(1, 3)]
    _core.Heuristic.learned(task.core, spec)
    nan = (np.full((1, size), np.nan, np.float32), np.ones(1, np.float32), "none", False)
    changes: list[dict[str, Any]] = [
        {"input": "pixels"},
        {"precision": "int8"},
        {"rows": rows[1:]},
        {"rows": rows + 1},
        {"rows": rows - 1},
        {"rows": "all"},
        {"constant": np.array([size], np.int32)},
        {"layers": []},
        {"layers": [layer(3, size), layer(1, 4)]},
        {"layers": [layer(3, size), layer(0, 3)]},
        {"layers": [layer(3, size, "tanh")]},
        {"layers": [layer(3, size, skip=True)]},
        {"layers": [layer(3, size), layer(size, 3, skip=True)]},
        {"layers": [layer(3, size), layer(3, 3), layer(2, 3, skip=True)]},
        {"layers": [nan]},
        {"layers": [(1, 2)]},
        {"input": "relaxed-plan"},
    ]
    check_refused(task, spec, changes)


@pytest.mark.parametrize("naive", [0, 1])
@pytest.mark.parametrize("gamma", [0.9, 0.999, 0.999999])
def test_shaped_values_are_decoded(gamma: float, naive: int, tmp_path: Path) -> None:
    """h_gamma, or h if the potential is naive, less the output; infinite where h is."""
    rng = random.Random(3)
    task = random_task(rng, tmp_path)
    code = encoded(task.core)
    shape = Shape(3, 3, 6, 1, False, False, "sigmoid", code.channels)
    theta = random_theta(rng, shape, 3.0)
    states = random_walk(task, rng, 30)
    arrays = batch_of([code.state(task.core, state) for state in states])
    outputs = _core.nlm_forward(shape.native(), theta, *arrays, 1)
    constants = {"gamma": gamma, "naive": naive}
    for base in ("", "ff"):
        decode = {"name": "shaped", "values": [], **constants}
        spec = {"model": "nlm", "cost": "one", "base": base, "lower": "", "cap": 0.0}
        spec |= {"decode": decode, "shape": shape.native(), "theta": theta, **code.spec}
        h = np.zeros(len(states), np.float32)
        if base:
            h = _core.Heuristic(task.core, base, "one").evaluate(states)
        wanted = np.where(np.isinf(h), h, h.astype(np.float64) - outputs[:, 0])
        if not naive:
            steps = np.array([sum(gamma**i for i in range(int(x))) for x in np.nan_to_num(h)])
            wanted = np.where(np.isinf(h), h, steps - outputs[:, 0])
        found = _core.Heuristic.learned(task.core, spec).evaluate(states)
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-6)
        tensors = torch.from_numpy(outputs), torch.from_numpy(h), torch.zeros(len(h))
        alive = np.isfinite(h)
        assert Shaped().value(*tensors, constants).numpy()[alive] == pytest.approx(
            found[alive], rel=1e-6, abs=1e-6
        )
        for wrong in ({"gamma": 1.0}, {"gamma": 0.0}, {"gamma": float("nan")}, {"naive": 2}):
            with pytest.raises(ValueError, match=next(iter(wrong))):
                _core.Heuristic.learned(task.core, spec | {"decode": decode | wrong})

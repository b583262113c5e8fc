"""Going on from the integers of a network: nothing is lost on the way, and more is learned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from agreement import agreement
from program import hstar
from small_patterns import OPTIONS, SHAPE, data_of, database_of

from hstar.pdb import write_pdb
from hstar.planning.puzzle import make_puzzle
from hstar.slots.features.pattern_states import PatternStates
from hstar.slots.models.export import export, rounded_from, shape_of
from hstar.slots.models.integer_network import IntegerLayer, Network
from hstar.slots.pattern_network import read_learned
from hstar.training.certified.learning import learn
from hstar.training.loop import Line, Loop
from hstar.training.options import refining
from hstar.training.train import prepare_table

CPU = torch.device("cpu")
PANCAKES = ("pancake-6", "pancakes")


@pytest.fixture(scope="module")
def states() -> PatternStates:
    return PatternStates(database_of("pancake-6", "pancakes"), make_puzzle("pancake-6"), CPU)


@pytest.fixture(scope="module", params=[0, 1, 2])
def trained(request: pytest.FixtureRequest) -> Loop:
    options = replace(OPTIONS, model_options={**SHAPE, "blocks": request.param})
    loop = prepare_table(data_of(*PANCAKES), options)
    assert loop.run()
    return loop


def layers_equal(one: IntegerLayer, other: IntegerLayer) -> bool:
    return (
        np.array_equal(one.weights, other.weights)
        and np.array_equal(one.bias, other.bias)
        and np.allclose(
            one.multiplier / 2.0**one.shift, other.multiplier / 2.0**other.shift, rtol=1e-4
        )
        and (one.skip == 0) == (other.skip == 0)
    )


def test_the_way_back_loses_nothing(trained: Loop, states: PatternStates) -> None:
    network = export(trained.network, states.domain_sizes)
    again = export(rounded_from(network), states.domain_sizes)
    assert all(layers_equal(a, b) for a, b in zip(network.layers, again.layers, strict=True))
    digits = states.digits(torch.arange(720)).numpy().astype(np.int32)
    same = network.forward(digits) == again.forward(digits)
    assert same.mean() > 0.99


def test_more_is_learned(trained: Loop, states: PatternStates) -> None:
    network = export(trained.network, states.domain_sizes)
    options = refining(replace(OPTIONS, steps=150, learning_rate=1e-3), network)
    more = prepare_table(data_of(*PANCAKES), options, network)
    assert more.is_rounding and more.run()
    assert more.curve[-1]["train_loss"] < trained.curve[-1]["train_loss"]
    same, distance = agreement(more)
    assert same > 0.99 and distance < 0.02  # nothing is left to the export


def test_resume_gives_the_same_bytes(tmp_path: Path) -> None:
    data = data_of(*PANCAKES)
    first, whole, parts = (tmp_path / f"{name}.safetensors" for name in ("first", "whole", "parts"))
    assert learn(data, first, OPTIONS) is not None
    start = read_learned(first).model.network
    shorter = replace(OPTIONS, steps=30)
    assert learn(data, whole, shorter, start=start) is not None

    def interrupt(line: Line, steps: int) -> None:
        if line["step"] == 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn(data, parts, shorter, report=interrupt, start=start)
    assert learn(data, parts, shorter, start=start) is not None
    assert parts.read_bytes() == whole.read_bytes()


def test_other_networks_are_refused(states: PatternStates) -> None:
    data = data_of(*PANCAKES)
    loop = prepare_table(data, OPTIONS)
    assert loop.run()
    network = export(loop.network, states.domain_sizes)
    wider = replace(OPTIONS, model_options={**SHAPE, "width": 13})
    with pytest.raises(ValueError, match="another shape"):
        prepare_table(data, wider, network)
    with pytest.raises(ValueError, match="another shape"):
        prepare_table(data_of("pancake-5", "pancakes"), refining(OPTIONS, network), network)
    with pytest.raises(ValueError, match="coarser"):
        prepare_table(data, replace(OPTIONS, coarser=2.0))
    with pytest.raises(ValueError, match="residual"):
        shape_of(Network(network.domain_sizes, (network.layers[0], network.layers[-1])))


def test_the_command_makes_networks_smaller(tmp_path: Path) -> None:
    table, first, smaller = (
        tmp_path / name for name in ("t.pdb", "a.safetensors", "b.safetensors")
    )
    write_pdb(table, database_of("pancake-6", "pancakes"))
    base = ["pdb", "learn", table, "--device", "cpu", "--threads", "1", "--steps", "40"]
    shape = ["--hidden", "32", "--width", "16", "--blocks", "1", "--batch", "256"]
    slowly = ["--learning-rate", "1e-4"]
    assert hstar(*base, *shape, "-o", first).code == 0
    done = hstar(*base, "--start", first, "--coarser", "2", *slowly, "-o", smaller)
    assert done.code == 0, done.err
    held = [read_learned(path).model.network for path in (first, smaller)]
    assert shape_of(held[0]) == shape_of(held[1])
    usual = [float(np.abs(network.layers[1].weights).mean()) for network in held]
    assert usual[1] == pytest.approx(usual[0] / 2, rel=0.1)
    assert hstar("pdb", "verify", smaller).code == 0


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    table, other, model = (tmp_path / name for name in ("t.pdb", "o.pdb", "m.safetensors"))
    write_pdb(table, database_of("pancake-6", "pancakes"))
    write_pdb(other, database_of("pancake-5", "pancakes"))
    short = ["--device", "cpu", "--threads", "1", "--steps", "2", "--batch", "64"]
    done = hstar("pdb", "learn", table, "-o", model, *short, "--coarser", "2")
    assert done.code == 36 and "--start" in done.err
    assert hstar("pdb", "learn", table, "-o", model, *short).code == 0
    target = tmp_path / "other.safetensors"
    done = hstar("pdb", "learn", other, "-o", target, *short, "--start", model)
    assert done.code == 36 and "other inputs" in done.err and not target.exists()
    done = hstar("pdb", "learn", table, "-o", target, *short, "--start", table)
    assert done.code == 31 and not target.exists()

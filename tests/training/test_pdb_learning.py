"""Learning pattern databases: the loss, the states drawn, rounding, and resuming."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from agreement import agreement
from case_tables import table
from integer_oracle import emulate
from small_patterns import OPTIONS, SETTINGS, data_of, database_of, difference

from hstar.pdb import build_pdb
from hstar.planning.puzzle import make_puzzle
from hstar.slots.features.pattern_states import UNREACHED, PatternStates
from hstar.slots.models.export import export
from hstar.slots.models.rounding import _activate
from hstar.slots.objectives import make_objective
from hstar.slots.objectives.classes import CrossEntropy, Phases, admissible_weights, cea
from hstar.training.certified.learning import learn
from hstar.training.options import Sampling, TrainOptions
from hstar.training.samplers import Draws, quotas
from hstar.training.train import prepare_table

CPU = torch.device("cpu")


def slow_cea(
    logits: list[list[float]],
    exact: list[int],
    values: list[int],
    beta: float,
    eta: float,
    shift: float = 1.0,
) -> float:
    total = 0.0
    for row, h in zip(logits, exact, strict=True):
        scale = sum(math.exp(x) for x in row)
        p = [math.exp(x) / scale for x in row]
        inner = p[h] + sum(
            ((values[k] + shift) / (values[h] + shift)) ** beta * p[k]
            for k in range(h)
            if values[k] + shift > 0  # the paper's sum begins at 1
        )
        total -= math.log(inner) + eta * math.log(p[h])
    return total / len(exact)


@pytest.mark.parametrize("shift", [0.0, 1.0])
@pytest.mark.parametrize(("beta", "eta"), [(1.0, 0.01), (0.7, 0.001), (0.0, 0.0), (2.0, 1.0)])
def test_cea_equals_the_formula(beta: float, eta: float, shift: float) -> None:
    rng = np.random.default_rng(0)
    logits, exact = rng.normal(0, 3, (40, 6)), rng.integers(0, 6, 40)
    values = [0, 1, 2, 3, 5, 9]
    weights = admissible_weights(tuple(values), shift, CPU)
    found = cea(torch.tensor(logits), torch.tensor(exact), weights, beta, eta).mean()
    assert float(found) == pytest.approx(
        slow_cea(logits.tolist(), exact.tolist(), values, beta, eta, shift), rel=1e-5
    )


def test_cea_by_hand() -> None:
    """Two classes with equal logits: p = 1/2 each."""
    weights = admissible_weights((0, 1), 1.0, CPU)
    logits = torch.zeros(1, 2)
    # h = 0: -log(1/2) - eta log(1/2);  h = 1: -log(1/2 * 1/2 + 1/2) - eta log(1/2)
    zero = cea(logits, torch.tensor([0]), weights, 1.0, 0.1)
    one = cea(logits, torch.tensor([1]), weights, 1.0, 0.1)
    assert float(zero) == pytest.approx(1.1 * math.log(2), rel=1e-6)
    assert float(one) == pytest.approx(math.log(4 / 3) + 0.1 * math.log(2), rel=1e-6)
    # Mass below is forgiven, mass above is not.
    low = cea(torch.tensor([[5.0, 0.0]]), torch.tensor([1]), weights, 0.0, 0.0)
    high = cea(torch.tensor([[0.0, 5.0]]), torch.tensor([0]), weights, 0.0, 0.0)
    assert float(low) == pytest.approx(0, abs=1e-6) and float(high) > 4


def test_cea_gradient() -> None:
    weights = admissible_weights((0, 1, 2, 4), 1.0, CPU)
    logits = torch.randn(5, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    exact = torch.tensor([0, 1, 2, 3, 3])
    cea(logits, exact, weights, 0.7, 0.1).mean().backward()
    assert logits.grad is not None
    for i, j in ((0, 0), (1, 2), (3, 1), (4, 3)):
        rows = logits.detach().double().tolist()
        sides = []
        for shift in (1e-5, -1e-5):
            rows[i][j] = float(logits[i, j].detach()) + shift
            sides.append(slow_cea(rows, exact.tolist(), [0, 1, 2, 4], 0.7, 0.1))
        assert float(logits.grad[i, j]) == pytest.approx((sides[0] - sides[1]) / 2e-5, abs=1e-5)


def test_cea_with_all_weight_on_the_exact_class_is_like_cross_entropy() -> None:
    logits, exact = torch.randn(9, 5), torch.tensor([0, 1, 2, 3, 4, 0, 1, 2, 3])
    weights = admissible_weights((0, 1, 2, 3, 4), 1.0, CPU)
    steep = cea(logits, exact, weights, 500.0, 0.0)
    plain = CrossEntropy().loss(logits, {"class": exact})
    assert steep.tolist() == pytest.approx(plain.tolist(), rel=1e-5)


PATTERNS = table("""
pancake-6 | pancakes
cube2 | corners:0-3
cube2 | corners
cube3 | edges:0-2
tiles-2x3 | tiles
topspin-6-4 | tokens:0,2,3
""")


@pytest.mark.parametrize(("name", "pattern"), PATTERNS)
def test_states_on_the_device_are_those_of_the_core(name: str, pattern: str) -> None:
    database = database_of(name, pattern)
    puzzle = make_puzzle(name)
    states = PatternStates(database, puzzle, CPU)
    rng = np.random.default_rng(0)
    ranks = np.unique(rng.integers(0, database.layout.cells, 300))
    found = states.digits(torch.from_numpy(ranks))
    assert np.array_equal(found.numpy(), database.index(puzzle).unrank(ranks))
    counts = np.bincount(states.labels.numpy(), minlength=256)
    histogram, unreached = database.histogram
    assert counts[UNREACHED] == unreached
    for number, value in enumerate(states.values):
        assert counts[number] == histogram[value]
    labels = states.exact(torch.from_numpy(ranks)).tolist()
    whole = np.repeat(puzzle.goal[None, :], len(ranks), axis=0)
    whole[:, list(database.layout.pattern)] = found.numpy()
    for label, value in zip(labels, database.bind(puzzle).lookup(whole), strict=True):
        assert value == (math.inf if label == UNREACHED else states.values[label])


def test_compressed_databases_are_refused() -> None:
    from hstar.pdb import compress

    database = compress(database_of("pancake-6", "pancakes"), div=3)
    with pytest.raises(ValueError, match="compressed"):
        PatternStates(database, make_puzzle("pancake-6"), CPU)


def test_sampling_frequencies() -> None:
    database = database_of("pancake-6", "pancakes")
    states = PatternStates(database, make_puzzle("pancake-6"), CPU)
    sizes = np.array(states.class_sizes)
    batch = 20_000
    uniform = Draws(states, Sampling("uniform"), batch, 0).at(3)
    shares = np.bincount(states.exact(uniform).numpy(), minlength=len(sizes)) / batch
    assert np.abs(shares - sizes / sizes.sum()).max() < 0.02
    exactly = Draws(states, Sampling("proportional"), batch, 0).at(3)
    counts = np.bincount(states.exact(exactly).numpy(), minlength=len(sizes))
    assert np.abs(counts - batch * sizes / sizes.sum()).max() < len(sizes) + 1
    tempered = Draws(states, Sampling("tempered", 0.0), batch, 0).at(3)
    counts = np.bincount(states.exact(tempered).numpy(), minlength=len(sizes))
    assert np.abs(counts - batch / len(sizes)).max() < len(sizes) + 1
    # Within a class all states are alike.
    largest = int(sizes.argmax())
    drawn = tempered[states.exact(tempered) == largest].numpy()
    assert np.bincount(drawn).max() < 40 * batch / len(sizes) / sizes[largest]
    again = Draws(states, Sampling("tempered", 0.0), batch, 0).at(3)
    assert torch.equal(again, tempered)
    assert not torch.equal(Draws(states, Sampling("uniform"), batch, 0).at(4), uniform)


def test_unreached_states_are_never_drawn() -> None:
    database = database_of("tiles-2x3", "tiles")
    states = PatternStates(database, make_puzzle("tiles-2x3"), CPU)
    if database.histogram[1]:
        drawn = Draws(states, Sampling(), 5000, 1).at(0)
        assert (states.exact(drawn) != UNREACHED).all()


def test_quotas() -> None:
    assert quotas([1.0, 1000.0, 99.0], 100) == [1, 90, 9]
    assert sum(quotas([1.0, 1e6, 3.0, 5.0], 10)) == 10
    assert quotas([0.0, 3.0, 1.0], 8) == [0, 6, 2]
    with pytest.raises(ValueError):
        quotas([1.0] * 5, 4)


def test_phases_lower_both_on_a_stall() -> None:
    phase = Phases()
    for rate in (0.1, 0.05, 0.05):  # the rate still falls, then it stalls
        phase = phase.after(1.0, rate, 2)
        assert (phase.beta, phase.eta) == (1.0, 0.1)
    phase = phase.after(1.0, 0.05, 2)
    assert (phase.beta, phase.eta, phase.stalled) == (0.5, 0.05, 0)
    phase = phase.after(2.0, 0.05, 2)  # another beta is another loss
    assert (phase.beta, phase.stalled) == (0.5, 0)


def test_gradient_of_rounded_activations() -> None:
    """As if rounding were not there: that of clamp(z / step, 0, 127), also for the step."""
    z = torch.linspace(-3, 40, 50, dtype=torch.float64, requires_grad=True)
    step = torch.tensor(0.25, dtype=torch.float64, requires_grad=True)
    pull = torch.linspace(1, 2, 50, dtype=torch.float64)
    whole = _activate(z, step)
    assert torch.equal(whole, torch.clamp(torch.floor(z / step + 0.5), 0, 127))
    found = torch.autograd.grad((whole * pull).sum(), (z, step))
    expected = torch.autograd.grad((torch.clamp(z / step, 0, 127) * pull).sum(), (z, step))
    assert all(torch.allclose(ours, theirs) for ours, theirs in zip(found, expected, strict=True))


def test_integers_agree_with_training() -> None:
    """What is trained is what search will compute, but for rounded multipliers and biases."""
    database = database_of("pancake-6", "pancakes")
    states = PatternStates(database, make_puzzle("pancake-6"), CPU)
    loop = prepare_table(data_of("pancake-6", "pancakes"), OPTIONS)
    assert loop.run()
    network = export(loop.network, states.domain_sizes)
    digits = states.digits(torch.arange(720)).numpy().astype(np.int32)
    assert np.array_equal(network.forward(digits), emulate(network, digits))
    same, distance = agreement(loop)
    assert same > 0.98 and distance < 0.05
    assert all(layer.bits == OPTIONS.bits for layer in network.layers)


@pytest.mark.parametrize("stop", [1, 3])
def test_resume_gives_the_same_bytes(tmp_path: Path, stop: int) -> None:
    """Stopped before and after rounding begins."""
    data = data_of("pancake-6", "pancakes")
    whole, parts = tmp_path / "whole.safetensors", tmp_path / "parts.safetensors"
    assert learn(data, whole, OPTIONS) is not None
    seen = 0

    def interrupt(line: object, steps: int) -> None:
        nonlocal seen
        seen += 1
        if seen == stop + 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn(data, parts, OPTIONS, report=interrupt)
    assert (tmp_path / "parts.safetensors.partial").is_file()
    assert learn(data, parts, OPTIONS, deadline=0.0) is None
    assert learn(data, parts, OPTIONS) is not None
    assert parts.read_bytes() == whole.read_bytes()
    assert not (tmp_path / "parts.safetensors.partial").exists()


def test_differences_have_class_zero() -> None:
    database, puzzle = difference()
    states = PatternStates(database, puzzle, CPU)
    assert states.values[0] == 0 and states.class_sizes[0] > 1


def test_options_are_checked() -> None:
    for wrong in ({"bits": 9}, {"steps": 0}, {"seed": -1}):
        with pytest.raises(ValueError):
            TrainOptions(**{**SETTINGS, **wrong})
    for objective, options in (("mse", {}), ("cea", {"pace": "slow"}), ("cea", {"patience": 0})):
        with pytest.raises(ValueError):
            make_objective(objective, **options)
    with pytest.raises(ValueError):
        Sampling("none")
    assert build_pdb(make_puzzle("pancake-5"), range(5)).layout.cells == 120

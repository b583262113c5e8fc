"""Losses and decoded values, each worked out by hand or by another formula."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import torch
from hstar.objectives.losses import (
    BASES,
    FIXED_SIGMA,
    LOSSES,
    LOWER_BOUNDS,
    RANKING,
    Objective,
    Pairs,
    Targets,
    decoded,
    location_and_scale,
    negative_log_likelihood,
    ranking_loss,
)
from torch import Tensor

from hstar.learned.heuristic import DECODERS

INFINITY = math.inf


def column(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def targets(
    h_star: list[float], base: list[float], lower: list[float], upper: list[float] | None = None
) -> Targets:
    above = column(*(upper or [INFINITY] * len(h_star)))
    weight = torch.ones_like(above)
    return Targets(column(*h_star), column(*base), column(*lower), above, weight)


# -- likelihoods

OUTPUTS = torch.tensor([[1.5, 0.0], [-0.5, 2.0], [4.0, -3.0]], dtype=torch.float64)
BOUNDED = targets([7, 2, 3], base=[5, 2, 0], lower=[6, 1, 3])


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_the_location_corrects_the_base_and_the_scale_is_between_bounds() -> None:
    mu, sigma = location_and_scale(OUTPUTS, BOUNDED.base, Objective())
    assert mu.tolist() == pytest.approx([6.5, 1.5, 4.0], rel=1e-12)
    learned = [0.1 + 10 * sigmoid(x) for x in (0, 2, -3)]
    assert sigma.tolist() == pytest.approx(learned, rel=1e-12)
    extreme = torch.tensor([[0.0, -1e4], [0.0, 1e4]], dtype=torch.float64)
    _, sigma = location_and_scale(extreme, torch.zeros(2), Objective())
    assert sigma.tolist() == pytest.approx([0.1, 10.1], rel=1e-12)
    fixed = Objective(sigma=0.7)
    assert location_and_scale(OUTPUTS[:, :1], BOUNDED.base, fixed)[1].tolist() == [0.7] * 3


@pytest.mark.parametrize("sigma", [None, 0.7])
def test_the_gaussian_likelihood_is_that_of_the_formula(sigma: float | None) -> None:
    """The lower bound takes no part in it."""
    loss = negative_log_likelihood(OUTPUTS, BOUNDED, Objective("gaussian", sigma))
    scales = [sigma or 0.1 + 10 * sigmoid(x) for x in (0, 2, -3)]
    errors = [7 - 6.5, 2 - 1.5, 3 - 4.0]
    expected = [
        e**2 / (2 * s**2) + math.log(s) + math.log(2 * math.pi) / 2
        for e, s in zip(errors, scales, strict=True)
    ]
    assert loss.tolist() == pytest.approx(expected, rel=1e-12)


def test_the_fixed_scale_makes_a_quarter_of_the_squared_error() -> None:
    loss = negative_log_likelihood(OUTPUTS, BOUNDED, Objective("gaussian", FIXED_SIGMA))
    constant = math.log(2 * math.sqrt(math.pi))
    expected = [e**2 / 4 + constant for e in (0.5, 0.5, 1.0)]
    assert loss.tolist() == pytest.approx(expected, rel=1e-12)


def density_sums(mu: float, sigma: float, low: float, high: float) -> tuple[float, float]:
    """The integrals of exp(-(x - mu)^2 / 2 sigma^2) and of x times that, by Simpson's rule."""
    high = min(high, mu + 12 * sigma, max(low, mu) + 40 * sigma)
    x = torch.linspace(low, high, 200_001, dtype=torch.float64)
    y = torch.exp(-(((x - mu) / sigma) ** 2) / 2)
    rule = torch.full_like(x, 2.0)
    rule[1::2] = 4.0
    rule[0] = rule[-1] = 1.0
    rule *= (high - low) / (3 * (len(x) - 1))
    return float((rule * y).sum()), float((rule * y * x).sum())


@pytest.mark.parametrize("upper", [None, [7.0, 2.5, 30.0]])
@pytest.mark.parametrize("sigma", [None, 1.4])
def test_the_truncated_likelihood_and_mean_are_the_integrals(
    sigma: float | None, upper: list[float] | None
) -> None:
    """Both bounds are open by epsilon, so that a label on a bound has a density."""
    objective = Objective("truncated-gaussian", sigma, epsilon=0.25)
    chosen = targets([7, 2, 3], base=[5, 2, 0], lower=[6, 1, 3], upper=upper)
    loss = negative_log_likelihood(OUTPUTS, chosen, objective)
    means = decoded(OUTPUTS, chosen, objective, "truncated-mean")
    for i, mu in enumerate([6.5, 1.5, 4.0]):
        scale = sigma or 0.1 + 10 * sigmoid(float(OUTPUTS[i, 1]))
        low, high = float(chosen.lower[i]) - 0.25, float(chosen.upper[i]) + 0.25
        mass, moment = density_sums(mu, scale, low, high)
        log_density = -(((float(chosen.h_star[i]) - mu) / scale) ** 2) / 2 - math.log(mass)
        assert float(loss[i]) == pytest.approx(-log_density, rel=1e-6)
        assert float(means[i]) == pytest.approx(moment / mass, rel=1e-6)
        assert low < float(means[i]) < high


def test_without_bounds_the_truncated_gaussian_is_the_gaussian() -> None:
    free = targets([7, 2, 3], base=[5, 2, 0], lower=[-INFINITY] * 3)
    truncated, gaussian = Objective("truncated-gaussian"), Objective("gaussian")
    torch.testing.assert_close(
        negative_log_likelihood(OUTPUTS, free, truncated),
        negative_log_likelihood(OUTPUTS, free, gaussian),
    )
    mean = decoded(OUTPUTS, free, truncated, "truncated-mean")
    assert mean.tolist() == pytest.approx([6.5, 1.5, 4.0], rel=1e-12)


@pytest.mark.parametrize("loss", ["gaussian", "truncated-gaussian"])
def test_gradients_are_those_of_the_loss(loss: str) -> None:
    def total(outputs: Tensor) -> Tensor:
        return negative_log_likelihood(outputs, BOUNDED, Objective(loss)).sum()

    assert torch.autograd.gradcheck(total, OUTPUTS.clone().requires_grad_(True), rtol=1e-4)


# -- decoding


def test_decoded_values_by_hand() -> None:
    """mu is 6.5, 1.5 and 4; the bounds [7, inf], [0, 1] and [3, inf]."""
    objective = Objective("gaussian")
    bounds = targets([0, 0, 0], base=[5, 2, 0], lower=[7, 0, 3], upper=[INFINITY, 1, INFINITY])
    for decode in ("mean", "value"):
        assert decoded(OUTPUTS, bounds, objective, decode).tolist() == [6.5, 1.5, 4]
    assert decoded(OUTPUTS, bounds, objective, "clip").tolist() == [7, 1, 4]


@pytest.mark.parametrize("loss", RANKING)
def test_a_ranking_is_output_plus_base_and_nothing_else(loss: str) -> None:
    value = decoded(OUTPUTS[:, :1], BOUNDED, Objective(loss), "value")
    assert value.tolist() == [6.5, 1.5, 4]


# -- rankings


def softplus(x: float) -> float:
    return math.log1p(math.exp(x))


H = column(3, 1, 2.5, 4)
PAIRS = Pairs(torch.tensor([1, 1, 2]), torch.tensor([0, 3, 3]), column(0, 5, 1, 2))


def test_l_gbfs_by_hand() -> None:
    """Pairs (1, 0), (1, 3) and (2, 3) with h = 3, 1, 2.5, 4."""
    expected = (softplus(1 - 3) + softplus(1 - 4) + softplus(2.5 - 4)) / 3
    assert float(ranking_loss(H, PAIRS, "l-gbfs")) == pytest.approx(expected, rel=1e-12)


def test_l_star_by_hand() -> None:
    """The same with f = 3, 6, 3.5, 6, so the first two pairs are badly ordered or a tie."""
    expected = (softplus(6 - 3) + softplus(6 - 6) + softplus(3.5 - 6)) / 3
    assert float(ranking_loss(H, PAIRS, "l-star")) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", RANKING)
def test_a_ranking_loss_falls_as_better_states_get_smaller_values(kind: str) -> None:
    h = H.clone().requires_grad_(True)
    ranking_loss(h, PAIRS, kind).backward()
    assert h.grad is not None
    assert (h.grad[[1]] > 0).all()
    assert (h.grad[[0, 3]] < 0).all()


def test_large_differences_do_not_overflow() -> None:
    h = torch.tensor([0.0, 1e30], requires_grad=True)
    pairs = Pairs(torch.tensor([1]), torch.tensor([0]), torch.zeros(2))
    loss = ranking_loss(h, pairs, "l-gbfs")
    loss.backward()
    assert loss.item() == pytest.approx(1e30)
    assert h.grad is not None
    assert h.grad.tolist() == [-1, 1]


# -- objectives


def test_what_an_objective_implies() -> None:
    rows = {
        ("gaussian", None): (2, "mean"),
        ("gaussian", 1.0): (1, "mean"),
        ("truncated-gaussian", None): (2, "truncated-mean"),
        ("truncated-gaussian", 1.0): (1, "truncated-mean"),
        ("l-gbfs", None): (1, "value"),
        ("l-star", 1.0): (1, "value"),
    }
    for (loss, sigma), (outputs, decode) in rows.items():
        objective = Objective(loss, sigma)
        assert (objective.outputs, objective.decode) == (outputs, decode)
        assert objective.decode in DECODERS
        assert Objective.from_dict(json.loads(json.dumps(objective.to_dict()))) == objective
        older = {name: value for name, value in objective.to_dict().items() if name != "cap"}
        assert Objective.from_dict(older) == objective


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"loss": "hinge"}, f"unknown loss 'hinge'; choose one of {', '.join(LOSSES)}"),
        ({"base": "oracle"}, f"unknown base 'oracle'; choose one of {', '.join(BASES)}"),
        ({"lower": "ff"}, f"unknown lower bound 'ff'; choose one of {', '.join(LOWER_BOUNDS)}"),
        ({"sigma": 0.0}, "sigma must be positive and finite, not 0.0"),
        ({"sigma": math.inf}, "sigma must be positive and finite, not inf"),
        ({"sigma": math.nan}, "sigma must be positive and finite, not nan"),
        ({"epsilon": 0.0}, "epsilon must be positive and finite, not 0.0"),
        *(
            (
                {"cap": 1.5, **fields},
                "a cap takes a base, a lower bound other than blind, and a distribution of h*; "
                "change these or leave out the cap",
            )
            for fields in (
                {"base": "none"},
                {"lower": "none"},
                {"lower": "blind"},
                {"loss": "l-star"},
            )
        ),
        *(
            ({"cap": cap}, f"a cap must be finite and at least 1, not {cap}")
            for cap in (0.99, 0.0, -2.0, math.inf, math.nan)
        ),
        ({"epsilon": -1.0}, "epsilon must be positive and finite, not -1.0"),
    ],
)
def test_an_objective_that_makes_no_sense_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        Objective(**fields)
    assert str(caught.value) == message

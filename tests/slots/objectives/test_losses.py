"""Losses and decoded values, each worked out by hand or by another formula."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from hstar.slots.decode import DECODES, find_decode
from hstar.slots.objectives import OBJECTIVES, make_objective
from hstar.slots.objectives.likelihood import (
    BASES,
    FIXED_SIGMA,
    LOWER_BOUNDS,
    Gaussian,
    location_and_scale,
)
from hstar.slots.objectives.objective import Objective, Targets
from hstar.training.evaluation import objective_of

RANKING = ("l-gbfs", "l-star", "rank-svm")
INFINITY = math.inf


def column(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def targets(
    h_star: list[float], base: list[float], lower: list[float], upper: list[float] | None = None
) -> Targets:
    above = column(*(upper or [INFINITY] * len(h_star)))
    return {
        "h_star": column(*h_star),
        "base": column(*base),
        "lower": column(*lower),
        "upper": above,
    }


def decoded(outputs: Tensor, of: Targets, objective: Objective, decode: str) -> Tensor:
    constants = objective.constants()
    return DECODES.find(decode).value(outputs, of["base"], of["lower"], constants)


# -- likelihoods

OUTPUTS = torch.tensor([[1.5, 0.0], [-0.5, 2.0], [4.0, -3.0]], dtype=torch.float64)
BOUNDED = targets([7, 2, 3], base=[5, 2, 0], lower=[6, 1, 3])


def likelihood(name: str, **options: Any) -> Gaussian:
    objective = make_objective(name, **options)
    assert isinstance(objective, Gaussian)
    return objective


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_the_location_corrects_the_base_and_the_scale_is_between_bounds() -> None:
    learned = likelihood("truncated-gaussian").constants()
    mu, sigma = location_and_scale(OUTPUTS, BOUNDED["base"], learned)
    assert mu.tolist() == pytest.approx([6.5, 1.5, 4.0], rel=1e-12)
    scales = [0.1 + 10 * sigmoid(x) for x in (0, 2, -3)]
    assert sigma.tolist() == pytest.approx(scales, rel=1e-12)
    extreme = torch.tensor([[0.0, -1e4], [0.0, 1e4]], dtype=torch.float64)
    _, sigma = location_and_scale(extreme, torch.zeros(2), learned)
    assert sigma.tolist() == pytest.approx([0.1, 10.1], rel=1e-12)
    fixed = likelihood("truncated-gaussian", sigma=0.7).constants()
    assert location_and_scale(OUTPUTS[:, :1], BOUNDED["base"], fixed)[1].tolist() == [0.7] * 3


@pytest.mark.parametrize("sigma", [None, 0.7])
def test_the_gaussian_likelihood_is_that_of_the_formula(sigma: float | None) -> None:
    """The lower bound takes no part in it."""
    loss = likelihood("gaussian", sigma=sigma).loss(OUTPUTS, BOUNDED)
    scales = [sigma or 0.1 + 10 * sigmoid(x) for x in (0, 2, -3)]
    errors = [7 - 6.5, 2 - 1.5, 3 - 4.0]
    expected = [
        e**2 / (2 * s**2) + math.log(s) + math.log(2 * math.pi) / 2
        for e, s in zip(errors, scales, strict=True)
    ]
    assert loss.tolist() == pytest.approx(expected, rel=1e-12)


def test_the_fixed_scale_makes_a_quarter_of_the_squared_error() -> None:
    loss = likelihood("gaussian", sigma=FIXED_SIGMA).loss(OUTPUTS, BOUNDED)
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
    """Both bounds are open by epsilon, so that a label on a bound has a density. A decode knows the
    lower bound only: an upper one comes from a plan, which search does not have."""
    objective = likelihood("truncated-gaussian", sigma=sigma, epsilon=0.25)
    chosen = targets([7, 2, 3], base=[5, 2, 0], lower=[6, 1, 3], upper=upper)
    loss = objective.loss(OUTPUTS, chosen)
    means = decoded(OUTPUTS, chosen, objective, "truncated-mean")
    for i, mu in enumerate([6.5, 1.5, 4.0]):
        scale = sigma or 0.1 + 10 * sigmoid(float(OUTPUTS[i, 1]))
        low, high = float(chosen["lower"][i]) - 0.25, float(chosen["upper"][i]) + 0.25
        mass, _ = density_sums(mu, scale, low, high)
        log_density = -(((float(chosen["h_star"][i]) - mu) / scale) ** 2) / 2 - math.log(mass)
        assert float(loss[i]) == pytest.approx(-log_density, rel=1e-6)
        mass, moment = density_sums(mu, scale, low, INFINITY)
        assert float(means[i]) == pytest.approx(moment / mass, rel=1e-6)
        assert low < float(means[i])


def test_without_bounds_the_truncated_gaussian_is_the_gaussian() -> None:
    free = targets([7, 2, 3], base=[5, 2, 0], lower=[-INFINITY] * 3)
    truncated, gaussian = likelihood("truncated-gaussian"), likelihood("gaussian")
    torch.testing.assert_close(truncated.loss(OUTPUTS, free), gaussian.loss(OUTPUTS, free))
    mean = decoded(OUTPUTS, free, truncated, "truncated-mean")
    assert mean.tolist() == pytest.approx([6.5, 1.5, 4.0], rel=1e-12)


@pytest.mark.parametrize("loss", ["gaussian", "truncated-gaussian"])
def test_gradients_are_those_of_the_loss(loss: str) -> None:
    def total(outputs: Tensor) -> Tensor:
        return likelihood(loss).loss(outputs, BOUNDED).sum()

    assert torch.autograd.gradcheck(total, OUTPUTS.clone().requires_grad_(True), rtol=1e-4)


# -- decoding


def test_decoded_values_by_hand() -> None:
    """mu is 6.5, 1.5 and 4; the lower bounds are 7, 0 and 3."""
    objective = likelihood("gaussian")
    bounds = targets([0, 0, 0], base=[5, 2, 0], lower=[7, 0, 3])
    for decode in ("mean", "value"):
        assert decoded(OUTPUTS, bounds, objective, decode).tolist() == [6.5, 1.5, 4]
    assert decoded(OUTPUTS, bounds, objective, "clip").tolist() == [7, 1.5, 4]


@pytest.mark.parametrize("decode", ["mean", "value", "clip", "truncated-mean"])
def test_no_label_enters_a_decoded_value(decode: str) -> None:
    """A decode is given outputs, base and lower bound; the cost of a plan is a label."""
    objective = likelihood("truncated-gaussian")
    plain = targets([7, 2, 3], base=[5, 2, 0], lower=[6, 1, 3])
    labelled = targets([6, 1, 4], base=[5, 2, 0], lower=[6, 1, 3], upper=[6, 1, 4])
    found = [decoded(OUTPUTS, of, objective, decode).tolist() for of in (plain, labelled)]
    assert found[0] == found[1]


LOGITS = torch.tensor([[0.0, 2.0, 1.0], [3.0, 3.0, -1.0], [-9.0, -9.0, 4.0]], dtype=torch.float64)


def test_decoded_classes_by_hand() -> None:
    """Of equal logits the lowest class counts, and the base is added."""
    constants = {"values": [0, 3, 8], "tau": 0.9, "temperature": 1.0}
    nothing = torch.zeros(3)
    likeliest = DECODES.find("argmax").value(LOGITS, column(0, 0, 1), nothing, constants)
    assert likeliest.tolist() == [3, 0, 9]
    # P(class >= 1) is 0.91, 0.51 and nearly 1; P(class >= 2) is 0.24, 0.01 and nearly 1.
    for tau, expected in ((0.9, [3, 0, 9]), (0.95, [0, 0, 9]), (0.5, [3, 3, 9]), (0.0, [8, 8, 9])):
        chosen = {**constants, "tau": tau}
        found = DECODES.find("quantile").value(LOGITS, column(0, 0, 1), nothing, chosen)
        assert found.tolist() == expected


@pytest.mark.parametrize("loss", RANKING)
def test_a_ranking_is_output_plus_base_and_nothing_else(loss: str) -> None:
    value = decoded(OUTPUTS[:, :1], BOUNDED, make_objective(loss), "value")
    assert value.tolist() == [6.5, 1.5, 4]


# -- rankings


def softplus(x: float) -> float:
    return math.log1p(math.exp(x))


H = column(3, 1, 2.5, 4)
PAIRS = {
    "better": torch.tensor([1, 1, 2]),
    "worse": torch.tensor([0, 3, 3]),
    "g": column(0, 5, 1, 2),
}


def ranking_loss(h: Tensor, pairs: Targets, name: str) -> Tensor:
    """Of states whose values are h; a base is what outputs are added to."""
    base = torch.arange(len(h), dtype=h.dtype)
    return make_objective(name).loss((h - base)[:, None], {**pairs, "base": base})


def test_l_gbfs_by_hand() -> None:
    """Pairs (1, 0), (1, 3) and (2, 3) with h = 3, 1, 2.5, 4."""
    expected = (softplus(1 - 3) + softplus(1 - 4) + softplus(2.5 - 4)) / 3
    assert float(ranking_loss(H, PAIRS, "l-gbfs")) == pytest.approx(expected, rel=1e-12)


def test_l_star_by_hand() -> None:
    """The same with f = 3, 6, 3.5, 6, so the first two pairs are badly ordered or a tie."""
    expected = (softplus(6 - 3) + softplus(6 - 6) + softplus(3.5 - 6)) / 3
    assert float(ranking_loss(H, PAIRS, "l-star")) == pytest.approx(expected, rel=1e-12)


def test_rank_svm_by_hand() -> None:
    """Two pairs are a margin of 1 apart, so only a smaller margin costs."""
    assert float(ranking_loss(H, PAIRS, "rank-svm")) == 0.0
    closer = torch.tensor([1.5, 1.0, 2.5, 2.0], dtype=H.dtype)
    expected = ((1 + 1 - 1.5) ** 2 + 0 + (1 + 2.5 - 2) ** 2) / 3
    assert float(ranking_loss(closer, PAIRS, "rank-svm")) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", ["l-gbfs", "l-star"])
def test_a_ranking_loss_falls_as_better_states_get_smaller_values(kind: str) -> None:
    h = H.clone().requires_grad_(True)
    ranking_loss(h, PAIRS, kind).backward()
    assert h.grad is not None
    assert (h.grad[[1]] > 0).all()
    assert (h.grad[[0, 3]] < 0).all()


def test_large_differences_do_not_overflow() -> None:
    h = torch.tensor([0.0, 1e30], requires_grad=True)
    pairs = {"better": torch.tensor([1]), "worse": torch.tensor([0]), "g": torch.zeros(2)}
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
        ("rank-svm", None): (1, "value"),
    }
    for (loss, sigma), (outputs, decode) in rows.items():
        options = {} if loss in RANKING else {"sigma": sigma}
        objective = make_objective(loss, **options)
        assert (objective.outputs, find_decode(None, objective).name) == (outputs, decode)
        assert all(find_decode(name, objective).name == name for name in objective.decodes)
        assert objective_of(json.loads(json.dumps(objective.to_dict()))) == objective
    for name in ("ce", "cea"):
        objective = make_objective(name, values=(0, 2, 5))
        assert (objective.outputs, find_decode(None, objective).name) == (3, "argmax")
        assert objective_of(json.loads(json.dumps(objective.to_dict()))) == objective


@pytest.mark.parametrize("name", list(OBJECTIVES))
def test_only_decodes_of_the_same_form_fit(name: str) -> None:
    objective = make_objective(name)
    named = {DECODES.find(name).alias for name in objective.decodes}
    for decode in DECODES:
        if decode in objective.decodes or decode in named:
            continue
        message = f"decode '{decode}' reads outputs of the form .* choose "
        with pytest.raises(ValueError, match=message + ", ".join(objective.decodes)):
            find_decode(decode, objective)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"name": "hinge"},
            f"unknown objective 'hinge'; choose one of {', '.join(OBJECTIVES)}, "
            "or module:attribute",
        ),
        ({"base": "oracle"}, f"unknown base 'oracle'; choose one of {', '.join(BASES)}"),
        (
            {"name": "l-star", "base": "oracle"},
            f"unknown base 'oracle'; choose one of {', '.join(BASES)}",
        ),
        ({"lower": "ff"}, f"unknown lower bound 'ff'; choose one of {', '.join(LOWER_BOUNDS)}"),
        ({"sigma": 0.0}, "sigma must be positive and finite, not 0.0"),
        ({"sigma": math.inf}, "sigma must be positive and finite, not inf"),
        ({"sigma": math.nan}, "sigma must be positive and finite, not nan"),
        ({"epsilon": 0.0}, "epsilon must be positive and finite, not 0.0"),
        *(
            (
                {"cap": 1.5, **fields},
                "a cap takes a base and a lower bound other than blind; "
                "change these or leave out the cap",
            )
            for fields in ({"base": "none"}, {"lower": "none"}, {"lower": "blind"})
        ),
        ({"name": "l-star", "cap": 1.5}, "objective 'l-star' has no option cap; it has: base"),
        (
            {"name": "l-gbfs", "cap": 1.5, "sigma": 1.0},
            "objective 'l-gbfs' has no option cap, sigma; it has: base",
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
        make_objective(**{"name": "truncated-gaussian", **fields})
    assert str(caught.value) == message

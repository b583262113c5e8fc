"""What bounds mean to a loss where only a plan is known, and quantiles above a lower bound."""

from __future__ import annotations

import math

import pytest
import torch
from test_losses import INFINITY, OUTPUTS, density_sums, likelihood, sigmoid, targets
from torch import Tensor

from hstar.slots.decode import find_decode
from hstar.slots.objectives import make_objective
from hstar.slots.objectives.likelihood import FIXED_SIGMA


@pytest.mark.parametrize("sigma", [None, 1.4])
def test_a_censored_label_counts_the_mass_between_its_bounds(sigma: float | None) -> None:
    """The second row has an exact label, beside another plan."""
    objective = likelihood("truncated-gaussian", sigma=sigma, epsilon=0.25)
    upper = [9.0, 4.0, 5.0]
    known = targets([9, 2, 5], base=[5, 2, 0], lower=[6, 1, -INFINITY], upper=upper)
    exact = objective.loss(OUTPUTS, known)
    censored = objective.loss(OUTPUTS, {**known, "is_bound": torch.tensor([True, False, True])})
    assert censored[1] == exact[1]
    for i, mu in ((0, 6.5), (2, 4.0)):
        learned = 0.1 + 10 * sigmoid(float(OUTPUTS[i, 1]))
        expected = 0.0
        for scale in [sigma] if sigma else [FIXED_SIGMA, learned]:
            low = max(float(known["lower"][i]) - 0.25, mu - 40 * scale)
            mass, _ = density_sums(mu, scale, low, upper[i] + 0.25)
            expected -= math.log(mass / (scale * math.sqrt(2 * math.pi)))
        assert float(censored[i]) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "options"), [("interval", {}), ("truncated-gaussian", {"sigma": 1.3})]
)
def test_gradients_of_censored_labels_are_those_of_the_loss(
    name: str, options: dict[str, float]
) -> None:
    known = targets([9, 2, 30], base=[5, 2, 0], lower=[6, 1, 20], upper=[9, 4, 30])
    known["is_bound"] = torch.tensor([True, False, True])

    def total(outputs: Tensor) -> Tensor:
        return make_objective(name, **options).loss(outputs, known).sum()

    assert torch.autograd.gradcheck(total, OUTPUTS.clone().requires_grad_(True), rtol=1e-4)


def test_a_learned_scale_does_not_pull_at_the_location_of_a_censored_label() -> None:
    """Else a small one would make all locations within the bounds alike."""
    known = targets([9], base=[5], lower=[3], upper=[9])
    known["is_bound"] = torch.tensor([True])
    slopes = []
    for scale in (-9.0, 3.0):
        outputs = torch.tensor([[-1.0, scale]], dtype=torch.float64, requires_grad=True)
        likelihood("truncated-gaussian").loss(outputs, known).sum().backward()
        assert outputs.grad is not None
        slopes.append(outputs.grad[0, 0].item())
        assert outputs.grad[0, 1].item() >= 0  # towards a smaller scale
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-9)
    assert slopes[0] != 0


def test_an_interval_is_tight_where_the_label_is_exact() -> None:
    """Whatever else is known; where it is not, any value well between the bounds is as good."""
    objective = make_objective("interval", scale=0.1)
    known = targets([4, 4, 8, 8], base=[4, 5, 5, 6], lower=[1, 1, 2, 2], upper=[8, 8, 8, 8])
    known["is_bound"] = torch.tensor([False, False, True, True])
    loss = objective.loss(torch.zeros(4, 1, dtype=torch.float64), known)
    assert loss[0] < 0.1 < 4 < loss[1]
    assert loss[2:].tolist() == pytest.approx([0, 0], abs=1e-9)


@pytest.mark.parametrize("tau", [0.01, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("sigma", [None, 0.7])
def test_a_quantile_leaves_the_probability_above_it(sigma: float | None, tau: float) -> None:
    """The last row lies 80 deviations below its bound, where only the tail counts; the first has no
    bound."""
    outputs = torch.tensor([[1.5, 0.0], [4.0, 0.5], [-50.0, 0.0]], dtype=torch.float64)
    known = targets([0, 0, 0], base=[5, 2, 0], lower=[-INFINITY, 5, 6])
    objective = likelihood("truncated-gaussian", sigma=sigma, epsilon=0.25)
    constants = {**objective.constants(), "tau": tau}
    decode = find_decode("quantile", objective)
    found = decode.value(outputs, known["base"], known["lower"], constants)
    for i, mu in enumerate([6.5, 6.0, -50.0]):
        scale = sigma or 0.1 + 10 * sigmoid(float(outputs[i, 1]))
        x, bound = float(found[i]), float(known["lower"][i])
        ends = [(end - mu) / (scale * math.sqrt(2)) for end in (x, bound - 0.25)]
        assert x >= bound
        if x > bound and ends[1] < 25:
            assert math.erfc(ends[0]) / math.erfc(ends[1]) == pytest.approx(tau, rel=1e-9)
        elif x > bound:  # the tail falls like exp(-a (x - l) / sigma)
            a = ends[1] * math.sqrt(2)
            assert (x - bound + 0.25) / scale * a == pytest.approx(-math.log(tau), rel=1e-2)
    higher = decode.value(outputs, known["base"], known["lower"], {**constants, "tau": tau / 2})
    assert (higher >= found).all()


def test_the_levels_of_a_quantile_are_checked() -> None:
    for tau in (0.0, 1.0, -0.5):
        with pytest.raises(ValueError, match="tau is a probability between 0 and 1"):
            find_decode("quantile", likelihood("gaussian")).check({"tau": tau})

"""Bounds as functions: how they grow, and what they say of small cases."""

from __future__ import annotations

import math

import pytest
import theory

from hstar.papers.admissible_cea.figures import inadmissibility_error


def test_values_on_small_cases() -> None:
    assert theory.pdim_values(1) == pytest.approx(math.log2(3))
    assert theory.pdim_abstract_values(100, 10) == pytest.approx(10 * math.log2(201))
    assert theory.pdim_abstract_values(100, 100) == theory.pdim_values(100)
    assert theory.pdim_classes(8, 4) == 16
    assert theory.pdim_inadmissibility(2) == pytest.approx(4 * 2 + 2)


def test_networks_do_not_depend_on_the_graph_but_on_their_size() -> None:
    small = theory.pdim_network([100, 50], 10_000, 12, 30)
    assert small < theory.pdim_network([100, 50, 50], 12_500, 12, 30)
    assert small < theory.pdim_network([100, 50], 10_000, 12, 3000)
    assert small < theory.pdim_goal_dependent([100, 50], 10_000, 12, 30, goals=10**6)
    # The corner network against the corners themselves: 88 million states, 402 thousand weights.
    corners = theory.pdim_classes(88_179_840, 12)
    widths = [600, 200, 200, 200, 200, 200]
    network = theory.pdim_network(widths, 402_012, 12, 20)
    assert network < corners


def test_bound_solves_the_proofs_inequality() -> None:
    widths, parameters, classes, states = [64, 32], 4000, 10, 20
    bound = theory.pdim_network(widths, parameters, classes, states)

    def shattered(t: float) -> bool:
        gamma = 2 * classes * states * (states - 1) / 2
        last = classes * widths[-1]
        right = len(widths) + 1
        right += len(widths) * parameters * math.log2(2 * math.e * t * sum(widths) / parameters)
        right += last * math.log2(2 * math.e * t * gamma / classes)
        right += parameters * math.log2(2 * math.e * t * (len(widths) + 1) / parameters)
        return t - 1 <= right

    assert not shattered(bound + 2)


def test_errors_fall_and_samples_suffice() -> None:
    errors = [theory.generalisation_error(1000, n, 20, 0.05) for n in (500, 10**4, 10**6, 10**8)]
    assert errors[0] == 20 and errors == sorted(errors, reverse=True)
    assert inadmissibility_error(100, 400, 2, 0.1) == pytest.approx(
        2 * inadmissibility_error(100, 1600, 2, 0.1)
    )
    few = theory.samples_needed(50, 1.0, 10, 0.1)
    assert theory.samples_needed(50, 0.5, 10, 0.1) > 4 * few - 4
    assert theory.samples_needed(50, 10, 10, 0.1) == 1


def test_suboptimality_bound() -> None:
    exact = {"a": 3.0, "b": 2.0, "c": 0.0}
    guess = {"a": 2.0, "b": 4.0, "c": 0.0}
    path: list[object] = ["a", "b", "c"]
    assert theory.suboptimality_bound(path, lambda v: guess[str(v)], lambda v: exact[str(v)]) == 2
    assert theory.suboptimality_bound(path, lambda v: 0.0, lambda v: exact[str(v)]) == 0


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="states"):
        theory.pdim_values(0)
    with pytest.raises(ValueError, match="delta"):
        theory.generalisation_error(10, 100, 1, 0)
    with pytest.raises(ValueError, match="layers"):
        theory.pdim_network([], 10, 2, 2)

"""Bounds of "Learning admissible heuristics for A*: theory and practice", as functions of sizes.

U is the class of functions that say how well A* does on an instance (a number in [0, H], such as
expansions), one function per heuristic. Its pseudo-dimension Pdim(U) is the largest number of
instances on which the class can realise every pattern of "at least z_i" and "less than z_i"; by
Proposition 1 it says how many training instances make the mean on them close to the expectation.

The paper states the bounds up to constants. Where its proof has explicit constants these functions
use them, and the docstrings say which; otherwise the constant is 1. Logarithms are to base 2 in
numbers of patterns (they count bits), natural elsewhere. All graphs have one constant edge cost
(Assumption 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence


def pdim_values(states: int) -> float:
    """Theorem 1: h any of R^n, n states. Then Pdim(U) = O(n log n).

    The 2n * (n choose 2) hyperplanes h(v_i) - h(v_j) = +-1, ..., +-n (in edge costs) cut R^n into
    at most (2n + 1)^n regions within which A* behaves alike, so 2^N <= (2n + 1)^n for N shattered
    instances: the number returned is n log2(2n + 1).
    """
    _check_positive(states=states)
    return states * math.log2(2 * states + 1)


def pdim_abstract_values(states: int, abstract_states: int) -> float:
    """Theorem 2: h learned from a pattern database with m abstract states of a graph with n. Then
    Pdim(U) = O(m log n).

    h lives in R^m, while g-values still come from n states: m log2(2n + 1).
    """
    _check_positive(states=states, abstract_states=abstract_states)
    return abstract_states * math.log2(2 * states + 1)


def pdim_inadmissibility(states: int) -> float:
    """Theorem 4: the class of inadmissibility functions Psi_h(x) = max over an optimal path of
    h(v) - h*(v), with h any of R^n, has pseudo-dimension O(n log n).

    From Proposition 2 with Pdim(F*) <= n, VCdim(B*) = n and K = n boundaries:
    2n log2(2n) + n log2(n).
    """
    _check_positive(states=states)
    return 2 * states * math.log2(2 * states) + states * math.log2(states)


def pdim_classes(states: int, classes: int) -> float:
    """Theorem 5: h: V -> [0, D] by a network with l = ceil(D / cost) classes. Then Pdim(U) = O(n),
    and O(m) if it is learned from a pattern database with m states.

    There are l^n heuristics at all, so 2^N <= l^n: n log2(l). Give m as `states` for the second
    case.
    """
    _check_positive(states=states, classes=classes)
    return states * math.log2(classes)


def pdim_network(widths: Sequence[int], parameters: int, classes: int, search_states: int) -> float:
    """Theorem 6: h by a ReLU network with L hidden layers, U neurons in them (`widths`), W
    parameters and l classes, where |B| states describe an instance. Then
    Pdim(U) = O(L W log(U + l) + W log(l |B| (L + 1))), whatever the size of the graph.

    Learned from a pattern database, l and |B| are those of the abstract space. The number returned
    solves the proof's last inequality for t, with Gamma = 2 l (|B| choose 2) hyperplanes and w the
    width of the last hidden layer:

        t (1 - 1 / (8 ln 2)) <= L + 1 + A log2(8 A / e) + L W log2(2 e U / W)
                                + l w log2(2 e Gamma / l) + W log2(2 e (L + 1) / W),
        A = L W + l w + W.
    """
    return _network_bound(widths, parameters, classes, _pairs(search_states, classes))


def pdim_goal_dependent(
    widths: Sequence[int], parameters: int, classes: int, search_states: int, goals: int
) -> float:
    """Theorem 7: as Theorem 6, with a goal that may be any of n states. Then
    Pdim(U) = O(L W log(U + l) + W log(l |B| n (L + 1))).

    There are hyperplanes for each goal: Gamma = 2 l n (|B| choose 2). Learned from a pattern
    database, `goals` is its number of states m.
    """
    _check_positive(goals=goals)
    return _network_bound(widths, parameters, classes, goals * _pairs(search_states, classes))


def generalisation_error(pdim: float, samples: int, range_: float, delta: float) -> float:
    """Proposition 1: with probability 1 - delta over N samples, for all h in a class into [0, H],

        |mean over samples - expectation| = O(H sqrt((Pdim log(N / Pdim) + log(1 / delta)) / N)).

    With constant 1. Where N <= Pdim the bound says nothing, and H is returned.
    """
    _check_positive(pdim=pdim, samples=samples, range_=range_)
    _check_probability(delta)
    if samples <= pdim:
        return float(range_)
    complexity = pdim * math.log(samples / pdim) + math.log(1 / delta)
    return float(range_ * min(1.0, math.sqrt(complexity / samples)))


def samples_needed(pdim: float, epsilon: float, range_: float, delta: float) -> int:
    """Proposition 1 the other way round: so many samples make the error at most epsilon,

    N = Omega(H^2 / epsilon^2 (Pdim log(H / epsilon) + log(1 / delta))), with constant 1.
    """
    _check_positive(pdim=pdim, epsilon=epsilon, range_=range_)
    _check_probability(delta)
    if epsilon >= range_:
        return 1
    complexity = pdim * math.log(range_ / epsilon) + math.log(1 / delta)
    return math.ceil((range_ / epsilon) ** 2 * complexity)


def suboptimality_bound(
    path: Sequence[object], h: Callable[[object], float], exact: Callable[[object], float]
) -> float:
    """Theorem 3: A* with reopening returns a solution of cost C with

        C - C* <= max over v of an optimal path of h(v) - h*(v).

    `path` are the states of an optimal path. (The paper's proof has strict signs; with ties between
    f-values the bound is attained.) For an admissible h the bound is 0: the solution is optimal.
    """
    return max((h(state) - exact(state) for state in path), default=0.0)


def _pairs(search_states: int, classes: int) -> float:
    """Gamma: the hyperplanes that tell the orders of pairs of states apart."""
    _check_positive(search_states=search_states, classes=classes)
    return max(1.0, 2 * classes * search_states * (search_states - 1) / 2)


def _network_bound(
    widths: Sequence[int], parameters: int, classes: int, hyperplanes: float
) -> float:
    _check_positive(layers=len(widths), parameters=parameters, narrowest=min(widths, default=0))
    layers, neurons, last = len(widths), sum(widths), classes * widths[-1]
    terms = layers * parameters + last + parameters
    bound = layers + 1 + terms / math.log(2) * math.log(8 * terms / math.e)
    bound += layers * parameters * math.log2(2 * math.e * neurons / parameters)
    bound += last * math.log2(2 * math.e * hyperplanes / classes)
    bound += parameters * math.log2(2 * math.e * (layers + 1) / parameters)
    return max(bound, 1.0) / (1 - 1 / (8 * math.log(2)))


def _check_positive(**numbers: float) -> None:
    for name, number in numbers.items():
        if not number > 0:
            raise ValueError(f"{name.rstrip('_')} must be positive, not {number}")


def _check_probability(delta: float) -> None:
    if not 0 < delta < 1:
        raise ValueError(f"delta is a probability between 0 and 1, not {delta}")

"""Blocksworld with four operators; initial and goal states uniformly random.

The domain is listing 1 of Nunez-Molina et al., "On Using Admissible Bounds for Learning Forward
Search Heuristics". States are drawn as in Slaney and Thiebaux, "Blocks World revisited" (2001):
let g(n, k) be the number of states that can still be built from n towers whose place is open and k
that stand on the table,

    g(0, k) = 1,    g(n, k) = g(n-1, k+1) + (n-1+k) g(n-1, k);

an open tower goes to the table with probability g(n-1, k+1) / g(n, k), otherwise onto one of the
n-1+k others with equal probability. Integers are exact, so the states are exactly uniform.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from random import Random

from hstar.domains.generated_problem import Atom, GeneratedProblem
from hstar.domains.generator import Generator, Parameter, Parameters, grid, numbered, plans


@cache
def completions(blocks: int) -> list[list[int]]:
    """The table g[n][k] for n + k <= blocks."""
    table = [[1] * (blocks + 1)]
    for n in range(1, blocks + 1):
        above = table[-1]
        table.append([above[k + 1] + (n - 1 + k) * above[k] for k in range(blocks + 1 - n)])
    return table


def random_state(blocks: tuple[str, ...], rng: Random) -> list[list[str]]:
    """A uniformly random state with an empty hand: towers, each from the table upwards."""
    g = completions(len(blocks))
    placing = [[block] for block in blocks]
    table: list[list[str]] = []
    while placing:
        tower = placing.pop()
        n, k = len(placing) + 1, len(table)
        if rng.randrange(g[n][k]) < g[n - 1][k + 1]:
            table.append(tower)
        else:
            below = rng.randrange(n - 1 + k)
            (placing[below] if below < n - 1 else table[below - n + 1]).extend(tower)
    return table


def sample(parameters: Parameters, rng: Random) -> GeneratedProblem:
    blocks = numbered("b", parameters["blocks"], first=1)
    start = _on(random_state(blocks, rng))
    goal = _on(random_state(blocks, rng))
    covered = set(start.values())
    init: list[Atom] = [("arm-empty",)]
    init += [("on", b, start[b]) if b in start else ("on-table", b) for b in blocks]
    init += [("clear", b) for b in blocks if b not in covered]
    return GeneratedProblem({"": blocks}, init, [("on", b, goal[b]) for b in blocks if b in goal])


def _on(towers: list[list[str]]) -> dict[str, str]:
    return {upper: lower for tower in towers for lower, upper in pairwise(tower)}


SMALL = grid(blocks=range(5, 17))
LARGE = grid(blocks=range(11, 23))
SUMMARY = "stack blocks with one hand; start and goal are uniformly random states"
PARAMETERS = (Parameter("blocks", "number of blocks", 2, growth=1),)
PLANS = plans(SMALL, LARGE, train=38, validation=11, test=11)
GENERATOR = Generator("blocksworld", SUMMARY, PARAMETERS, PLANS, sample, large=17)

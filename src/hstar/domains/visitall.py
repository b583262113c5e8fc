"""Visitall: walk on a full square grid until all goal cells have been visited.

The domain is listing 4 of Nunez-Molina et al., "On Using Admissible Bounds for Learning Forward
Search Heuristics". The start is uniformly random; it is a goal, and every other cell is one with
probability `ratio`; draws without any other goal are repeated.

With ratio 1 only the start varies: a grid of side 3 has 9 such problems, 3 up to symmetry. When
those are used up, the ratio is lowered by 0.1, which keeps the problems as small as asked for.
"""

from __future__ import annotations

from random import Random

from hstar.domains.generated_problem import Atom, GeneratedProblem
from hstar.domains.generator import Generator, Parameter, Parameters, grid, plans

SMALLEST_RATIO = 0.5  # the lowest that `enlarge` uses; below it the grid grows instead


def sample(parameters: Parameters, rng: Random) -> GeneratedProblem:
    side = int(parameters["side"])
    cells = {(x, y): f"loc-x{x}-y{y}" for x in range(side) for y in range(side)}
    places = tuple(cells.values())
    start = rng.choice(places)
    goal = [start]
    while len(goal) == 1:
        goal = [cell for cell in places if (rng.random() < parameters["ratio"]) or cell == start]
    init: list[Atom] = [("at-robot", start), ("visited", start)]
    for (x, y), cell in cells.items():
        beside = [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)]
        init += [("connected", cell, cells[other]) for other in beside if other in cells]
    return GeneratedProblem({"place": places}, init, [("visited", cell) for cell in goal])


def enlarge(size: Parameters) -> Parameters:
    if size["ratio"] > SMALLEST_RATIO:
        return size | {"ratio": max(round(size["ratio"] - 0.1, 6), SMALLEST_RATIO)}
    return size | {"side": size["side"] + 1}


SMALL = grid(side=range(3, 6), ratio=(0.5, 1.0))
LARGE = grid(side=range(6, 9), ratio=(0.5, 1.0))
SUMMARY = "visit the goal cells of a square grid"
PARAMETERS = (
    Parameter("side", "cells along a side of the grid", 2),
    Parameter("ratio", "probability that a cell is a goal", 0.01, 1.0, whole=False),
)
PLANS = plans(SMALL, LARGE, train=70, validation=17, test=17)
# Large: with ratio 1 the three test sizes have only 22 problems up to symmetry.
GENERATOR = Generator("visitall", SUMMARY, PARAMETERS, PLANS, sample, large=36, enlarge=enlarge)

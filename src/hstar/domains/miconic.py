"""Miconic: a lift brings passengers to their floors.

The STRIPS domain of the planning competition of 2000. The start of the lift and the
origins and destinations of passengers are uniformly random; no passenger starts at the destination.
"""

from __future__ import annotations

from random import Random

from hstar.domains.generated_problem import Atom, GeneratedProblem
from hstar.domains.generator import Generator, Parameter, Parameters, grid, numbered, plans, sizes


def sample(parameters: Parameters, rng: Random) -> GeneratedProblem:
    floors = numbered("f", parameters["floors"])
    passengers = numbered("p", parameters["passengers"])
    init: list[Atom] = [
        ("above", lower, upper)
        for number, lower in enumerate(floors)
        for upper in floors[number + 1 :]
    ]
    init.append(("lift-at", rng.choice(floors)))
    for passenger in passengers:
        origin = rng.choice(floors)
        destination = rng.choice([floor for floor in floors if floor != origin])
        init += [("origin", passenger, origin), ("destin", passenger, destination)]
    goal = [("served", passenger) for passenger in passengers]
    return GeneratedProblem({"passenger": passengers, "floor": floors}, init, goal)


SMALL = grid(floors=range(3, 9), passengers=range(2, 7))
LARGE = sizes(("floors", "passengers"), ((number, number) for number in range(10, 31, 5)))
SUMMARY = "serve passengers with a lift"
PARAMETERS = (
    Parameter("floors", "number of floors", 2),
    Parameter("passengers", "number of passengers", 1, growth=1),
)
PLANS = plans(SMALL, LARGE, train=12, validation=3, test=20)
GENERATOR = Generator("miconic", SUMMARY, PARAMETERS, PLANS, sample, large=20)

"""Ferry: one boat, one car at a time; every location is joined to every other.

The domain is listing 2 of Nunez-Molina et al., "On Using Admissible Bounds for Learning Forward
Search Heuristics". Start places and destinations are uniformly random; a car may be at its
destination already.
"""

from __future__ import annotations

from random import Random

from hstar.domains.generated_problem import Atom, GeneratedProblem
from hstar.domains.generator import Generator, Parameter, Parameters, grid, numbered, plans


def sample(parameters: Parameters, rng: Random) -> GeneratedProblem:
    locations = numbered("l", parameters["locations"])
    cars = numbered("c", parameters["cars"])
    init: list[Atom] = [("location", place) for place in locations]
    init += [("car", car) for car in cars]
    init += [("not-eq", one, other) for one in locations for other in locations if one != other]
    init += [("empty-ferry",), ("at-ferry", rng.choice(locations))]
    init += [("at", car, rng.choice(locations)) for car in cars]
    goal = [("at", car, rng.choice(locations)) for car in cars]
    return GeneratedProblem({"": locations + cars}, init, goal)


SMALL = grid(locations=range(2, 7), cars=range(2, 7))
LARGE = grid(locations=range(10, 31, 5), cars=range(10, 31, 5))
SUMMARY = "bring cars to their locations with a ferry that carries one"
PARAMETERS = (
    Parameter("locations", "number of locations", 2),
    Parameter("cars", "number of cars", 1, growth=1),
)
PLANS = plans(SMALL, LARGE, train=16, validation=4, test=4)
GENERATOR = Generator("ferry", SUMMARY, PARAMETERS, PLANS, sample, large=20)

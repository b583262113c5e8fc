"""Logistics: trucks within cities, airplanes between their airports.

The untyped STRIPS domain of the planning competitions of 1998 and 2000, where types are unary
predicates. Each city has one truck; its first location is the airport. The places of trucks
(in their city), airplanes (at airports) and packages, and the destinations, are uniformly random.
"""

from __future__ import annotations

from random import Random

from hstar.domains.generated_problem import Atom, GeneratedProblem
from hstar.domains.generator import Generator, Parameter, Parameters, grid, numbered, plans, sizes


def sample(parameters: Parameters, rng: Random) -> GeneratedProblem:
    airplanes = numbered("a", parameters["airplanes"])
    cities = numbered("c", parameters["cities"])
    trucks = numbered("t", parameters["cities"])
    within = [numbered(f"l{city[1:]}-", parameters["locations"]) for city in cities]
    locations = tuple(place for places in within for place in places)
    airports = tuple(places[0] for places in within)
    packages = numbered("p", parameters["packages"])
    init: list[Atom] = [("airplane", airplane) for airplane in airplanes]
    init += [("city", city) for city in cities]
    init += [("truck", truck) for truck in trucks]
    init += [("location", place) for place in locations]
    init += [("airport", place) for place in airports]
    init += [("obj", package) for package in packages]
    for city, places in zip(cities, within, strict=True):
        init += [("in-city", place, city) for place in places]
    init += [
        ("at", truck, rng.choice(places)) for truck, places in zip(trucks, within, strict=True)
    ]
    init += [("at", airplane, rng.choice(airports)) for airplane in airplanes]
    init += [("at", package, rng.choice(locations)) for package in packages]
    goal = [("at", package, rng.choice(locations)) for package in packages]
    return GeneratedProblem({"": airplanes + cities + trucks + locations + packages}, init, goal)


NAMES = ("airplanes", "cities", "locations", "packages")
SMALL = tuple(
    size
    for size in grid(**{name: range(1, 4) for name in NAMES})
    if size["cities"] * size["locations"] > 1  # with one location every problem is trivial
)
LARGE = sizes(NAMES, ([number] * 4 for number in range(4, 9)))
SUMMARY = "deliver packages by trucks within cities and airplanes between them"
PARAMETERS = (
    Parameter("airplanes", "number of airplanes", 1),
    Parameter("cities", "number of cities", 1),
    Parameter("locations", "locations in each city", 1, growth=1),
    Parameter("packages", "number of packages", 1),
)
PLANS = plans(SMALL, LARGE, train=5, validation=1, test=20)
GENERATOR = Generator("logistics", SUMMARY, PARAMETERS, PLANS, sample, large=32)

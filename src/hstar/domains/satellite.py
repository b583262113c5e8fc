"""Satellite: point instruments at directions, calibrate them, take images.

The STRIPS domain of the planning competition of 2002. Each satellite carries one to `instruments`
instruments; each supports a random set of modes, at least one, and is calibrated at a random
ground station. Every star must be photographed in a mode that some instrument supports; with
probability 0.3 a satellite has a final direction. All choices are uniform.
"""

from __future__ import annotations

from random import Random

from hstar.domains.generated_problem import Atom, GeneratedProblem
from hstar.domains.generator import Generator, Parameter, Parameters, grid, numbered, plans, sizes

POINTING_GOALS = 0.3


def sample(parameters: Parameters, rng: Random) -> GeneratedProblem:
    satellites = numbered("satellite", parameters["satellites"])
    modes = numbered("mode", parameters["modes"])
    stations = numbered("station", parameters["stations"])
    stars = numbered("star", parameters["stars"])
    directions = stations + stars
    instruments: list[str] = []
    supported: set[str] = set()
    init: list[Atom] = []
    for satellite in satellites:
        for _ in range(rng.randint(1, int(parameters["instruments"]))):
            instrument = f"instrument{len(instruments)}"
            instruments.append(instrument)
            init.append(("on_board", instrument, satellite))
            bits = rng.randrange(1, 1 << len(modes))  # a subset that is not empty
            chosen = [mode for number, mode in enumerate(modes) if bits >> number & 1]
            supported.update(chosen)
            init += [("supports", instrument, mode) for mode in chosen]
            init.append(("calibration_target", instrument, rng.choice(stations)))
        init += [("power_avail", satellite), ("pointing", satellite, rng.choice(directions))]
    usable = [mode for mode in modes if mode in supported]
    goal: list[Atom] = [("have_image", star, rng.choice(usable)) for star in stars]
    goal += [
        ("pointing", satellite, rng.choice(directions))
        for satellite in satellites
        if rng.random() < POINTING_GOALS
    ]
    objects = {"satellite": satellites, "instrument": tuple(instruments), "mode": modes}
    return GeneratedProblem({**objects, "direction": directions}, init, goal)


NAMES = ("satellites", "instruments", "modes", "stations", "stars")
SMALL = grid(
    satellites=range(1, 3),
    instruments=range(1, 3),
    modes=range(1, 4),
    stations=range(1, 3),
    stars=range(1, 4),
)
LARGE = sizes(NAMES, ([number] * 5 for number in range(4, 9)))
SUMMARY = "take images of stars with the instruments of satellites"
PARAMETERS = (
    Parameter("satellites", "number of satellites", 1),
    Parameter("instruments", "most instruments on a satellite", 1),
    Parameter("modes", "modes of images", 1),
    Parameter("stations", "ground stations for calibration", 1),
    Parameter("stars", "stars to take images of", 1, growth=1),
)
PLANS = plans(SMALL, LARGE, train=5, validation=1, test=20)
GENERATOR = Generator("satellite", SUMMARY, PARAMETERS, PLANS, sample, large=18)

"""Parking: rearrange cars that stand at curbs, one or two in a row.

The STRIPS domain of the planning competition of 2011, without action costs. Start and goal are
random arrangements: cars in random order get random free places; a place behind another car is free
only after the one at the curb is taken. At least three curbs and two free places are needed so that
every arrangement can be reached from every other.
"""

from __future__ import annotations

from random import Random

from hstar.domains.generated_problem import Atom, GeneratedProblem
from hstar.domains.generator import Generator, Parameter, Parameters, numbered, plans, sizes


def sample(parameters: Parameters, rng: Random) -> GeneratedProblem:
    curbs = numbered("curb_", parameters["curbs"])
    cars = numbered("car_", parameters["cars"])
    rows = random_rows(curbs, cars, rng)
    init = _parked(rows)
    init += [("at-curb", row[0]) for row in rows.values() if row]
    init += [("car-clear", row[-1]) for row in rows.values() if row]
    init += [("curb-clear", curb) for curb, row in rows.items() if not row]
    goal = _parked(random_rows(curbs, cars, rng))
    return GeneratedProblem({"car": cars, "curb": curbs}, init, goal)


def random_rows(curbs: tuple[str, ...], cars: tuple[str, ...], rng: Random) -> dict[str, list[str]]:
    """The cars at each curb, the one at the curb first."""
    rows: dict[str, list[str]] = {curb: [] for curb in curbs}
    order = list(cars)
    rng.shuffle(order)
    for car in order:
        rows[rng.choice([curb for curb in curbs if len(rows[curb]) < 2])].append(car)
    return rows


def _parked(rows: dict[str, list[str]]) -> list[Atom]:
    atoms: list[Atom] = []
    for curb, row in rows.items():
        if row:
            atoms.append(("at-curb-num", row[0], curb))
        if len(row) == 2:
            atoms.append(("behind-car", row[1], row[0]))
    return atoms


def mismatch(parameters: Parameters) -> str:
    curbs, cars = parameters["curbs"], parameters["cars"]
    most = 2 * (curbs - 1)
    return "" if cars <= most else f"{curbs} curbs take at most {most} cars, not {cars}"


NAMES = ("curbs", "cars")
SMALL = sizes(NAMES, ((curbs, cars) for curbs in (3, 4, 5) for cars in range(curbs, 2 * curbs - 1)))
LARGE = sizes(NAMES, ((curbs, 2 * (curbs - 1)) for curbs in range(6, 11)))
SUMMARY = "rearrange cars parked one behind the other"
PARAMETERS = (
    Parameter("curbs", "number of curbs", 3, growth=1),
    Parameter("cars", "number of cars, at most 2 (curbs - 1)", 1, growth=1),
)
PLANS = plans(SMALL, LARGE, train=40, validation=10, test=20)
GENERATOR = Generator("parking", SUMMARY, PARAMETERS, PLANS, sample, large=16, mismatch=mismatch)

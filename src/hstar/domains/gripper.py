"""Gripper: a robot with two hands carries balls between two rooms.

The domain is listing 3 of Nunez-Molina et al., "On Using Admissible Bounds for Learning Forward
Search Heuristics". Unlike in the competition, the rooms of the robot, of the balls and of their
goals are uniformly random; a ball may be in its goal room already.
"""

from __future__ import annotations

from random import Random

from hstar.domains.generated_problem import Atom, GeneratedProblem
from hstar.domains.generator import Generator, Parameter, Parameters, grid, numbered, plans

ROOMS = ("rooma", "roomb")
GRIPPERS = ("left", "right")


def sample(parameters: Parameters, rng: Random) -> GeneratedProblem:
    balls = numbered("ball", parameters["balls"], first=1)
    init: list[Atom] = [("room", room) for room in ROOMS]
    init += [("gripper", gripper) for gripper in GRIPPERS]
    init += [("ball", ball) for ball in balls]
    init += [("free", gripper) for gripper in GRIPPERS]
    init += [("at-robby", rng.choice(ROOMS))]
    init += [("at", ball, rng.choice(ROOMS)) for ball in balls]
    goal = [("at", ball, rng.choice(ROOMS)) for ball in balls]
    return GeneratedProblem({"": ROOMS + GRIPPERS + balls}, init, goal)


SMALL = grid(balls=range(2, 11, 2))
LARGE = grid(balls=range(20, 61, 10))
SUMMARY = "carry balls between two rooms with two hands"
PARAMETERS = (Parameter("balls", "number of balls", 1, growth=2),)  # the usual sizes are even
PLANS = plans(SMALL, LARGE, train=80, validation=20, test=20)
GENERATOR = Generator("gripper", SUMMARY, PARAMETERS, PLANS, sample, large=24)

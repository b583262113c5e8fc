"""`hstar validate`: replay a plan on the lifted problem."""

from __future__ import annotations

import argparse

from hstar.commands.arguments import EPILOG, Commands
from hstar.pddl import parse
from hstar.pddl.planfile import read_plan
from hstar.pddl.validate import validate


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser("validate", help="check a plan", epilog=EPILOG)
    parser.add_argument("domain", metavar="DOMAIN")
    parser.add_argument("problem", metavar="PROBLEM")
    parser.add_argument("plan", metavar="PLAN")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    problem = parse(options.domain, options.problem)
    verdict = validate(problem, read_plan(options.plan))
    if verdict.valid:
        print(f"Plan valid: {verdict.length} step(s), cost {verdict.cost}.")
        return 0
    print(f"Plan invalid: {verdict.reason}")
    return 1

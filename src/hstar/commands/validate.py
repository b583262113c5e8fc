"""`hstar validate`: replay a plan on the lifted problem."""

from __future__ import annotations

from hstar.commands.arguments import Options, Parser
from hstar.pddl import parse
from hstar.pddl.planfile import read_plan
from hstar.pddl.validate import validate

HELP = "check a plan"


def add_arguments(parser: Parser) -> None:
    for name in ("domain", "problem", "plan"):
        parser.add_argument(name, metavar=name.upper())


def run(options: Options) -> int:
    problem = parse(options.domain, options.problem)
    verdict = validate(problem, read_plan(options.plan))
    if verdict.valid:
        print(f"Plan valid: {verdict.length} step(s), cost {verdict.cost}.")
        return 0
    print(f"Plan invalid: {verdict.reason}")
    return 1

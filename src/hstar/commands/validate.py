"""`hstar validate`: replay a plan on the lifted problem."""

from __future__ import annotations

from pathlib import Path

from hstar.commands.arguments import Options, Parser, UsageError
from hstar.pddl import find_domain, parse
from hstar.pddl.locate import is_domain_file
from hstar.pddl.planfile import read_plan
from hstar.pddl.validate import validate

HELP = "check a plan"


def add_arguments(parser: Parser) -> None:
    about = "may be left out when domain.pddl lies beside PROBLEM"
    parser.add_argument("domain", nargs="?", metavar="DOMAIN", help=about)
    for name in ("problem", "plan"):
        parser.add_argument(name, metavar=name.upper())


def run(options: Options) -> int:
    domain, problem_path = options.domain, options.problem
    if domain is None and is_domain_file(Path(problem_path)):
        raise UsageError(f"{problem_path} is a domain; name the problem and the plan as well")
    problem = parse(find_domain(problem_path) if domain is None else domain, problem_path)
    verdict = validate(problem, read_plan(options.plan))
    if verdict.valid:
        print(f"Plan valid: {verdict.length} step(s), cost {verdict.cost}.")
        return 0
    print(f"Plan invalid: {verdict.reason}")
    return 1

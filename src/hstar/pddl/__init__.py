"""PDDL text to lifted domains and problems, with errors that say where and what to do.

    problem = parse("domain.pddl", "p01.pddl")

What is supported: typing with `either`, constants, equality, negative, disjunctive and quantified
conditions, conditional and universal effects, action costs. Other features of PDDL raise
UnsupportedPddlError; anything malformed raises PddlError.
"""

from __future__ import annotations

import os
from pathlib import Path

from hstar.pddl.domain import read_domain
from hstar.pddl.errors import InputFileError, PddlError, UnsupportedPddlError
from hstar.pddl.locate import find_domain, find_problems, is_domain_file, natural_order
from hstar.pddl.model import Domain, Problem
from hstar.pddl.planfile import PlanFileError, read_plan
from hstar.pddl.problem import read_problem
from hstar.pddl.source import load_source

__all__ = ["Domain", "InputFileError", "PddlError", "PlanFileError", "Problem", "find_domain"]
__all__ += ["UnsupportedPddlError", "find_problems", "natural_order", "parse", "parse_domain"]
__all__ += ["parse_problem", "read_plan"]


def parse_domain(path: str | os.PathLike[str]) -> Domain:
    return read_domain(load_source(path))


def parse_problem(path: str | os.PathLike[str], domain: Domain) -> Problem:
    return read_problem(load_source(path), domain)


def parse(domain: str | os.PathLike[str], problem: str | os.PathLike[str] | None = None) -> Problem:
    """Read a domain file and a problem file. One file alone is a problem, whose domain is found by
    `find_domain`. Raises PddlError."""
    if problem is None:
        if is_domain_file(Path(domain)):
            raise PddlError("this is a domain; name a problem as well", os.fspath(domain))
        domain, problem = find_domain(domain), domain
    return parse_problem(problem, parse_domain(domain))

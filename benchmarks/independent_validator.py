"""Checks one plan with unified-planning: ``independent_validator.py DOMAIN PROBLEM PLAN``.

Some IPC files are beyond its reader, so it gets copies that say the same with other names:
variables set apart ("aircraft?a"), action names that no predicate shares, distinct parameter names
in predicate declarations ("(in ?obj ?obj)").

A program of its own, because unified-planning is slow to import and now and then runs for minutes:
the caller gives it a time limit. Exit codes: 0 valid, 3 invalid, 2 unified-planning cannot read or
check this task, which says nothing about the plan.
"""

from __future__ import annotations

import re
import sys
import tempfile
import warnings
from itertools import count
from pathlib import Path

VALID, CANNOT_TELL, INVALID = 0, 2, 3  # never 1, which is how Python itself fails


def readable_domain(text: str) -> str:
    text = re.sub(r"(?<=[^\s(])\?", " ?", re.sub(r";[^\n]*", "", text))
    text = re.sub(r"\(\s*:action\s+(\S+)", r"(:action act-\1", text, flags=re.IGNORECASE)
    start = re.search(r"\(\s*:predicates", text, re.IGNORECASE)
    if start is None:
        return text
    depth, end = 1, start.end()
    while depth and end < len(text):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    numbers = count()
    declared = re.sub(r"\?[^\s()]+", lambda _: f"?x{next(numbers)}", text[start.start() : end])
    return text[: start.start()] + declared + text[end:]


def readable_plan(text: str) -> str:
    return re.sub(r"\(\s*", "(act-", re.sub(r";[^\n]*", "", text))


def check(domain: str, problem_file: str, plan_file: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        copies = [Path(folder, name) for name in ("domain.pddl", "plan")]
        copies[0].write_text(readable_domain(Path(domain).read_text(encoding="latin-1")))
        copies[1].write_text(readable_plan(Path(plan_file).read_text()))
        return check_copies(str(copies[0]), problem_file, str(copies[1]))


def check_copies(domain: str, problem_file: str, plan_file: str) -> int:
    from unified_planning.engines import ValidationResultStatus
    from unified_planning.engines.plan_validator import SequentialPlanValidator
    from unified_planning.io import PDDLReader
    from unified_planning.shortcuts import get_environment

    get_environment().credits_stream = None
    reader = PDDLReader()
    # Whatever goes wrong in here is a limit of the reader or the checker, never a verdict.
    try:
        problem = reader.parse_problem(domain, problem_file)
        plan = reader.parse_plan(problem, plan_file)
        validator = SequentialPlanValidator()
        validator.skip_checks = True  # it doubts itself about static functions in action costs
        result = validator.validate(problem, plan)
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
        return CANNOT_TELL
    if result.status is ValidationResultStatus.VALID:
        return VALID
    print(result.reason or "invalid")
    return INVALID


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(check(*sys.argv[1:]))

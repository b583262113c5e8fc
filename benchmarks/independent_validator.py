"""Checks one plan with unified-planning: ``independent_validator.py DOMAIN PROBLEM PLAN``.

A program of its own, because unified-planning is slow to import and now and then runs for minutes:
the caller gives it a time limit. Exit codes: 0 valid, 1 invalid, 2 unified-planning cannot read or
check this task, which says nothing about the plan.
"""

from __future__ import annotations

import sys
import warnings

VALID, INVALID, CANNOT_TELL = 0, 1, 2


def check(domain: str, problem_file: str, plan_file: str) -> int:
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

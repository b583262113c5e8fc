"""Has every plan that hstar finds on a suite checked by another program.

    python benchmarks/validation.py SUITE_DIR [--time 30] [--flags='-H ff -s gbfs']

A plan is checked by VAL (`validate` on the path) if that is installed, else by unified-planning.
What neither can read is counted apart: then only hstar has replayed the plan. Exit code 1 if a plan
was rejected or hstar crashed. For coverage and speed, use `hstar bench`.

Some IPC files are beyond the reader of unified-planning, so it gets copies that say the same with
other names: variables set apart ("aircraft?a"), action names that no predicate shares, distinct
parameter names in predicate declarations ("(in ?obj ?obj)"). It runs in a process of its own,
`validation.py --check DOMAIN PROBLEM PLAN`, because now and then it takes minutes. There, exit
codes are 0 valid, 3 invalid, 2 unified-planning cannot read or check this task.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from itertools import count
from pathlib import Path

import planner
from tasks import PddlTask, find_tasks

VALID, CANNOT_TELL, INVALID = 0, 2, 3  # never 1, which is how Python itself fails
CHECK_SECONDS = 120
EXPECTED = {0: "solved", 11: "unsolvable", 12: "limit", 22: "limit", 23: "limit", 34: "unsupported"}


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


def verdict(task: PddlTask, plan: Path) -> str:
    """ "valid", "rejected", or "not checked"."""
    files = (str(task.domain), str(task.problem), str(plan))
    val = shutil.which("validate") or shutil.which("Validate")
    if val is not None and (done := run_checker([val, *files])) is not None:
        if "Plan valid" in done.stdout:
            return "valid"
        if "Plan failed" in done.stdout or "Plan invalid" in done.stdout:
            return "rejected"
    done = run_checker([sys.executable, __file__, "--check", *files])
    code = CANNOT_TELL if done is None else done.returncode
    return {VALID: "valid", INVALID: "rejected"}.get(code, "not checked")


def run_checker(command: list[str]) -> subprocess.CompletedProcess[str] | None:
    """The finished process; None if it took too long."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=CHECK_SECONDS)
    except subprocess.TimeoutExpired:
        return None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("suite", type=Path, help="folder with domains and problems, at any depth")
    parser.add_argument("--flags", default="", help="of hstar plan")
    parser.add_argument("--time", type=float, default=30, help="seconds per problem (default 30)")
    given = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    for task in find_tasks(given.suite):
        with tempfile.TemporaryDirectory() as folder:
            plan = Path(folder, "plan")
            files = task.domain, task.problem
            run = planner.plan(*files, *given.flags.split(), time_limit=given.time, plan_file=plan)
            outcome = EXPECTED.get(run.exit_code, "crash")
            outcome = verdict(task, plan) if outcome == "solved" else outcome
        counts.setdefault(task.name.partition("/")[0], Counter())[outcome] += 1
        if outcome in ("crash", "rejected"):
            print(f"- {outcome}: {task.name}: exit {run.exit_code}: {run.error}", flush=True)
    columns = ["valid", "not checked", "rejected", "crash", "limit", "unsolvable", "unsupported"]
    print(f"| domain | {' | '.join(columns)} |\n{'| --- ' * (len(columns) + 1)}|")
    total = sum(counts.values(), Counter())
    for name, count_of in (*counts.items(), ("**all**", total)):
        print(f"| {name} | {' | '.join(str(count_of[column]) for column in columns)} |")
    return int(total["rejected"] + total["crash"] > 0 or not counts)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--check"]:
        warnings.simplefilter("ignore")
        sys.exit(check(*sys.argv[2:]))
    sys.exit(main())

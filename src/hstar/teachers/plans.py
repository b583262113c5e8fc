"""The teacher that is handed plans: their states get what is left of the plan as an upper bound."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hstar import _core
from hstar.pddl.errors import escape
from hstar.pddl.model import Problem
from hstar.pddl.planfile import PlanFileError, read_plan
from hstar.pddl.validate import validate
from hstar.spaces.task import ground
from hstar.teachers.attempt import SOLVED, TRIVIAL, Attempt, follow, heuristic_columns

SUFFIXES = (".plan", ".soln")


def find_plan(directory: Path, problem_file: str) -> Path | None:
    """The plan file of a problem: p01.plan or p01.soln for p01.pddl."""
    stem = Path(problem_file).stem
    candidates = (directory / f"{stem}{suffix}" for suffix in SUFFIXES)
    return next((path for path in candidates if path.is_file()), None)


def read_valid_plan(path: Path, problem: Problem) -> list[str]:
    """The steps of a plan file as "(name object ...)". Raises PlanFileError unless it works."""
    steps = read_plan(path)
    verdict = validate(problem, steps)
    if not verdict.valid:
        raise PlanFileError(f"not a plan of this problem: {verdict.reason}", escape(str(path)))
    return [f"({' '.join(step)})" for step in steps]


def label_given_plan(problem: Problem, plan: Sequence[str]) -> Attempt:
    """Label the states of a valid plan.

    Everything is grounded, whether it matters for the goal or not, since the plan may use it.
    """
    start = _core.monotonic_seconds()
    if not plan:
        return Attempt(TRIVIAL)
    task = ground(problem, keep_irrelevant=True)
    states, remaining = follow(task, plan)
    nothing: list[float | None] = [None] * len(remaining)
    return Attempt(
        status=SOLVED,
        plan=list(plan),
        plan_cost=remaining[0],
        total_time=_core.monotonic_seconds() - start,
        peak_memory_kb=_core.peak_resident_bytes() // 1024,
        states=[task.atoms(state) for state in states],
        columns={
            "h_star": nothing,
            "lower": nothing,
            "upper": [float(cost) for cost in remaining],
            **heuristic_columns(task, states),
        },
    )

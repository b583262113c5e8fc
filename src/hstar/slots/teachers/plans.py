"""The teachers "optimal", "plans" and "planner", which label the states of one plan.

The rest of an optimal plan is optimal from each of its states (Bellman's principle), so one search
gives as many values of h* as the plan has states. The rest of any other plan bounds the cost. Hart,
Nilsson and Raphael (1968) for A*, Helmert and Domshlak (2009) for LM-cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from hstar.pddl.errors import escape
from hstar.pddl.model import Problem
from hstar.pddl.planfile import PlanFileError, read_plan
from hstar.pddl.validate import validate
from hstar.planning.search import run
from hstar.planning.specification import DEFAULT_PLANNER, SearchSpecification
from hstar.planning.task import ground
from hstar.runtime.resources import Budget
from hstar.slots.teachers.attempt import TRIVIAL, Attempt, labelled, read_problem_text
from hstar.slots.teachers.folder import ProblemFolder, ProblemFolderError
from hstar.slots.teachers.states import follow
from hstar.slots.teachers.teacher import MostPerAttempt, Teacher

SUFFIXES = (".plan", ".soln")


def label_optimally(
    problem: Problem, budget: Budget, max_expansions: MostPerAttempt = None
) -> Attempt:
    """Solve a problem optimally and label the states of the plan. Raises PddlError."""
    task = ground(problem, budget=budget)
    result = run(task, SearchSpecification("lmcut", "astar", max_expansions=max_expansions), budget)
    attempt = Attempt(TRIVIAL if result.plan == [] else result.status, plan_cost=result.plan_cost)
    if result.plan:
        states, remaining = follow(task, result.plan)
        attempt = labelled(task, states, result.plan, remaining[0], h=remaining)
    return replace(
        attempt,
        evaluated=result.evaluated,
        expanded=result.expanded,
        search_time=result.search_time,
    )


OPTIMAL = Teacher(
    "A* with LM-cut; h* of every state of the plan",
    label_optimally,
    kinds=("optimal",),
)


def read_plans(folder: ProblemFolder, cost: str, plans: str) -> dict[str, list[str]]:
    """The plans of a folder by problem file, each as steps "(name object ...)". Raises
    InputFileError unless every plan works."""
    directory = Path(plans)
    if not plans or not directory.is_dir():
        raise ProblemFolderError("there is no such folder of plans; check the path", plans)
    found = {}
    for problem in folder.problems:
        candidates = (directory / f"{Path(problem.file).stem}{suffix}" for suffix in SUFFIXES)
        path = next((path for path in candidates if path.is_file()), None)
        if path is None:
            continue
        where = str(folder.path / problem.file)
        parsed = read_problem_text(where, problem.text, folder.domain, cost)
        steps = read_plan(path)
        verdict = validate(parsed, steps)
        if not verdict.valid:
            message = f"not a plan of this problem: {verdict.reason}"
            raise PlanFileError(message, escape(str(path)))
        found[problem.file] = [f"({' '.join(step)})" for step in steps]
    if not found:
        raise ProblemFolderError(
            "there is no plan for any of the problems; a plan of p01.pddl is called "
            "p01.plan or p01.soln",
            plans,
        )
    return found


def label_given_plan(
    problem: Problem,
    budget: Budget,
    plans: Annotated[str, str, "folder with NAME.plan or NAME.soln"] = "",
    given: Sequence[str] = (),
) -> Attempt:
    """Label the states of a valid plan. Grounding keeps what cannot matter for the goal, because
    the plan may use it."""
    if not given:
        return Attempt(TRIVIAL)
    task = ground(problem, keep_irrelevant=True, budget=budget)
    states, remaining = follow(task, given)
    attempt = labelled(task, states, list(given), remaining[0], upper=remaining)
    return replace(attempt, has_irrelevant=True)


PLANS = Teacher(
    "plans that you give; an upper bound for every state of the plan",
    label_given_plan,
    kinds=("plan",),
    prepare=read_plans,
    not_given="no plan file",
    replaces=False,
)


def label_found_plan(
    problem: Problem, budget: Budget, max_evaluations: MostPerAttempt = None
) -> Attempt:
    """Label the states of a plan that the default planner finds. Raises PddlError."""
    task = ground(problem, budget=budget)
    result = run(task, replace(DEFAULT_PLANNER, max_evaluations=max_evaluations), budget)
    if not result.plan:
        return Attempt(TRIVIAL if result.plan == [] else result.status)
    states, remaining = follow(task, result.plan)
    return labelled(task, states, result.plan, remaining[0], upper=remaining)


PLANNER = Teacher(
    "plans that the default planner finds; an upper bound for every state of the plan",
    label_found_plan,
    kinds=("plan",),
)

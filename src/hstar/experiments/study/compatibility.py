"""Does learning work on some domains without errors?

Of each, the first problems are learned from and then searched with what was learned. That is no
test of a heuristic, since both are the same problems.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import hstar
from hstar.experiments.study.run import Row, search_within
from hstar.experiments.study.trials import Compatibility
from hstar.pddl import InputFileError, find_domain, find_problems, parse
from hstar.planning import Task, ground
from hstar.runtime import Budget, OutOfResources
from hstar.slots import LearnedHeuristic
from hstar.training.reinforcement import Rtdp, find_preset

WORKS = "works"


def check_domain(domain: str, folder: Path, asked: Compatibility, memory: int) -> Row:
    """Learn on the first problems and search. What goes wrong becomes part of the row."""
    row: Row = {"domain": domain, "problems": 0, "steps": 0, "goals": 0, "solved": 0}
    try:
        budget = Budget(memory_bytes=memory)
        with budget.enforced():
            files = find_problems(folder)[: asked.problems]
            tasks = [ground(parse(find_domain(path), path), budget=budget) for path in files]
            row["problems"] = len(tasks)
            learner = _learn(tasks, asked, budget)
        row |= {name: int(learner.counters()[name]) for name in ("steps", "goals")}
        model = learner.model_file(learner.weights(), {})
        heuristic = LearnedHeuristic(model, f"{domain}.safetensors")
        row["solved"] = sum(_is_solved(task, heuristic, asked.limit, memory) for task in tasks)
        row["outcome"] = WORKS
    except (InputFileError, ValueError) as error:
        row["outcome"] = str(error)
    except OutOfResources as error:
        if error.status != "out of memory":
            raise
        row["outcome"] = error.status
    return row


def _learn(tasks: list[Task], asked: Compatibility, budget: Budget) -> Rtdp:
    """For some steps, or until the time is over."""
    settings = replace(find_preset("paper"), updates=asked.steps)
    learner = Rtdp(tasks, settings, 0, budget=budget)
    learner.budget = budget.within(asked.learn)
    try:
        learner.run(settings.updates)
    except OutOfResources as error:
        if error.status != "out of time":
            raise
    return learner


def _is_solved(task: Task, heuristic: LearnedHeuristic, limit: float, memory: int) -> bool:
    def search(budget: Budget) -> hstar.SearchResult:
        return hstar.search(task, heuristic, "gbfs", cost="one", budget=budget)

    return bool(search_within(limit, memory, search)["solved"])

"""The domains of appendix A.7: does learning work on them without errors?

Of each, the first problems are learned from and then searched with what was learned. That is no
test of a heuristic, since both are the same problems.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hstar.papers.experiment import read_published, search_within, write_part
from hstar.papers.reward_shaping.scales import Compatibility
from hstar.papers.tables import Table
from hstar.pddl import find_domain, parse
from hstar.pddl.errors import InputFileError
from hstar.pddl.locate import find_problems
from hstar.planning.search import run
from hstar.planning.specification import SearchSpecification
from hstar.planning.task import Task, ground
from hstar.runtime.resources import Budget, OutOfResources
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.training.reinforcement.presets import changed, find_preset
from hstar.training.reinforcement.rtdp import Rtdp

DOMAINS: list[str] = read_published(__file__)["compatible"]["domains"]
WORKS = "works"
ABSENT = "not in the suite"


def compatible_folders(suite: Path) -> dict[str, Path]:
    """The folders of the appendix that the suite has."""
    return {name: suite / name for name in DOMAINS if find_problems(suite / name)}


def check_domain(domain: str, folder: Path, asked: Compatibility, memory: int, part: Path) -> str:
    """Learn on the first problems and search. What goes wrong becomes part of the row."""
    row: dict[str, Any] = {"domain": domain, "problems": 0, "steps": 0, "goals": 0, "solved": 0}
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
    write_part(part, row)
    return f"{domain}: {row['outcome']}"


def _learn(tasks: list[Task], asked: Compatibility, budget: Budget) -> Rtdp:
    """For some steps, or until the time is over."""
    settings = changed(find_preset("paper"), updates=asked.steps)
    learner = Rtdp(tasks, settings, 0, budget=budget)
    learner.budget = budget.within(asked.learn)
    try:
        learner.run(settings.updates)
    except OutOfResources as error:
        if error.status != "out of time":
            raise
    return learner


def _is_solved(task: Task, heuristic: LearnedHeuristic, limit: float, memory: int) -> bool:
    options = SearchSpecification(heuristic, "gbfs", cost="one")
    found = search_within(limit, memory, lambda budget: run(task, options, budget))
    return bool(found["solved"])


def compatibility_table(rows: list[dict[str, Any]], asked: Compatibility) -> Table:
    """A line for each domain of the appendix, whether the suite has it or not."""
    known = {row["domain"]: row for row in rows}
    counts = ("problems", "steps", "goals", "solved")
    lines = []
    for domain in DOMAINS:
        row = known.get(domain)
        shown = [str(row[name]) for name in counts] if row else [""] * len(counts)
        lines.append([domain, *shown, row["outcome"] if row else ABSENT])
    good = sum(row["outcome"] == WORKS for row in rows)
    text = (
        f"{good} of {len(rows)} domains work without errors. Of each, the first "
        f"{asked.problems} problem(s) are learned from for {asked.steps} steps "
        f"({asked.learn:g} s at most) with h^FF as potential, and then searched for at most "
        f"{asked.limit:g} s each with what was learned. "
        "'Goals' were reached while learning."
    )
    headers = ["domain", *counts, "outcome"]
    return Table("compatibility", "Domains of appendix A.7", headers, lines, text)

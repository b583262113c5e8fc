"""The page of the experiment: what was run, Table 1, and what holds."""

from __future__ import annotations

from hstar.experiments.report import markdown_table
from hstar.papers.page import begin_page, write_page
from hstar.papers.peers import FAILED, INVALID
from hstar.papers.regression_sampling.claims import claims
from hstar.papers.regression_sampling.recipe import Experiment, Results
from hstar.papers.regression_sampling.scales import Study
from hstar.papers.regression_sampling.tables import all_tables, coverage_table
from hstar.runtime.atomic import write_atomically

INTRODUCTION = (
    "A small network is learned for one planning task, from states sampled around regressions of "
    "its goal (O'Toole, Ramirez, Lipovetzky and Pearce, 2022), and used in greedy search from "
    "other initial states of the task. Learning has a clock of its own here, and 'plan --learn' "
    "counts it."
)
HEADERS = ["claim", "here", "numbers", "in the paper"]


def claim_rows(results: Results, study: Study) -> list[list[str]]:
    return [[c.text, c.verdict, c.numbers, c.paper_verdict] for c in claims(results, study)]


def write_results(
    results: Results, experiment: Experiment, scale: str, command: str, seconds: float
) -> list[str]:
    """report.html, tables.md and a CSV file for each table. Raises OSError."""
    study = results.studies[0]  # the one that Table 1 is about
    tables = all_tables(results)
    statuses = [row["status"] for rows in results.runs.values() for row in rows]
    facts = [
        f"{one.name}: {one.tasks} of the tasks, states {', '.join(f'p{s}' for s in one.states)}, "
        f"{one.learn:g} s for each learner, {one.limit:g} s for each search"
        for one in results.studies
    ]
    memory = experiment.scale.memory_limit / 2**30
    facts.append(f"{experiment.jobs} runs at a time, {memory:g} GiB for each of ours")
    facts += [
        f"{name}, its start included, without a limit of memory: {given}"
        for name, given in experiment.peers.items()
    ]
    facts.append(
        f"plans that are invalid: {statuses.count(INVALID)}; peers that failed: "
        f"{statuses.count(FAILED)}"
    )
    title = f"Learning for one task from regressions of its goal ({scale})"
    page = begin_page(title, INTRODUCTION, command, seconds, facts)
    for table in tables:
        table.add_to(page)
    page.add_heading("Claims")
    page.add_text(f"By the means of the domains ({study.name}).")
    page.add_table(HEADERS, claim_rows(results, study), text=True)
    for table in tables:
        write_atomically(experiment.directory / f"{table.name}.csv", table.csv())
    parts = [table.markdown() for table in tables]
    return write_page(
        experiment.directory, page, [*parts, markdown_table(HEADERS, claim_rows(results, study))]
    )


def summary_text(results: Results) -> str:
    """For the terminal."""
    return "\n\n".join(coverage_table(results, study).text() for study in results.studies)

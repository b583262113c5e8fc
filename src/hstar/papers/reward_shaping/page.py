"""The page of the experiment: what was run, the paper's tables and figures, and what holds."""

from __future__ import annotations

from hstar.experiments.report import Page, markdown_table
from hstar.papers.page import begin_page, write_page
from hstar.papers.reward_shaping.claims import claims
from hstar.papers.reward_shaping.figures import (
    ABOUT_GOALS,
    ABOUT_RATES,
    evaluation_figures,
    goals_figure,
    rate_figure,
)
from hstar.papers.reward_shaping.recipe import Experiment, Results
from hstar.papers.reward_shaping.scales import PAPER, Study
from hstar.papers.reward_shaping.tables import all_tables
from hstar.runtime.atomic import write_atomically

INTRODUCTION = (
    "A value function of a domain is learned by reinforcement, without labels: from episodes on "
    "small problems, with the discounted value of a classical heuristic as potential (Gehring, "
    "Asai, Chitnis, Silver, Kaelbling, Sohrabi and Katz, 2022). Greedy search with it solves "
    "larger problems. No checkpoint, seed or setting was chosen on test problems, and no test "
    "problem is a training problem too."
)
HEADERS = ["claim", "here", "numbers", "in the paper"]
EXPLAINED = ("solved", "gave up", "unsolvable", "out of time", "out of memory")


def claim_rows(results: Results) -> list[list[str]]:
    return [[c.text, c.verdict, c.numbers, c.paper_verdict] for c in claims(results)]


def facts_of(results: Results, experiment: Experiment) -> list[str]:
    """What was run, and what went wrong."""
    memory = experiment.scale.memory_limit / 2**30
    facts = [_described(study) for study in results.studies]
    facts.append(f"{experiment.jobs} runs at a time, {memory:g} GiB for each")
    suite = experiment.suite
    facts.append("problems generated here" if suite is None else f"problems of {suite}")
    if results.problems:
        left_out = sum(len(one.left_out) for one in results.problems.values())
        facts.append(f"test problems left out because they are training problems: {left_out}")
    for study in results.studies:
        spent = sum(row["seconds"] for row in results.trainings[study.name])
        searched = sum(row["seconds"] for row in results.searches[study.name])
        facts.append(f"{study.name}: {spent:.0f} s of learning, {searched:.0f} s of searching")
    return facts


def _described(study: Study) -> str:
    steps = ", ".join(f"{name} {count}" for name, count in study.steps.items())
    learning = f"steps: {steps}" if steps else f"{study.learn:g} s for each learner"
    tests = f"{study.tests} test problems per size" if study.tests else "all test problems"
    fewer = {f"{count} for {name}" for name, count in study.fewer_tests.items()}
    tests += f" ({', '.join(sorted(fewer))})" if fewer else ""
    limit = study.max_evaluations
    most = "" if limit is None else f"{limit} evaluations and "
    return (
        f"{study.name}: {len(study.seeds)} seed(s), {learning}; {tests}, at most "
        f"{most}{study.limit:g} s a search"
    )


def failures(results: Results) -> list[str]:
    """Trainings and searches that ended in a way that says nothing about the method."""
    found = [
        f"{name}: {row['domain']} {row['learner']} (seed {row['seed']}) was not learned: "
        f"{row['error']}"
        for name, rows in results.trainings.items()
        for row in rows
        if row["error"]
    ]
    return found + [
        f"{name}: {row['domain']} {row['problem']} {row['column']}: {row['status']}"
        for name, rows in results.searches.items()
        for row in rows
        if row["status"] not in EXPLAINED
    ]


def write_results(
    results: Results, experiment: Experiment, scale: str, command: str, seconds: float
) -> list[str]:
    """report.html, tables.md and a CSV file for each table. Raises OSError."""
    tables = all_tables(results, experiment.scale)
    title = f"Heuristics as dense rewards ({scale})"
    facts = facts_of(results, experiment)
    page = begin_page(title, INTRODUCTION, command, seconds, facts)
    for table in tables:
        table.add_to(page)
        write_atomically(experiment.directory / f"{table.name}.csv", table.csv())
    rows = claim_rows(results)
    if rows:
        page.add_heading("Claims")
        page.add_table(HEADERS, rows, text=True)
    if results.searches.get(PAPER):
        add_figures(page, results)
    if found := failures(results):
        page.add_heading("What failed")
        page.add_list(found)
    parts = ["\n".join(f"- {fact}" for fact in facts), *(table.markdown() for table in tables)]
    if rows:
        parts.append(markdown_table(HEADERS, rows))
    return write_page(experiment.directory, page, parts)


def add_figures(page: Page, results: Results) -> None:
    page.add_heading("Figures")
    page.add_figures(evaluation_figures(results))
    page.add_figure(rate_figure(results), f"Figures 1 (right) and 3. {ABOUT_RATES}")
    page.add_figure(goals_figure(results), f"Figures 4 and 5. {ABOUT_GOALS}")


def summary_text(results: Results) -> str:
    """For the terminal: what holds."""
    lines = [f"{verdict:<14} {text}" for text, verdict, *_ in claim_rows(results)]
    good = [row for row in results.domains if row["outcome"] == "works"]
    if results.domains:
        lines.append(f"{len(good)} of {len(results.domains)} domains of appendix A.7 work")
    return "\n".join(lines)

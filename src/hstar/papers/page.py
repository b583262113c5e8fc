"""What the pages of all recipes share: how they begin, and planning beside the default planner."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from pathlib import Path

from hstar.experiments.report import Comparison, Page, verdict_table, verdict_text
from hstar.experiments.report.verdict import HEADERS
from hstar.papers.tables import Table
from hstar.runtime.atomic import write_atomically

FF, DEFAULT = "eager h^FF", "default planner"
MEANS = (
    "Evaluations and seconds are geometric means, plan costs means, over the problems of a domain "
    "that every line of it solved. The default planner is what 'hstar plan' runs without flags."
)


def begin_page(
    title: str, introduction: str, command: str, seconds: float, facts: Iterable[str]
) -> Page:
    page = Page(title)
    page.add_text(introduction)
    machine = f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}"
    page.add_list([f"command: {command}", f"machine: {machine}; {seconds:.0f} s in all", *facts])
    return page


def write_page(directory: Path, page: Page, parts: Iterable[str]) -> list[str]:
    """report.html, and tables.md of the parts; returns their names. Raises OSError."""
    page.write(directory / "report.html")
    write_atomically(directory / "tables.md", "\n\n".join(parts) + "\n")
    return ["report.html", "tables.md"]


def compare_runs(files: Iterable[tuple[str, str, Path]]) -> Comparison:
    """Runs by domain, label and file. Problems of a domain are the same if their names are, but for
    the suffix: a puzzle's start state has the name of the PDDL problem that describes it."""
    import polars as pl

    from hstar.experiments.bench import read_runs

    problem = pl.col("problem").str.replace(":", "-").str.strip_suffix(".pddl")
    tables = [
        read_runs(path).rows.with_columns(
            domain=pl.lit(domain),
            label=pl.lit(label),
            instance=pl.format("{}/{}", pl.lit(domain), problem),
        )
        for domain, label, path in files
    ]
    return Comparison.of(pl.concat(tables))


def planning_table(found: Comparison) -> Table:
    """Solved problems, evaluations, seconds and plan costs, the default planner last."""
    rows, sentences = [], []
    for domain in found.domains:
        part = Comparison.of(found.rows.filter(found.rows["domain"] == domain))
        rows += [[domain, *line] for line in verdict_table(part)[1]]
        sentences += [f"{domain}: {sentence}" for sentence in verdict_text(part)]
    shown = "\n\n".join([MEANS, *sentences])
    title = "Planning beside the default planner"
    return Table("planning", title, ["domain", "planner", *HEADERS[1:]], rows, shown)

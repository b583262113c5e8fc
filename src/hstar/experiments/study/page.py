"""The page of a paper as data, and how it is written; planning beside the default planner."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from hstar.experiments.report import Comparison, Figures, Table
from hstar.experiments.report.compare import HEADERS, verdict_table, verdict_text
from hstar.experiments.report.page import Page
from hstar.planning.specification import DEFAULT
from hstar.runtime import write_atomically

BASELINE, DEFAULT_LABEL = "eager h^FF", "default planner"
MEANS = (
    "Evaluations and seconds are geometric means, plan costs means, over the problems of a domain "
    "that every line of it solved. The default planner is what 'hstar plan' runs without flags."
)


@dataclass(frozen=True)
class Report:
    """What a paper's page shows: `parts` by heading, where there are any. The terminal shows
    `summary`; `files` are written as they are."""

    title: str
    introduction: str
    facts: Sequence[str]
    parts: dict[str, Sequence[Table | str | list[str] | Figures]]
    summary: str
    files: dict[str, str] = field(default_factory=dict)

    @property
    def tables(self) -> list[Table]:
        return [part for parts in self.parts.values() for part in parts if isinstance(part, Table)]

    def page(self, command: str, seconds: float) -> Page:
        machine = f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}"
        about = [f"command: {command}", f"machine: {machine}; {seconds:.0f} s in all"]
        found = [(f"# {heading}", *parts) for heading, parts in self.parts.items() if parts]
        return Page(self.title, [self.introduction, [*about, *self.facts], *chain(*found)])

    def write(self, directory: Path, command: str, seconds: float) -> list[str]:
        """report.html, tables.md, a CSV file per table; returns the names. Raises OSError."""
        self.page(command, seconds).write(directory / "report.html")
        texts = [one.markdown() for one in self.tables if not one.folded]
        facts = "\n".join(f"- {fact}" for fact in self.facts)
        write_atomically(directory / "tables.md", "\n\n".join([facts, *texts]) + "\n")
        (directory / "csv").mkdir(exist_ok=True)
        for table in self.tables:
            write_atomically(directory / "csv" / f"{table.name}.csv", table.csv())
        for name, content in self.files.items():
            write_atomically(directory / name, content)
        return ["report.html", "tables.md", *self.files, "csv"]


def compare_searches(labelled: Iterable[tuple[str, dict[str, Any]]]) -> Comparison:
    """Rows of searches with their labels, as those of a benchmark."""
    import polars as pl

    renamed = {"total_time": "seconds", "cost": "plan_cost"}
    names = ("evaluations", "search_time", *renamed)
    rows = [
        {
            "label": label,
            "algorithm": DEFAULT if label == DEFAULT_LABEL else "",
            "domain": row["domain"],
            "problem": row["problem"],
            "instance": f"{row['domain']}/{row['problem']}",
            "coverage": int(row["solved"]),
            **{name: row.get(renamed.get(name, name)) for name in names},
        }
        for label, row in labelled
    ]
    return Comparison.of(pl.DataFrame(rows, infer_schema_length=None))


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

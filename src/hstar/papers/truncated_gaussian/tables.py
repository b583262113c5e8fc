"""The tables of the truncated-gaussian paper from our own runs, the paper's numbers beneath ours.

    for table in build_tables(metrics, planning):
        print(table.text())

The layout is the paper's: accuracy tables have the metric and "+clip" as rows and N, TN as columns;
planning tables have N, N+clip, TN as columns, first the ratio of solved instances, then node
evaluations. The best of each configuration is bold, by the rules of the captions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hstar.papers.truncated_gaussian.measured import Measured
from hstar.papers.truncated_gaussian.published import (
    DOMAINS,
    NAMES,
    TABLES,
    Column,
    Group,
    PublishedTable,
    Value,
)
from hstar.report import Cell, Page, markdown_table, text_table

if TYPE_CHECKING:
    import polars as pl

MISSING = "\N{EN DASH}"
ROWS = {"mse": "MSE", "nll": "NLL", "coverage": "solved", "evaluations": "evaluations"}
MARGIN = {1: 0.1, 4: 0.1}  # what the captions of these tables ask of a best value; else any


@dataclass(frozen=True)
class ComparedTable:
    """A table of the paper with our numbers. `measured` counts the cells that have one of ours."""

    number: int
    caption: str
    headers: list[str]
    spans: list[tuple[str, int]]
    rows: list[list[Cell]]
    measured: int

    @property
    def title(self) -> str:
        return f"Table {self.number}: {self.caption}"

    @property
    def explanation(self) -> str:
        return (
            "Mean±deviation over seeds; ours first, the paper's beneath. "
            "Bold: the best of its configuration."
        )

    def text(self) -> str:
        return f"{self.title}\n{text_table(self.headers, self.rows, self.spans)}"

    def markdown(self) -> str:
        table = markdown_table(self.headers, self.rows, self.spans)
        return f"**{self.title}.** {self.explanation}\n\n{table}"

    def add_to(self, page: Page) -> None:
        """A heading and the table on an HTML page."""
        page.add_heading(self.title, level=3)
        page.add_table(self.headers, self.rows, self.explanation, spans=self.spans)


def build_tables(
    metrics: pl.DataFrame | None,
    planning: pl.DataFrame | None,
    numbers: Sequence[int] = tuple(TABLES),
) -> list[ComparedTable]:
    """Tables by their numbers in the paper, all by default. For the frames see `measured`.

    Raises ValueError if a frame lacks a column, KeyError for a number that is no such table.
    """
    measured = Measured(metrics, planning)
    return [build_table(number, measured) for number in numbers]


def build_table(number: int, measured: Measured) -> ComparedTable:
    table = TABLES[number]
    ours = {
        key: measured.value(metric, domain, column, table.model)
        for key in table.cells
        for metric, domain, column in [key]
    }
    both = _Both(table, ours, MARGIN.get(number, 0.0))
    planning = "coverage" in table.metrics
    baselines = [NAMES[c.variant] for c in table.columns if c.group is None and c.variant in NAMES]
    variants = ["N", "N+clip", "TN"] if planning else ["N", "TN"]
    extra = [c.variant for c in table.columns if c.group is None and c.variant not in NAMES]
    headers = ["domain", "metric", *baselines, *variants * len(table.groups), *extra]
    spans = [("", 2 + len(baselines))]
    spans += [(_group_name(group, table), len(variants)) for group in table.groups]
    spans += [("", 1) for _ in extra]
    rows = _planning_rows(both) if planning else _accuracy_rows(both)
    count = sum(value is not None for value in ours.values())
    return ComparedTable(number, table.caption, headers, spans, list(rows), count)


def _group_name(group: Group, table: PublishedTable) -> str:
    """Such as "learn/h^FF", with the lower bound where the table compares several."""
    several = len({other.lower for other in table.groups}) > 1
    return f"{group} (l = {NAMES[group.lower]})" if several else str(group)


@dataclass(frozen=True)
class _Both:
    """A table's cells, ours and the paper's."""

    table: PublishedTable
    ours: dict[tuple[str, str, Column], Value | None]
    margin: float

    def cells(self, metric: str, domain: str, columns: Sequence[Column]) -> list[Cell]:
        """Cells that compete for being the best."""
        ours = [self.ours[metric, domain, column] for column in columns]
        theirs = [self.table.cells[metric, domain, column] for column in columns]
        return [
            Cell(
                text=a.text if a is not None else MISSING,
                bold=best,
                below=b.text if b is not None else MISSING,
                bold_below=best_below,
            )
            for a, best, b, best_below in zip(
                ours,
                best_of(metric, ours, self.margin),
                theirs,
                best_of(metric, theirs, self.margin),
                strict=True,
            )
        ]

    def row(self, metric: str, domain: str) -> dict[Column, Cell]:
        """All cells of a row, the best marked within each configuration or, if there is something
        to compare the only one with, in the whole row."""
        columns = self.table.columns
        if any(column.variant == "L-GBFS" for column in columns):
            return dict(zip(columns, self.cells(metric, domain, columns), strict=True))
        found: dict[Column, Cell] = {}
        for group in dict.fromkeys(column.group for column in columns):
            own = [column for column in columns if column.group == group]
            parts = [own] if group is not None else [[column] for column in own]
            for part in parts:
                found |= zip(part, self.cells(metric, domain, part), strict=True)
        return found


def best_of(metric: str, values: Sequence[Value | None], margin: float) -> list[bool]:
    """Which of some numbers are the best, as printed, by more than the margin; equals share it."""
    digits = 0 if metric == "evaluations" else 2
    sign = -1 if metric == "coverage" else 1
    rounded = [None if v is None else sign * round(v.mean, digits) for v in values]
    different = sorted({value for value in rounded if value is not None})
    if len(different) < 2 or not different[1] - different[0] > margin:
        return [False] * len(values)
    return [value == different[0] for value in rounded]


def _accuracy_rows(both: _Both) -> Iterator[list[Cell]]:
    """Two rows per domain: the metric, and below it N+clip under N."""
    empty = Cell("")
    for metric in both.table.metrics:
        for domain in DOMAINS:
            cells = both.row(metric, domain)
            plain = [cell for column, cell in cells.items() if column.variant != "N+clip"]
            yield [Cell(domain), Cell(ROWS[metric], below="paper"), *plain]
            clipped = {column.group: c for column, c in cells.items() if column.variant == "N+clip"}
            line = [
                clipped[column.group] if column.variant == "N" else empty
                for column in cells
                if column.variant != "N+clip"
            ]
            yield [empty, Cell("+clip", below="paper"), *line]


def _planning_rows(both: _Both) -> Iterator[list[Cell]]:
    for metric in both.table.metrics:
        for domain in DOMAINS:
            cells = both.row(metric, domain).values()
            yield [Cell(domain), Cell(ROWS[metric], below="paper"), *cells]

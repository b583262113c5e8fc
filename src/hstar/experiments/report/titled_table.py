"""A table with its title and a text that says what it shows, as text, Markdown, CSV and HTML."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from hstar.experiments.report.page import Page
from hstar.experiments.report.tables import Cell, Spans, markdown_table, text_table


@dataclass(frozen=True)
class Table:
    """`name` is that of its CSV file, `shown` says what the table shows. `folded` is the line under
    which a long table hides. `measured` counts the cells with a number of ours, where counted.
    `is_text` is for cells of prose."""

    name: str
    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]
    shown: str = ""
    spans: Spans = ()
    folded: str = ""
    measured: int = 0
    is_text: bool = False

    def markdown(self) -> str:
        table = markdown_table(self.headers, self.rows, self.spans)
        return f"**{self.title}.** {self.shown}\n\n{table}"

    def text(self) -> str:
        table = text_table(self.headers, self.rows, self.spans)
        return f"{self.title}\n{table}\n{self.shown}"

    def csv(self) -> str:
        """Cells with a second line have it in a column of its own, the paper's."""
        double = [any(map(_below, column)) for column in zip(*self.rows, strict=True)]
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        names = [Cell(header, below=f"{header} (paper)") for header in self.headers]
        for row in [names, *self.rows]:
            cells = []
            for cell, has_two in zip(row, double or [False] * len(names), strict=True):
                cells += [str(cell), _below(cell)] if has_two else [str(cell)]
            writer.writerow(cells)
        return file.getvalue()

    def add_to(self, page: Page) -> None:
        if not self.folded:
            page.add_heading(self.title, level=3)
        more = {"spans": self.spans, "folded": self.folded, "text": self.is_text}
        page.add_table(self.headers, self.rows, **more)  # type: ignore[arg-type]
        page.add_text(self.shown)


def _below(cell: Cell | str) -> str:
    return cell.below if isinstance(cell, Cell) else ""

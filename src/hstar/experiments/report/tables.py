"""Tables as text, Markdown, CSV and HTML from the same cells. A cell is anything with a `str`; a
`Cell` can be bold and have a second line. All columns but the first are aligned right."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Spans = Sequence[tuple[str, int]]  # headings above the headers: text, number of columns


@dataclass(frozen=True, slots=True)
class Cell:
    """`below` is a second, less prominent line; `bold` and `bold_below` mark the best ones."""

    text: str
    bold: bool = False
    below: str = ""
    bold_below: bool = False

    def __str__(self) -> str:
        return self.text


Row = Sequence[object]
MISSING = "\N{EN DASH}"  # stands for a number that there is not


def number_text(value: float | None, digits: int) -> str:
    return MISSING if value is None else f"{value:.{digits}f}"


def text_table(headers: Row, rows: Sequence[Row], spans: Spans = ()) -> str:
    """A table for a terminal, bold cells marked with a star. Raises ValueError for ragged rows."""
    lines = _lines(headers, rows, lambda text: f"*{text}")
    names = list(map(str, headers))
    width = [max(map(len, column)) for column in zip(names, *lines, strict=True)]
    above, column = [], 0
    for text, count in spans:  # a heading may need more room than the columns beneath it
        column += count
        room = sum(width[column - count : column]) + 2 * (count - 1)
        width[column - 1] += max(len(text) - room, 0)
        above.append(text.center(room))
    rule = ["-" * count for count in width]
    shown = [_aligned(line, width) for line in [names, rule, *lines]]
    if spans:
        shown.insert(0, "  ".join(above))
    return "\n".join(line.rstrip() for line in shown)


def markdown_table(headers: Row, rows: Sequence[Row], spans: Spans = ()) -> str:
    """A GitHub table; headings that span columns are put before each of their headers."""
    titles = [text for text, count in spans for _ in range(count)] or [""] * len(headers)
    names = [f"{title} {name}".strip() for title, name in zip(titles, headers, strict=True)]
    lines = _lines(headers, rows, lambda text: f"**{text}**")
    rule = [":--", *["--:"] * (len(headers) - 1)]
    escaped = [
        [cell.replace("|", "\\|").replace("\n", " ") for cell in line]
        for line in [names, rule, *lines]
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped)


@dataclass(frozen=True)
class Table:
    """`name` is that of its CSV file, `shown` says what it shows: a caption, where there is no
    title. `folded` is the line under which a long table hides. `measured` counts the cells with a
    number of ours, where counted. `is_text` is for cells of prose."""

    name: str
    title: str
    headers: Sequence[str]
    rows: Sequence[Row]
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
        names = [Cell(header, below=f"{header} (paper)") for header in self.headers]
        rows = [_cells(self.headers, row) for row in self.rows]
        double = [any(row[i].below for row in rows) for i in range(len(names))]
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        for row in [names, *rows]:
            texts = []
            for cell, has_two in zip(row, double, strict=True):
                texts += [cell.text, cell.below] if has_two else [cell.text]
            writer.writerow(texts)
        return file.getvalue()

    def html(self) -> str:
        """A <table> in a box that scrolls sideways where the screen is too narrow."""
        parts = ['<div class="scroll"><table>']
        if self.shown and not self.title:
            parts.append(f"<caption>{html.escape(self.shown)}</caption>")
        parts.append("<thead>")
        if self.spans:
            above = "".join(
                f'<th class="span" colspan="{count}">{html.escape(text)}</th>'
                for text, count in self.spans
            )
            parts.append(f"<tr>{above}</tr>")
        names = "".join(f"<th>{html.escape(str(name))}</th>" for name in self.headers)
        parts.append(f"<tr>{names}</tr></thead><tbody>")
        for row in self.rows:
            parts.append(f"<tr>{''.join(map(_html_cell, _cells(self.headers, row)))}</tr>")
        parts.append("</tbody></table></div>")
        table = "\n".join(parts)
        table = f'<div class="text">{table}</div>' if self.is_text else table
        if not self.folded:
            return table
        return f"<details><summary>{html.escape(self.folded)}</summary>{table}</details>"


def _html_cell(cell: Cell) -> str:
    text = html.escape(cell.text)
    text = f"<b>{text}</b>" if cell.bold else text
    if cell.below:
        below = html.escape(cell.below)
        text += f"<small>{f'<b>{below}</b>' if cell.bold_below else below}</small>"
    return f"<td>{text}</td>"


def _lines(headers: Row, rows: Sequence[Row], mark: Callable[[str], str]) -> list[list[str]]:
    """Rows as text; one whose cells have something below becomes two lines."""
    lines = []
    for row in rows:
        cells = _cells(headers, row)
        lines.append([mark(c.text) if c.bold and c.text else c.text for c in cells])
        if any(cell.below for cell in cells):
            lines.append([mark(c.below) if c.bold_below and c.below else c.below for c in cells])
    return lines


def _cells(headers: Row, row: Row) -> list[Cell]:
    if len(row) != len(headers):
        raise ValueError(f"a row of {len(row)} cells under {len(headers)} headers: {list(row)}")
    return [cell if isinstance(cell, Cell) else Cell(str(cell)) for cell in row]


def _aligned(cells: list[str], width: list[int]) -> str:
    first, *others = zip(cells, width, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(text.rjust(w) for text, w in others)])

"""An HTML page in one file: no network, no scripts, light or dark as the reader's screen is. Equal
content gives equal bytes."""

from __future__ import annotations

import html
import io
import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hstar.experiments.report.plots import INK, STYLE
from hstar.experiments.report.tables import Row, Spans, html_table
from hstar.pddl.errors import escape
from hstar.runtime.atomic import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CSS = """\
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #ffffff; --soft: #666; --line: #ccc; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --paper: #16181b; --soft: #9a9a9a; --line: #444; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 75rem; margin: 0 auto; padding: 1rem; }
h1 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
caption { caption-side: top; text-align: left; color: var(--soft); padding-bottom: .4rem;
  max-width: calc(100vw - 2rem); }
th, td { padding: .2rem .6rem; text-align: right; white-space: nowrap; vertical-align: top; }
th:first-child, td:first-child, .text td { text-align: left; }
th.span { text-align: center; }
thead tr:last-child th { border-bottom: 1px solid var(--line); }
tbody tr + tr td { border-top: 1px solid color-mix(in srgb, var(--line) 40%, transparent); }
td small { display: block; color: var(--soft); }
.text td { white-space: normal; }
figure { margin: 1rem 0; } figcaption { color: var(--soft); font-size: .85rem; }
figure svg { max-width: 100%; height: auto; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem; } .figures figure { margin: 0; }
details { margin: .5rem 0; } summary { cursor: pointer; }
code { font-size: .85rem; overflow-wrap: anywhere; }
"""


class Page:
    """Parts are shown in the order they are added."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts: list[str] = []
        self._figures = 0

    def add_heading(self, text: str, level: int = 2) -> None:
        self._parts.append(f"<h{level}>{html.escape(text)}</h{level}>")

    def add_text(self, text: str) -> None:
        """A paragraph of plain text; an empty line in it begins another."""
        for paragraph in filter(None, map(str.strip, text.split("\n\n"))):
            self._parts.append(f"<p>{html.escape(paragraph)}</p>")

    def add_list(self, items: Sequence[str]) -> None:
        entries = "".join(f"<li>{html.escape(item)}</li>" for item in items)
        self._parts.append(f"<ul>{entries}</ul>")

    def add_table(
        self,
        headers: Row,
        rows: Sequence[Row],
        caption: str = "",
        *,
        spans: Spans = (),
        folded: str = "",
        text: bool = False,
    ) -> None:
        """A table; `folded` is the line under which it hides until clicked, `text` is for prose
        cells. Raises ValueError for a row that has not as many cells as there are headers."""
        table = html_table(headers, rows, caption, spans)
        if text:
            table = f'<div class="text">{table}</div>'
        if folded:
            table = f"<details><summary>{html.escape(folded)}</summary>{table}</details>"
        self._parts.append(table)

    def add_figures(self, figures: Iterable[tuple[Figure, str]]) -> None:
        """Figures with captions, side by side where there is room."""
        parts = []
        for figure, caption in figures:
            self._figures += 1
            below = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
            svg = inline_svg(figure, f"f{self._figures}-", caption)
            parts.append(f"<figure>{svg}{below}</figure>")
        self._parts.append(f'<div class="figures">{"".join(parts)}</div>')

    def to_html(self) -> str:
        title = html.escape(self.title)
        body = "\n".join(self._parts)
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>\n{CSS}</style>\n</head>\n"
            f"<body>\n<h1>{title}</h1>\n{body}\n</body>\n</html>\n"
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Raises OSError naming the file."""
        write_atomically(path, escape(self.to_html(), keep="\n\t"))


def inline_svg(figure: Figure, prefix: str, label: str = "") -> str:
    """A figure as an <svg> element whose ids begin with `prefix`, unique on the page. What was
    drawn in INK takes the colour of the text around it."""
    import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = svg.replace(INK, "currentColor").replace("'DejaVu Sans';", "'DejaVu Sans', sans-serif;")
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = re.sub(r'href="#', f'href="#{prefix}', svg)
    svg = re.sub(r"url\(#", f"url(#{prefix}", svg)
    name = html.escape(label or "figure", quote=True)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{name}" ', 1)

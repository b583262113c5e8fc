"""An HTML page in one file: no network, no scripts, light or dark as the reader's screen is. Equal
content gives equal bytes."""

from __future__ import annotations

import html
import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from hstar.experiments.report.plots import INK, STYLE
from hstar.experiments.report.tables import Table
from hstar.pddl.errors import escape
from hstar.runtime.atomic import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CSS = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")


Figures: TypeAlias = "tuple[tuple[Figure, str], ...]"  # with captions


@dataclass
class Page:
    """Its parts in order. A text is a paragraph (an empty line in it begins another) or, with "# "
    or "## ", a heading; a list is of texts; figures stand side by side where there is room."""

    title: str
    parts: list[Table | str | list[str] | Figures]

    def to_html(self) -> str:
        """Raises ValueError for a table with ragged rows."""
        title, numbers = html.escape(self.title), count(1)
        body = "\n".join(text for part in self.parts for text in _elements(part, numbers))
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>\n{CSS}</style>\n</head>\n"
            f"<body>\n<h1>{title}</h1>\n{body}\n</body>\n</html>\n"
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Raises OSError naming the file."""
        write_atomically(path, escape(self.to_html(), keep="\n\t"))


def _elements(part: Table | str | list[str] | Figures, numbers: Iterator[int]) -> Iterator[str]:
    if isinstance(part, Table):
        if part.title and not part.folded:
            yield f"<h3>{html.escape(part.title)}</h3>"
        yield part.html()
        yield from _elements(part.shown if part.title else "", numbers)
    elif isinstance(part, list):
        yield f"<ul>{''.join(f'<li>{html.escape(item)}</li>' for item in part)}</ul>"
    elif isinstance(part, tuple):
        shown = []
        for figure, caption in part:
            below = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
            svg = inline_svg(figure, f"f{next(numbers)}-", caption)
            shown.append(f"<figure>{svg}{below}</figure>")
        yield f'<div class="figures">{"".join(shown)}</div>'
    elif part.startswith(("# ", "## ")):
        marks, _, text = part.partition(" ")
        yield f"<h{len(marks) + 1}>{html.escape(text)}</h{len(marks) + 1}>"
    else:
        for paragraph in filter(None, map(str.strip, part.split("\n\n"))):
            yield f"<p>{html.escape(paragraph)}</p>"


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
    svg = re.sub(r'\bid="|href="#|url\(#', lambda found: found[0] + prefix, svg)
    name = html.escape(label or "figure", quote=True)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{name}" ', 1)

"""What a paper's page says, as data: page.toml beside its modules has its texts and the shapes of
its tables. "{name}" in them stands for a value that the run gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hstar.experiments.report import Cell, Table
from hstar.experiments.study.page import Report
from hstar.experiments.study.published import read_toml


class Wording:
    """The page.toml of the paper with this module. A string is a text. A table there has a title,
    the headers before its columns, what it shows, and a name if its file is not called after it.
    """

    def __init__(self, module: str) -> None:
        self.held = read_toml(module, "page.toml")

    def text(self, key: str, **values: Any) -> str:
        return _filled(self.held[key], values)

    def table(
        self,
        key: str,
        rows: Sequence[Sequence[object]],
        columns: Iterable[str] = (),
        spans: Sequence[tuple[str, int]] = (),
        **values: Any,
    ) -> Table:
        """A table with these rows; `columns` are its last headers."""
        held = self.held[key]
        parts = ("name", "title", "shown", "folded")
        name, title, shown, folded = (_filled(held.get(part, ""), values) for part in parts)
        headers = [*held.get("headers", ()), *columns]
        return Table(name or key, title, headers, rows, shown, spans, folded)

    def row(self, key: str, kind: str, **values: Any) -> list[str]:
        """The cells of a row, by what a table says of this kind of rows."""
        return [_filled(one, values) for one in self.held[key][kind]]

    def grid(
        self,
        key: str,
        names: Iterable[str],
        columns: Sequence[str],
        cell: Callable[[str, str], Cell | str],
        **values: Any,
    ) -> Table:
        """A table with a row for each name, and in it a cell for each column."""
        rows = [[name, *(cell(name, column) for column in columns)] for name in names]
        return self.table(key, rows, columns, **values)

    def report(self, scale: str, *parts: Any) -> Report:
        """The page with its title and introduction; `parts` are the other fields of Report."""
        return Report(self.text("title", scale=scale), self.text("introduction"), *parts)


def _filled(template: str, values: dict[str, Any]) -> str:
    return " ".join(template.split()).format(**values)

"""The numbers printed in the truncated-gaussian paper, read from published.toml."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hstar.papers.numbers import Spread, read_rows
from hstar.papers.scales import read_toml

DOMAINS = ("blocks", "ferry", "gripper", "visitall")
VARIANTS = ("N", "N+clip", "TN")
NAMES = {"ff": "h^FF", "lmcut": "h^LMcut", "hmax": "h^max", "blind": "h^blind", "none": "none"}


@dataclass(frozen=True, slots=True)
class ColumnGroup:
    """A configuration: how sigma is found, what the model corrects, and the lower bound."""

    sigma: str  # learn, fixed
    base: str  # ff, none, lmcut
    lower: str = "lmcut"  # lmcut, hmax, blind

    def __str__(self) -> str:
        return f"{self.sigma}/{NAMES[self.base]}"


@dataclass(frozen=True, slots=True)
class Configured:
    """A column of a table: a baseline (`group` None, `variant` its name) or a learned variant."""

    variant: str
    group: ColumnGroup | None = None


@dataclass(frozen=True)
class PublishedTable:
    """`metrics` are the sections of the table: mse, nll, coverage, evaluations. `cells` maps
    (metric, domain, column) to what is printed, None for an empty cell."""

    number: int
    model: str  # nlm, hgn, linear
    caption: str
    metrics: tuple[str, ...]
    columns: tuple[Configured, ...]
    cells: dict[tuple[str, str, Configured], Spread | None]

    @property
    def groups(self) -> tuple[ColumnGroup, ...]:
        return tuple(dict.fromkeys(c.group for c in self.columns if c.group is not None))


LEARN_FF = ColumnGroup("learn", "ff")
GRID = ("learn/ff/lmcut", "learn/none/lmcut", "fixed/ff/lmcut", "fixed/none/lmcut")
METRICS = {1: ("mse",), 2: ("coverage", "evaluations")}  # by the number of sections


def _table(number: int, held: dict[str, Any], numbers: str) -> PublishedTable:
    sections = numbers.strip().split("\n\n")
    metrics = tuple(held.get("metrics", METRICS[len(sections)]))
    groups = [ColumnGroup(*text.split("/")) for text in held.get("groups", GRID)]
    columns = (
        *map(Configured, ["ff"] if "coverage" in metrics else ["ff", "lmcut"]),
        *(Configured(variant, group) for group in groups for variant in VARIANTS),
        *map(Configured, held.get("extra", ())),
    )
    cells = {
        (metric, domain, column): row[column]
        for metric, section in zip(metrics, sections, strict=True)
        for domain, row in read_rows(columns, section).items()
        for column in columns
    }
    about = held.get("model", "nlm"), held["caption"]
    return PublishedTable(number, *about, metrics, columns, cells)


_HELD = read_toml(__file__, "published.toml")
TABLES = {
    int(number): _table(int(number), one, _HELD[str(one.get("numbers_of", number))]["numbers"])
    for number, one in _HELD.items()
}


def published_value(metric: str, domain: str, column: Configured, model: str) -> Spread | None:
    """The paper's number, from the first table that has it."""
    for table in TABLES.values():
        if table.model == model or column.group is None:
            value = table.cells.get((metric, domain, column))
            if value is not None:
                return value
    return None

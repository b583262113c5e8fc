"""The numbers printed in the truncated-gaussian paper, read from published.toml."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hstar.papers.experiment import read_published

DOMAINS = ("blocks", "ferry", "gripper", "visitall")
VARIANTS = ("N", "N+clip", "TN")
NAMES = {"ff": "h^FF", "lmcut": "h^LMcut", "hmax": "h^max", "blind": "h^blind", "none": "none"}


@dataclass(frozen=True, slots=True)
class Value:
    """A mean over seeds, its standard deviation where that is known, and how it is printed."""

    mean: float
    std: float | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """A configuration: how sigma is found, what the model corrects, and the lower bound."""

    sigma: str  # learn, fixed
    base: str  # ff, none, lmcut
    lower: str = "lmcut"  # lmcut, hmax, blind

    def __str__(self) -> str:
        return f"{self.sigma}/{NAMES[self.base]}"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: a baseline (`group` None, `variant` its name) or a learned variant."""

    variant: str
    group: Group | None = None


@dataclass(frozen=True)
class PublishedTable:
    """`metrics` are the sections of the table: mse, nll, coverage, evaluations. `cells` maps
    (metric, domain, column) to what is printed, None for an empty cell."""

    number: int
    model: str  # nlm, hgn, linear
    caption: str
    metrics: tuple[str, ...]
    columns: tuple[Column, ...]
    cells: dict[tuple[str, str, Column], Value | None]

    @property
    def groups(self) -> tuple[Group, ...]:
        return tuple(dict.fromkeys(c.group for c in self.columns if c.group is not None))


LEARN_FF = Group("learn", "ff")

_VALUE = re.compile(r"\(?([\d.]+)(?:±([\d.]+))?(?:\)e(\d))?")


def read_value(text: str) -> Value | None:
    """Reads ".88±.14", "1", "(8.9±1.8)e8", "3225±?"; None for "-" and "?". Raises ValueError."""
    if text in ("-", "?"):
        return None
    text = text.removesuffix("±?")
    found = _VALUE.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text}' is no number of the paper")
    mean, std, power = found.groups()
    scale = 10.0 ** int(power or 0)
    return Value(float(mean) * scale, float(std) * scale if std else None, text)


def _cells(
    text: str, metrics: tuple[str, ...], columns: tuple[Column, ...]
) -> Iterator[tuple[tuple[str, str, Column], Value | None]]:
    for metric, section in zip(metrics, text.strip().split("\n\n"), strict=True):
        for domain, line in zip(DOMAINS, section.strip().splitlines(), strict=True):
            name, *numbers = line.replace("|", " ").split()
            if name != domain:
                raise ValueError(f"expected the row of {domain}, found {name}")
            for column, number in zip(columns, numbers, strict=True):
                yield (metric, domain, column), read_value(number)


def _table(number: int, held: dict[str, Any], numbers: str) -> PublishedTable:
    metrics = tuple(held["metrics"])
    groups = [Group(*text.split("/")) for text in held["groups"]]
    columns = (
        *map(Column, ["ff"] if "coverage" in metrics else ["ff", "lmcut"]),
        *(Column(variant, group) for group in groups for variant in VARIANTS),
        *map(Column, held.get("extra", ())),
    )
    cells = dict(_cells(numbers, metrics, columns))
    return PublishedTable(number, held["model"], held["caption"], metrics, columns, cells)


_HELD = read_published(__file__)
TABLES = {
    int(number): _table(int(number), one, _HELD[str(one.get("numbers_of", number))]["numbers"])
    for number, one in _HELD.items()
}
